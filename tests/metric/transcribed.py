"""Answers to documents that annotators read, made by hand."""

from __future__ import annotations

from evalflow.metric.protocol import Answer
from evalflow.record import Item
from tests.metric.by_hand import row


def document(draft: str | None = "", *, name: str = "d", target: str | None = None, **readings: str | None) -> Answer:
    """An answer to a document whose annotators, named by keyword, read what is given."""
    fields = {"annotators": readings} if readings else {}
    return Answer(Item(name, name, target, fields=fields), row(draft, item_id=name))
