"""The worst positions of scored texts as the page shows them: each place once, with what every metric says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalflow.report.html.shown_number import number

MOST = 12
"""Places of one arm; report.json has five of every metric."""


@dataclass(frozen=True)
class Position:
    """A place in a text, the text around it (empty where it is not known, or the page is private), and its numbers."""

    item: str
    at: str
    context: str
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ArmPositions:
    """An arm's worst places, and how many more its report names."""

    arm: str
    positions: tuple[Position, ...]
    n_left_out: int


def worst_positions(report: Mapping[str, Any], private: bool) -> list[ArmPositions]:
    """Of every arm that has any, in the order in which its metrics name them."""
    found = []
    for name, arm in report["arms"].items():
        places: dict[tuple[str, int, str], list[tuple[str, str]]] = {}
        # one of every metric after another, so that what is cut off is nobody's worst
        for rank in range(max((len(told) for told in arm["worst_positions"].values()), default=0)):
            for metric, told in arm["worst_positions"].items():
                if rank < len(told):
                    place = told[rank]
                    value = "not finite" if place["value"] is None else number(place["value"])
                    places.setdefault((place["item"], place["at"], place["context"]), []).append((metric, value))
        shown = [
            Position(item, f"{at:,}", "" if private else context, tuple(values))
            for (item, at, context), values in list(places.items())[:MOST]
        ]
        found += [ArmPositions(name, tuple(shown), len(places) - len(shown))] if shown else []
    return found
