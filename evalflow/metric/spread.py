"""Percentiles over the positions of scored texts, however many there are.

The stack (N, 2) holds values and how often each occurs: every position by itself while they are few, and beyond that
one entry per text and bin of a logarithmic scale, so that memory does not grow with the length of a walk.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evalflow.metric.document import Place, Values, column, worst_places
from evalflow.metric.parity import nll_difference
from evalflow.metric.percentiles import check_percentiles, share_of
from evalflow.metric.protocol import Answer, Clusters, Grain, Metric, Reading, Stack
from evalflow.numeric.bootstrap import bootstrap_statistic
from evalflow.numeric.cluster import cluster_codes, effective_clusters
from evalflow.numeric.interval import Interval
from evalflow.numeric.quantile import least_n, weighted_type7
from evalflow.numeric.undefined import Undefined

_RESAMPLES = 1000
_SEED = 0  # fixed: a figure of an arm is not sampled anew when it is read again


@dataclass(frozen=True)
class PositionPercentile:
    """One percentile (0 to 100) of all positions, type 7, with a bootstrap over clusters of texts as its interval."""

    percent: float

    def value(self, stack: Stack) -> float:
        """The percentile.

        Raises:
            Undefined: too few positions for one so far out.
        """
        n, needed = int(stack[:, 1].sum()), least_n(share_of(self.percent))
        if n < needed:
            raise Undefined(f"p{self.percent:g} needs n >= {needed}, has {n}")
        order = np.argsort(stack[:, 0], kind="stable")
        return weighted_type7(stack[order, 0], stack[order, 1], share_of(self.percent))

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None of fewer than 20 effective clusters, beyond p95 of fewer than 60: it would cover too little.

        Simulated at level 0.95, texts of one size, 120 samples each: p50 and p95 are covered in .90-.91 with 20
        clusters and .92-.96 with 60, p99 in .74 and .93; with 10, p95 in .83.
        """
        if effective_clusters(clusters) < (20 if self.percent <= 95 else 60):
            return None
        _, codes = cluster_codes(clusters, len(stack))
        n_clusters = int(codes.max()) + 1
        order = np.argsort(stack[:, 0], kind="stable")
        ordered, times, codes = stack[order, 0], stack[order, 1].astype(np.int64), codes[order]

        def drawn(chosen: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
            weights = np.bincount(chosen, minlength=n_clusters)[codes] * times
            return weighted_type7(ordered, weights, share_of(self.percent))

        found = bootstrap_statistic(n_clusters, drawn, _SEED, _RESAMPLES, level)
        return replace(found, method="cluster bootstrap")


class Largest:
    """The largest value of all."""

    def value(self, stack: Stack) -> float:
        """The largest."""
        return float(stack[:, 0].max())

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None: a maximum has none."""
        return None


class Spread(Metric):
    """The percentiles of a value per position, and the largest."""

    grain: ClassVar[Grain] = "position"
    averages_seeds: ClassVar[bool] = False
    higher_is_better: ClassVar[bool] = False
    lockstep: ClassVar[bool] = True
    measured_in: ClassVar[str] = "nats"
    empty: ClassVar[str] = "no position was scored"
    percentiles: tuple[float, ...]

    @abstractmethod
    def values(self, unit: Answer) -> Values | None:
        """The value (P,) of every position, NaN where it has none; None for a row without such columns."""

    def places(self, unit: Answer) -> Sequence[Place]:
        """The text's worst positions: those of the largest values."""
        return worst_places(unit, self.values(unit))

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """Not kept: the positions are read from the row whenever a percentile is asked for."""
        return None

    def readings(self) -> Mapping[str, Reading]:
        """One figure per percentile (`p50`, `p99.9`), and `max`."""
        return {**{f"p{percent:g}": PositionPercentile(percent) for percent in self.percentiles}, "max": Largest()}


@dataclass(frozen=True)
class KlSpread(Spread):
    """Percentiles of the KL divergence."""

    figure: ClassVar[str | None] = "parity/kl_nats"
    percentiles: tuple[float, ...] = (50.0, 90.0, 95.0, 99.0, 99.9)

    def __post_init__(self) -> None:
        check_percentiles(self.percentiles)

    def values(self, unit: Answer) -> Values | None:
        """The divergence at every position."""
        return column(unit, "kl")


@dataclass(frozen=True)
class NllDifferenceSpread(Spread):
    """Percentiles of how far the candidate's NLL is from the reference's, either way."""

    figure: ClassVar[str | None] = "parity/dnll_abs_nats"
    percentiles: tuple[float, ...] = (50.0, 90.0, 95.0, 99.0, 99.9)

    def __post_init__(self) -> None:
        check_percentiles(self.percentiles)

    def values(self, unit: Answer) -> Values | None:
        """The absolute difference at every position."""
        difference = nll_difference(unit)
        return None if difference is None else np.abs(difference)
