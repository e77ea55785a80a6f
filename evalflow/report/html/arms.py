"""Arms side by side as the page shows them: what sets them apart, their figures, and how they went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalflow.report.html.conditions import Entry, conditions
from evalflow.report.html.figure_table import NO_REFERENCE, Group, groups
from evalflow.report.html.shown_text import short
from evalflow.report.seat_lines import seat_lines

LONGEST_CONDITION = 24


@dataclass(frozen=True)
class Head:
    """An arm's name, and what a reader of its column must know."""

    name: str
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Arms:
    """The columns, the conditions that are not the same for all, the figures, and a line on each arm of a seat."""

    heads: tuple[Head, ...]
    differing: tuple[Entry, ...]
    groups: tuple[Group, ...]
    lines: tuple[str, ...]


def arms_of(report: Mapping[str, Any], private: bool) -> Arms:
    """All arms of a report."""
    heads = tuple(Head(name, tuple(_remarks(arm))) for name, arm in report["arms"].items())
    differing = [
        Entry(one.key, tuple(short(value, LONGEST_CONDITION) for value in one.values))
        for one in conditions(report, private)
        if not one.same and one.key != "control"  # which its head says
    ]
    return Arms(heads, tuple(differing), tuple(groups(report)), tuple(seat_lines(report)))


def _remarks(arm: Mapping[str, Any]) -> list[str]:
    told = ["control, there to fail"] if arm["conditions"]["control"] else []
    if any(figure["reason"] == NO_REFERENCE for figure in arm["figures"].values()):
        told.append("held against no reference")
    if arm["unavailable"]:
        told.append(f"unavailable: {short(arm['unavailable'], 200)}")
    if arm["claims"]["cache"] == "broken":
        told.append(f"not the cache that it claims: {arm['claims']['cache_why']}")
    return told
