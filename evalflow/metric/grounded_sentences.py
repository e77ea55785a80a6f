"""Sentences of grounded answers: how many were kept, and how far each is covered by what it cites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import ClassVar, Literal

import numpy as np

from evalflow.metric.grounded import serving_of
from evalflow.metric.percentiles import Percentile
from evalflow.metric.protocol import Answer, Clusters, Metric, Reading, Stack
from evalflow.numeric.cluster import mean_interval
from evalflow.numeric.interval import Interval


@dataclass(frozen=True)
class SentencesKept(Metric):
    """Sentences kept of sentences written, over the answers that were released in part: a ratio of sums."""

    figure: ClassVar[str | None] = "quality/sentences_kept"
    measured_in: ClassVar[str] = "share"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(kept, written)`; None for a row that was not released in part."""
        serving = serving_of(unit)
        if serving is None or serving["outcome"] != "partial":
            return None
        return (float(serving["sentences_kept"]), float(serving["sentences_written"]))

    def value(self, stack: Stack) -> float:
        """All kept over all written."""
        return float(stack[:, 0].sum() / stack[:, 1].sum())

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """A t interval over clusters of the linearised ratio, cut to 0 and 1; None where all rows have one share.

        Source: the ratio estimator's variance is that of (kept - ratio * written) / mean written (Cochran 1977, 6.4).
        """
        kept, written = stack[:, 0], stack[:, 1]
        ratio = self.value(stack)
        linear = ratio + (kept - ratio * written) / written.mean()
        if np.allclose(linear, ratio, rtol=0.0, atol=1e-12):
            return None
        found = mean_interval(linear, clusters, level)
        return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))

    def point(self, stats: tuple[float, ...]) -> float:
        """The row's own share."""
        return stats[0] / stats[1]


@dataclass(frozen=True)
class _Extreme:
    """The least or greatest value of a stack: of this sample alone, so that it has no interval."""

    end: Literal["min", "max"]

    def value(self, stack: Stack) -> float:
        """The value."""
        return float(stack[:, 0].min() if self.end == "min" else stack[:, 0].max())

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None."""
        return None


@dataclass(frozen=True)
class CitationOverlap(Metric):
    """How much of a sentence's vocabulary stands in the section that it cites: the row's median over its sentences.

    Measured and not to be gated: a true sentence in other words overlaps little, a false one in the article's words
    much. Over the rows that can say: the draft has a sentence with a valid citation, and is no refusal.
    """

    figure: ClassVar[str | None] = "quality/citation_overlap"
    measured_in: ClassVar[str] = "share"
    averages_seeds: ClassVar[bool] = False

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(median,)`, 0 to 1; None for a row that cannot say."""
        serving = serving_of(unit)
        if serving is None or serving["refusal"] is not None or not serving["citation_overlaps"]:
            return None
        return (float(median(serving["citation_overlaps"])),)

    def readings(self) -> Mapping[str, Reading]:
        """`median`, with its interval, `min` and `max` of the rows' medians."""
        return {"median": Percentile(50.0), "min": _Extreme("min"), "max": _Extreme("max")}
