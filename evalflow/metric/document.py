"""Figures over the positions of scored texts: sums per text, so that texts, shards and machines add up to one number.

A text is the unit, its cluster the error bar's; the figure's counts are of positions. A position that has no finite
value is excluded and counted, and no gate reads a figure that lost one.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evalflow.metric.protocol import Answer, Clusters, Grain, Metric, Stack
from evalflow.numeric.interval import Interval
from evalflow.numeric.mergeable import Moments
from evalflow.numeric.ratio import ratio, ratio_interval
from evalflow.numeric.undefined import Undefined

Values = NDArray[np.float64]
NAMED = 3
"""Positions of one text that are named as its worst."""
SCORED_FROM = "evalflow.scored_from"
"""The field of an item that says where what counts of its text begins."""
AROUND = 24
"""Characters of the text shown at each side of a position."""


@dataclass(frozen=True)
class Place:
    """A position of a text, its value under a metric (None: not finite), and the text around it, its token in marks."""

    at: int
    value: float | None
    context: str

    @property
    def rank(self) -> float:
        """The value, or infinity where it is not finite: the largest is the worst."""
        return math.inf if self.value is None else self.value

    def __str__(self) -> str:
        told = "not finite" if self.value is None else f"{self.value:.3g}"
        return f"at {self.at} ({told}): {self.context}"


class DocumentMetric(Metric):
    """The mean over all positions of all texts of a value per position, each position weighing the same."""

    grain: ClassVar[Grain] = "document"
    averages_seeds: ClassVar[bool] = False
    higher_is_better: ClassVar[bool] = False
    empty: ClassVar[str] = "no position was scored"

    @abstractmethod
    def values(self, unit: Answer) -> Values | None:
        """The value (P,) of every position that counts, NaN where it has none; None for a row without such columns."""

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(positions with a value, positions, sum, least, largest, sum of squared deviations)`, 0 where none has."""
        values = self.values(unit)
        if values is None:
            return None
        known = values[np.isfinite(values)].astype(np.float64)
        if not known.size:
            return (0.0, float(values.size), 0.0, 0.0, 0.0, 0.0)
        try:
            moments = Moments.of(known)
        except Undefined:
            return None  # finite numbers, whose squares or sum are beyond a float
        return (
            float(known.size),
            float(values.size),
            float(known.sum()),
            moments.least,
            moments.largest,
            moments.m2,
        )

    def value(self, stack: Stack) -> float:
        """The sum over the count."""
        return ratio(stack[:, 2], stack[:, 0])

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `ratio_interval`; exact where every position has one and the same value, as of bit-identical arms.

        None where texts do not differ, as copies of one do not: that is no certainty.
        """
        known = stack[stack[:, 0] > 0]
        if known[:, 3].min() == known[:, 4].max():
            only = float(known[0, 3])
            return Interval(only, only, level, "exact: one value everywhere")
        return with_width(ratio_interval(stack[:, 2], stack[:, 0], clusters, level))

    def point(self, stats: tuple[float, ...]) -> float:
        """The text's own mean; a text of no position with a value has none, and is never asked for one."""
        return stats[2] / stats[0]

    def places(self, unit: Answer) -> Sequence[Place]:
        """The text's worst positions, which a report names."""
        return worst_places(unit, self.badness(unit))

    def badness(self, unit: Answer) -> Values | None:
        """What its positions are ranked by (P of the whole text), the largest being the worst; None ranks none."""
        return None


def with_width(interval: Interval) -> Interval | None:
    """The interval, or None of one that rounding alone gives a width."""
    return None if interval.high - interval.low <= 1e-12 * abs(interval.high) else interval


def moments_of(stack: Stack) -> Moments:
    """The moments of all positions, from the statistics of their texts."""
    parts = (Moments(int(n), total / n, m2, low, high) for n, _, total, low, high, m2 in stack[:, :6].tolist() if n)
    return reduce(Moments.merge, parts, Moments())


@dataclass(frozen=True)
class Deviation:
    """The standard deviation (ddof 1) over positions."""

    def value(self, stack: Stack) -> float:
        """See `Moments.sd`."""
        return moments_of(stack).sd()

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None: positions of a text depend on one another."""
        return None


@dataclass(frozen=True)
class NaiveT:
    """The mean over its standard error, as if positions did not depend on one another.

    Other tools print it. It is no test: of 100 texts of 200 tokens it rejects half of the time where nothing differs.
    """

    measured_in: ClassVar[str] = ""

    def value(self, stack: Stack) -> float:
        """mean / (sd / sqrt(n)).

        Raises:
            Undefined: "zero variance", or as `Moments.sd`.
        """
        moments = moments_of(stack)
        sd = moments.sd()
        if sd == 0:
            raise Undefined("zero variance")
        return moments.mean / (sd / math.sqrt(moments.count))

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None."""
        return None


@dataclass(frozen=True)
class RootMeanSquare:
    """The root of the mean square over positions."""

    def value(self, stack: Stack) -> float:
        """See `Moments.root_mean_square`."""
        return moments_of(stack).root_mean_square()

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None."""
        return None


def column(unit: Answer, name: str) -> Values | None:
    """A column (P,) of what counts of a scored text, as float64; None where the row has none.

    An item whose fields hold `SCORED_FROM` (characters) counts from there on: what stands before is context, and in
    neither sum nor denominator. A text of which nothing counts has no column.
    """
    columns = unit.row.columns
    if columns is None or name not in columns:
        return None
    values, begins = columns[name].astype(np.float64), unit.item.fields.get(SCORED_FROM, 0)
    if not isinstance(begins, int) or begins <= 0:
        return values
    counted = values[columns["start"] >= begins]
    return counted if counted.size else None


def worst_places(unit: Answer, badness: Values | None) -> Sequence[Place]:
    """The positions of largest badness above 0, NaN before all; at most `NAMED`."""
    columns = unit.row.columns
    if badness is None or columns is None or not badness.size:
        return ()
    ranked = np.where(np.isnan(badness), np.inf, badness)
    order = np.argsort(-ranked, kind="stable")[:NAMED]
    starts, positions = columns["start"], columns["position"]
    skipped = len(positions) - badness.size  # context, which stands before all that counts
    return [
        Place(int(positions[skipped + i]), _finite(float(badness[i])), context(unit.item.prompt, starts, skipped + i))
        for i in order.tolist()
        if ranked[i] > 0
    ]


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def context(text: str, starts: NDArray[np.int32], place: int) -> str:
    """The text around a position, its token between marks; empty where the model did not say where tokens lie."""
    start = int(starts[place])
    if start < 0:
        return ""
    end = int(starts[place + 1]) if place + 1 < len(starts) else len(text)
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    return f"{before}⟦{text[start:end]}⟧{after}".replace("\n", "⏎")
