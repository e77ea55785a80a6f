"""Distributions, read at percentiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from evalflow.metric.protocol import Clusters, Metric, Reading, Stack
from evalflow.numeric.interval import Interval
from evalflow.numeric.quantile import least_n, quantile, quantile_interval
from evalflow.numeric.undefined import Undefined


@dataclass(frozen=True)
class Percentile:
    """One percentile (0 to 100) of a stack, by linear interpolation (type 7)."""

    percent: float

    def value(self, stack: Stack) -> float:
        """The percentile.

        Raises:
            Undefined: too few values for a percentile so far out.
        """
        needed = least_n(self._share)
        if len(stack) < needed:
            raise Undefined(f"p{self.percent:g} needs n >= {needed}, has {len(stack)}")
        return quantile(stack[:, 0], self._share)

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """Order statistics around the percentile; None where there are too few values for the level."""
        try:
            return quantile_interval(stack[:, 0], self._share, level)
        except Undefined:
            return None

    @property
    def _share(self) -> float:
        """The percentile as a share, by its decimals: 99.9 / 100 in floats is above 0.999 and would ask for 1,001."""
        return float(Fraction(str(self.percent)) / 100)


class Percentiles(Metric):
    """A metric whose figures are percentiles of its statistic over single units."""

    averages_seeds: ClassVar[bool] = False
    percentiles: tuple[float, ...]

    def readings(self) -> Mapping[str, Reading]:
        """One figure per percentile: `p50`, `p95`."""
        return {f"p{percent:g}": Percentile(percent) for percent in self.percentiles}


def check_percentiles(percentiles: tuple[float, ...]) -> None:
    """Refuse percentiles that are none.

    Raises:
        ValueError: none given, or one outside 0 to 100.
    """
    if not percentiles or not all(0 < percent < 100 for percent in percentiles):
        raise ValueError(f"percentiles is {list(percentiles)}; give numbers between 0 and 100")
