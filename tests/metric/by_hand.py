"""Rows and items made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evalflow.columns import Columns
from evalflow.metric.document import SCORED_FROM
from evalflow.metric.protocol import Answer, Metric, Stack
from evalflow.record import Item, Row


def row(draft: str | None = "answer", **changes: Any) -> Row:
    """A row that answered `draft`."""
    parts = {
        "run_id": "r",
        "session": "s",
        "arm": "a",
        "seed": 0,
        "item_id": "i",
        "status": "error" if draft is None else "ok",
        "draft": draft,
        "served": draft,
    }
    return Row(**{**parts, **changes})


def answer(draft: str | None = "answer", target: str | None = "answer", **changes: Any) -> Answer:
    """An answer beside its item's target."""
    return Answer(Item("i", "p", target), row(draft, **changes))


TYPES = {"argmax": "i4", "argmax_ref": "i4", "token": "i4", "margin": "f4", "margin_ref": "f4"}
"""Of the columns that are not float64."""


def columns(
    starts: Sequence[int] | None = None,
    facts: Mapping[str, float | None] | None = None,
    until: int | None = None,
    **given: Any,
) -> Columns:
    """Columns of positions 1, 2, ... of a text, each of which begins where `starts` says, else at its own number.

    Each ends where the next begins, the last at `until`, else a character on.
    """
    n = len(next(iter(given.values())))
    place = np.arange(1, n + 1, dtype=np.int32)
    begins = place if starts is None else np.array(starts, dtype=np.int32)
    ends = np.append(begins[1:], begins[-1:] + 1 if until is None else np.full(min(n, 1), until)).astype(np.int32)
    if (begins < 0).any():
        ends = np.full(n, -1, dtype=np.int32)
    arrays = {name: np.array(values, dtype=TYPES.get(name, "f8")) for name, values in given.items()}
    return Columns.of({"position": place, "start": begins, "end": ends, "context": place, **arrays}, facts)


def text(prompt: str = "a text of some length", scored_from: int | None = None, **given: Any) -> Answer:
    """A text that was scored, with columns as lists (see `columns`), of which what counts begins at `scored_from`."""
    fields = {} if scored_from is None else {SCORED_FROM: scored_from}
    return Answer(Item("i", prompt, fields=fields), row("", columns=columns(until=len(prompt), **given)))


def stacked(metric: Metric, *texts: Answer) -> Stack:
    """The statistics of texts, each of which has some."""
    stats = [metric.stats(one) for one in texts]
    assert None not in stats
    return np.array(stats, dtype=np.float64)
