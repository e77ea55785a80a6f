"""Rows and items made by hand."""

from __future__ import annotations

from typing import Any

from evalflow.metric.protocol import Answer
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
