"""The human ceiling: how far annotators are from one another, in the unit and profile of a system's own error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evalflow.metric.annotators import known_unit, pairings
from evalflow.metric.error_rate import NAMED, Confusions, ErrorRate
from evalflow.metric.protocol import Answer, Clusters, Metric, Reading, Stack
from evalflow.metric.sums import SumRatio, bootstrap_of_sums
from evalflow.numeric.interval import Interval
from evalflow.numeric.text_profile import NFC, TextProfile
from evalflow.numeric.undefined import Undefined, finite
from evalflow.numeric.units import Unit
from evalflow.record import Item


@dataclass(frozen=True)
class HumanErrorRate(Metric):
    """The error rate of annotators against annotators: of every two, each is once the other's reference.

    A document's edits and units are the means over those ordered pairs; over documents both are summed up, as they
    are of a system. It is a figure of the items, the same whatever the arm answered; documents that fewer than two
    annotators read are excluded.
    """

    figure: ClassVar[str | None] = "agreement/human_cer"
    higher_is_better: ClassVar[bool] = False
    measured_in: ClassVar[str] = "edits/unit"
    paired: ClassVar[bool] = False
    empty: ClassVar[str] = "no item was read by two annotators"
    unit: Unit = "grapheme"
    profile: TextProfile = NFC

    def __post_init__(self) -> None:
        known_unit(self.unit)

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(edits, units)`; None where fewer than two read it."""
        return human_edits(unit.item, self.unit, self.profile)

    def value(self, stack: Stack) -> float:
        """Edits over units."""
        return SumRatio().value(stack)

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `SumRatio`."""
        return SumRatio().interval(stack, clusters, level)

    def point(self, stats: tuple[float, ...]) -> float:
        """The document's own rate."""
        return stats[0] / (stats[1] or 1.0)

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """The commonest confusions (one annotator, another, how often)."""
        common = self.confusions(unit).most_common(NAMED)
        return {"confusions": [[*pair, times] for pair, times in common]} if common else {}

    def confusions(self, unit: Answer) -> Confusions:
        """How often two annotators read (one thing, another) at one place, over every two; names in order."""
        found = Confusions()
        for _, alignment in pairings(unit.item, self.unit, self.profile):
            found.update(alignment.confusions())
        return found


@dataclass(frozen=True)
class OverHuman(ErrorRate):
    """A system's error rate over that of the annotators: 1 is as far from them as they are from one another.

    By the triangle inequality it cannot fall below 0.5 of texts of one length, which is what a copy of one annotator
    gets: whoever is there wrote nothing that none of them had.
    """

    figure: ClassVar[str | None] = "agreement/cer_over_human"
    measured_in: ClassVar[str] = "times"
    paired: ClassVar[bool] = False
    empty: ClassVar[str] = "no answer to an item that two annotators read"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(edits, units, annotators' edits, their units)`."""
        own, human = super().stats(unit), human_edits(unit.item, self.unit, self.profile)
        return None if own is None or human is None else (*own[:2], *human)

    def value(self, stack: Stack) -> float:
        """One rate over the other.

        Raises:
            Undefined: "the annotators do not differ".
        """
        return _times(stack.sum(axis=0))

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `bootstrap_of_sums`."""
        return bootstrap_of_sums(stack, clusters, _times, level)

    def readings(self) -> Mapping[str, Reading]:
        """The one figure."""
        return {"": self}

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """Nothing that the two rates do not tell."""
        return {}


def human_edits(item: Item, unit: Unit, profile: TextProfile) -> tuple[float, float] | None:
    """The mean edits and reference units over ordered pairs of annotators; None where fewer than two read the item."""
    found = [alignment for _, alignment in pairings(item, unit, profile)]
    if not found:
        return None
    edits = sum(len(one.edits) for one in found) / len(found)
    return edits, sum(len(one.a) + len(one.b) for one in found) / 2 / len(found)


def _times(sums: NDArray[np.float64]) -> float:
    edits, units, human_edits, human_units = sums.tolist()
    if human_edits == 0:
        raise Undefined("the annotators do not differ")
    if units == 0:
        raise Undefined("nothing counted")
    return finite(edits / units * human_units / human_edits)
