"""Times with the failures in: a request that failed is one whose answer never came.

Without them a seat that refuses every slow request looks fast.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from evalflow.metric.latency import Elapsed
from evalflow.metric.percentiles import Percentile
from evalflow.metric.protocol import Answer, Clusters, Reading, Stack
from evalflow.numeric.interval import Interval
from evalflow.numeric.undefined import Undefined

NEVER_S = 86_400.0
"""Stands for the time of a failed request (s) where two requests are ranked, in no figure: longer than any answer's."""


@dataclass(frozen=True)
class AdjustedPercentile(Percentile):
    """A percentile of a stack (N, 2) of seconds and failures, where what failed lies above all that did not."""

    def value(self, stack: Stack) -> float:
        """The percentile.

        Raises:
            Undefined: too few requests for one so far out, or it lies at a failed request, hence nowhere.
        """
        failed = stack[:, 1] > 0
        n_failed, n = int(failed.sum()), len(stack)
        slowest = stack[~failed, 0].max(initial=0.0)
        percentile = super().value(np.where(failed, slowest, stack[:, 0])[:, np.newaxis])
        # type 7 reads the values at both sides of this position, counted from 0; exact, as floats may step beyond it
        position = Fraction(str(self.percent)) / 100 * (n - 1)
        if math.ceil(position) >= n - n_failed:
            raise Undefined(f"p{self.percent:g} lies at a failed request ({n_failed} of {n} failed)")
        return percentile

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """As of any percentile; None too where it reaches into the failed requests, for it then has no end."""
        failed = stack[:, 1] > 0
        interval = super().interval(np.where(failed, NEVER_S, stack[:, 0])[:, np.newaxis], clusters, level)
        reached = interval is not None and interval.high > stack[~failed, 0].max(initial=0.0)
        return None if reached else interval


@dataclass(frozen=True)
class _Adjusted(Elapsed):
    """Every planned request counts: one that failed, or was never sent, has no end."""

    missing: ClassVar[tuple[float, ...] | None] = (NEVER_S, 1.0)

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(seconds, 0)`, of a failed request `(NEVER_S, 1)`; None for an answer without the two stamps."""
        if unit.row.status == "error":
            return self.missing
        timed = super().stats(unit)
        return None if timed is None else (*timed, 0.0)

    def readings(self) -> Mapping[str, Reading]:
        """One figure per percentile: `p50`, `p95`."""
        return {f"p{percent:g}": AdjustedPercentile(percent) for percent in self.percentiles}


@dataclass(frozen=True)
class TtftAdjusted(_Adjusted):
    """Time to first token (s), the failures in."""

    figure: ClassVar[str | None] = "lat/ttft_adjusted_s"
    until: ClassVar[str] = "first_token"


@dataclass(frozen=True)
class E2eAdjusted(_Adjusted):
    """Time to the end of the answer (s), the failures in."""

    figure: ClassVar[str | None] = "lat/e2e_adjusted_s"
    until: ClassVar[str] = "end"
