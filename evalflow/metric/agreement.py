"""How often annotators say the same, and how much of what they wrote could be held side by side at all."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from evalflow.metric.annotators import Labelled, labels, pairings
from evalflow.metric.protocol import Answer, Clusters, Metric, Stack
from evalflow.metric.sums import SumShare
from evalflow.numeric.alignment import Alignment
from evalflow.numeric.interval import Interval
from evalflow.numeric.text_profile import NFC, TextProfile


@dataclass(frozen=True)
class _OfPairs(Metric):
    """A share over every two annotators of every item, counts added up: of the items, whatever the arm answered."""

    measured_in: ClassVar[str] = "share"
    paired: ClassVar[bool] = False
    empty: ClassVar[str] = "no item was read by two annotators"
    unit: Labelled = "grapheme"
    profile: TextProfile = NFC

    def __post_init__(self) -> None:
        labels("", self.unit, self.profile)

    @abstractmethod
    def counts(self, alignment: Alignment) -> tuple[int, int]:
        """The part and the whole in one pair of readings."""

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(part, whole)` over the item's pairs of annotators; None where it has none."""
        found = [self.counts(alignment) for _, alignment in pairings(unit.item, self.unit, self.profile)]
        return (float(sum(part for part, _ in found)), float(sum(whole for _, whole in found))) if found else None

    def value(self, stack: Stack) -> float:
        """The part over the whole."""
        return SumShare().value(stack)

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `SumShare`."""
        return SumShare().interval(stack, clusters, level)

    def point(self, stats: tuple[float, ...]) -> float:
        """The item's own share."""
        return stats[0] / (stats[1] or 1.0)


@dataclass(frozen=True)
class AgreementRate(_OfPairs):
    """The share of facing units that two annotators read alike, or of whole texts or labels under unit `label`.

    It says nothing of units that only one of them has (`AlignmentCoverage`), nor of what chance gives (`Kappa`).
    """

    figure: ClassVar[str | None] = "agreement/rate"

    def counts(self, alignment: Alignment) -> tuple[int, int]:
        """Pairs alike, and all pairs."""
        differing = sum(kind == "replace" for kind, _, _ in alignment.edits)
        return alignment.n_paired - differing, alignment.n_paired


@dataclass(frozen=True)
class AlignmentCoverage(_OfPairs):
    """The share of the longer of two readings that faces something in the other: what kappa and alpha are of."""

    figure: ClassVar[str | None] = "agreement/coverage"

    def counts(self, alignment: Alignment) -> tuple[int, int]:
        """Facing units, and units of the longer reading."""
        return alignment.n_paired, alignment.n_longer
