"""Character and word error rate of an answer against one reading of its item, or several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from evalflow.metric.annotators import known_unit, read_by
from evalflow.metric.protocol import Answer, Clusters, Metric, Reading, Stack
from evalflow.metric.sums import SumRatio
from evalflow.numeric.alignment import Alignment, align
from evalflow.numeric.interval import Interval
from evalflow.numeric.text_profile import NFC, TextProfile
from evalflow.numeric.units import Unit, cut
from evalflow.record import Item

Confusions: TypeAlias = Counter[tuple[str, str]]
NAMED = 5
"""Confusions that an answer's detail names."""


@dataclass(frozen=True)
class ErrorRate(Metric):
    """The fewest edits that turn the reference into the answer, per `unit` of the reference: CER, of words WER.

    Of many documents it is the sum of edits over the sum of units. Both texts are brought to `profile` first. Where
    annotators read an item differently, `reference` says who grades:

    - `mean`: all of them, a document's edits and units being the means over annotators;
    - `min`: of each document the annotator that the answer is nearest to;
    - `each`: as `mean`, and beside it `/min` and `/max`, by each document's nearest annotator and its farthest;
    - a name: that annotator alone.

    A document that lacks one of its annotators is excluded, unless it is not the one that is named. An item without
    annotators is graded by its target.
    """

    higher_is_better: ClassVar[bool] = False
    measured_in: ClassVar[str] = "edits/unit"
    empty: ClassVar[str] = "no answer has a reference"
    unit: Unit = "grapheme"
    profile: TextProfile = NFC
    reference: str = "mean"

    def __post_init__(self) -> None:
        known_unit(self.unit)
        if not self.reference:
            raise ValueError("reference is empty; give mean, min, each, or an annotator's name")

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(edits, units)`, of `each` also the nearest and the farthest annotator's; None without a reference."""
        graded = [(float(len(one.edits)), float(len(one.a))) for one in self._graded(unit).values()]
        if not graded:
            return None
        nearest, farthest = min(graded, key=self.point), max(graded, key=self.point)
        if self.reference == "min":
            return nearest
        edits, units = (sum(column) / len(graded) for column in zip(*graded, strict=True))
        return (edits, units, *nearest, *farthest) if self.reference == "each" else (edits, units)

    def value(self, stack: Stack) -> float:
        """Edits over units."""
        return SumRatio().value(stack)

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `SumRatio`."""
        return SumRatio().interval(stack, clusters, level)

    def point(self, stats: tuple[float, ...]) -> float:
        """The document's own rate; of text beside an empty reference, which has none, the edits."""
        return stats[0] / (stats[1] or 1.0)

    def readings(self) -> Mapping[str, Reading]:
        """The rate; under `each` also its least and its largest."""
        own: dict[str, Reading] = {"": self}
        return {**own, "min": SumRatio(2, 3), "max": SumRatio(4, 5)} if self.reference == "each" else own

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """Every grading annotator's rate, and the commonest confusions (reference, answer, how often)."""
        graded = self._graded(unit)
        if not graded:
            return {} if unit.row.draft is None else {"reason": self._why_none(unit.item)}
        common = self._confused(graded).most_common(NAMED)
        return {
            "rates": {name: self._rate(one) for name, one in graded.items()},
            "confusions": [[*pair, times] for pair, times in common],
        }

    def confusions(self, unit: Answer) -> Confusions:
        """How often (unit of the reference, unit of the answer) stood for each other, over all who grade it."""
        return self._confused(self._graded(unit))

    def references(self, item: Item) -> dict[str, str]:
        """The texts that grade an answer to the item, by annotator (the target's name is `target`); empty for none."""
        read = read_by(item)
        if not read:
            return {} if item.target is None else {"target": item.target}
        chosen = read if self.reference in ("mean", "min", "each") else {self.reference: read.get(self.reference)}
        found = {name: text for name, text in chosen.items() if text is not None}
        return found if len(found) == len(chosen) else {}

    def _graded(self, unit: Answer) -> dict[str, Alignment]:
        """The answer beside each reference that grades it; empty where nothing does or there is no answer."""
        if unit.row.draft is None:
            return {}
        given = self._cut(unit.row.draft)
        return {name: align(self._cut(text), given) for name, text in self.references(unit.item).items()}

    def _cut(self, text: str) -> list[str]:
        return cut(self.profile.apply(text), self.unit)

    def _rate(self, graded: Alignment) -> float:
        return self.point((float(len(graded.edits)), float(len(graded.a))))

    def _confused(self, graded: Mapping[str, Alignment]) -> Confusions:
        grading = list(graded.values())
        found = Confusions()
        for one in sorted(grading, key=self._rate)[:1] if self.reference == "min" else grading:
            found.update(one.confusions())
        return found

    def _why_none(self, item: Item) -> str:
        read = read_by(item)
        if not read:
            return "no reference"
        if self.reference not in ("mean", "min", "each"):
            return f"annotator {self.reference} did not read it"
        return f"not read by {', '.join(name for name, text in read.items() if text is None)}"
