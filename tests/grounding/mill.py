"""The article that the drafts labelled by hand are about."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evalflow.grounding.article import Article, parse_article
from evalflow.record import Item

DATA = Path(__file__).with_name("data")
VISITORS = "2-2826-over-56-metered-calls-against-38-49-of-caps"
MILL: Article = parse_article("tide-mill", (DATA / "tide-mill.md").read_text(encoding="utf-8"), "tide-mill.md")
LABELLED: dict[str, Any] = json.loads((DATA / "drafts.json").read_text(encoding="utf-8"))
"""Labelled by reading the rules, before there was code: which gates fire, what is served, and by whom."""


def mill_item(question: str, kind: str = "on-page") -> Item:
    """A question about the mill, as the dataset would put it."""
    return Item("q", "prompt", kind=kind, fields={"article": asdict(MILL), "question": question})
