"""Arms side by side as the page shows them: what sets them apart, their figures, and how they went."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalflow.report.html.conditions import conditions
from evalflow.report.html.figure_table import NO_REFERENCE, Group, groups
from evalflow.report.html.shown_text import short
from evalflow.report.seat_lines import seat_lines

LONGEST_CONDITION = 24
_DIGEST = re.compile(r"\b[0-9a-f]{16,}\b")


@dataclass(frozen=True)
class Head:
    """An arm's name, and what a reader of its column must know."""

    name: str
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Condition:
    """What an arm ran under, in a narrow column; `whole` where that is more."""

    text: str
    whole: str


@dataclass(frozen=True)
class Differing:
    """A condition that is not the same for all arms."""

    key: str
    values: tuple[Condition, ...]


@dataclass(frozen=True)
class Arms:
    """The columns, the conditions that are not the same for all, the figures, and a line on each arm of a seat."""

    heads: tuple[Head, ...]
    differing: tuple[Differing, ...]
    groups: tuple[Group, ...]
    lines: tuple[str, ...]


def arms_of(report: Mapping[str, Any], private: bool) -> Arms:
    """All arms of a report."""
    heads = tuple(Head(name, tuple(_remarks(arm))) for name, arm in report["arms"].items())
    differing = [
        Differing(one.key, tuple(_condition(value) for value in one.values))
        for one in conditions(report, private)
        if not one.same and one.key != "control"  # which its head says
    ]
    return Arms(heads, tuple(differing), tuple(groups(report)), tuple(seat_lines(report)))


def _condition(value: str) -> Condition:
    """Digests by their first eight digits, and no more than fits."""
    text = short(_DIGEST.sub(lambda found: found[0][:8], value), LONGEST_CONDITION)
    return Condition(text, "" if text == value else short(value, 400))


def _remarks(arm: Mapping[str, Any]) -> list[str]:
    told = ["control, there to fail"] if arm["conditions"]["control"] else []
    if any(figure["reason"] == NO_REFERENCE for figure in arm["figures"].values()):
        told.append("held against no reference")
    if arm["unavailable"]:
        told.append(f"unavailable: {short(arm['unavailable'], 200)}")
    if arm["claims"]["cache"] == "broken":
        told.append(f"not the cache that it claims: {arm['claims']['cache_why']}")
    return told
