"""A stored run whose answers are written by hand, and sheets of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalflow.record import Item, Row, Times
from evalflow.runner.review_sheet import Answers, Asked, LeftOut, Sheet, draw_sheets
from evalflow.runner.stored_run import StoredRun

RUN_ID = "20261130-101112-abcdef"


def stored(names: Sequence[str], arms: Sequence[str] = ("old", "new"), clusters: Mapping[str, str] = {}) -> StoredRun:
    """A run of these items whose arms answered each, under seed 0; where it lies is nowhere."""
    items = tuple(Item(name, f"question {name}?", cluster=clusters.get(name, "")) for name in names)
    rows = tuple(
        Row(RUN_ID, "s1", arm, 0, name, "ok", f"{arm} {name}", f"{arm} {name}", times=Times(sent=1.5, end=1.75))
        for arm in arms
        for name in names
    )
    state: dict[str, Any] = {"run_id": RUN_ID, "experiment": "reviewed"}
    return StoredRun(Path("nowhere"), state, items, rows, (), {})


def answers(run: StoredRun, **others: str | None) -> Answers:
    """What the rows say; `others` are texts by `arm_item`, None for one that is missing."""
    texts: dict[tuple[str, int, str], str | LeftOut] = {}
    for row in run.rows:
        text = others.get(f"{row.arm}_{row.item_id}", row.draft)
        texts[row.arm, row.seed, row.item_id] = text or LeftOut(row.item_id, row.arm, row.seed, "empty")
    return texts


def sheet(run: StoredRun, texts: Answers | None = None, **asked: Any) -> Sheet:
    """The one sheet that is asked for."""
    arms = tuple(dict.fromkeys(row.arm for row in run.rows))
    (drawn,) = draw_sheets(run, texts or answers(run), Asked(**{"arms": arms, **asked}))
    return drawn
