"""Shares of 0 and 1, whose interval must not vanish at the edges."""

from __future__ import annotations

from typing import ClassVar

from evalflow.metric.protocol import Clusters, Metric, Stack
from evalflow.numeric.interval import Interval
from evalflow.numeric.proportion import rate_interval


class Rate(Metric):
    """The share of units whose statistic is 1. Wilson's interval, widened where items are dependent."""

    measured_in: ClassVar[str] = "share"

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `numeric.proportion.rate_interval`."""
        return rate_interval(stack[:, 0], clusters, level)
