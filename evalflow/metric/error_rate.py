"""Character and word error rate of an answer against one reading of its item, or several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from evalflow.metric.annotators import known_unit, read_by
from evalflow.metric.protocol import Answer, Clusters, Metric, Reading, Stack
from evalflow.metric.sums import SumRatio
from evalflow.numeric.alignment import align
from evalflow.numeric.error_rate import Edits, text_edits
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
    - `each`: as `mean`, and beside it the figures `/min` and `/max`, which no choice of annotators can leave;
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
        graded = list(self._graded(unit).values())
        if not graded:
            return None
        ranked = sorted(graded, key=_rate)
        mean = (sum(one.total for one in graded) / len(graded), sum(one.ref_length for one in graded) / len(graded))
        nearest, farthest = ((float(one.total), float(one.ref_length)) for one in (ranked[0], ranked[-1]))
        if self.reference == "min":
            return nearest
        return (*mean, *nearest, *farthest) if self.reference == "each" else mean

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
        common = self.confusions(unit).most_common(NAMED)
        return {
            "rates": {name: _rate(edits) for name, edits in graded.items()},
            "confusions": [[*pair, times] for pair, times in common],
        }

    def confusions(self, unit: Answer) -> Confusions:
        """How often (unit of the reference, unit of the answer) stood for each other, over all who grade it."""
        found = Confusions()
        graded = self._graded(unit)
        if self.reference == "min":
            graded = dict(sorted(graded.items(), key=lambda one: _rate(one[1]))[:1])
        given = cut(self.profile.apply(unit.row.draft or ""), self.unit)
        for name in graded:
            wanted = cut(self.profile.apply(self.references(unit.item)[name]), self.unit)
            found.update(align(wanted, given).confusions())
        return found

    def references(self, item: Item) -> dict[str, str]:
        """The texts that grade an answer to the item, by annotator (the target's name is `target`); empty for none."""
        read = read_by(item)
        if not read:
            return {} if item.target is None else {"target": item.target}
        chosen = read if self.reference in ("mean", "min", "each") else {self.reference: read.get(self.reference)}
        found = {name: text for name, text in chosen.items() if text is not None}
        return found if len(found) == len(chosen) else {}

    def _graded(self, unit: Answer) -> dict[str, Edits]:
        """The edits against each annotator who grades; empty where nobody does or there is no answer."""
        draft = unit.row.draft
        if draft is None:
            return {}
        references = self.references(unit.item)
        return {name: text_edits(text, draft, self.unit, self.profile) for name, text in references.items()}

    def _why_none(self, item: Item) -> str:
        read = read_by(item)
        if not read:
            return "no reference"
        if self.reference not in ("mean", "min", "each"):
            return f"annotator {self.reference} did not read it"
        return f"not read by {', '.join(name for name, text in read.items() if text is None)}"


def _rate(edits: Edits) -> float:
    """The pair's rate, for ranking and for the reader; of text beside an empty reference, the edits."""
    return edits.total / (edits.ref_length or 1)
