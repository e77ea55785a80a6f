"""The bias-corrected and accelerated bootstrap interval (BCa), its acceleration from all units at once.

The jackknife of a mean, or of a ratio of sums, needs no unit left out in fact: each figure without one unit is a
subtraction, so that the acceleration costs as much as reading the data.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.bootstrap import checked_ratio, mean_replicates, ratio_replicates
from evalflow.numeric.cluster import Clusters, cluster_units
from evalflow.numeric.critical import normal_critical
from evalflow.numeric.interval import Interval
from evalflow.numeric.moments import centred, mean
from evalflow.numeric.quantile import type7
from evalflow.numeric.undefined import Undefined, finite, finite_column

_TIE = 2.0**-40  # share of the largest number within which two figures are one, but for rounding


def acceleration(values: ArrayLike) -> float:
    """The acceleration of the mean of independent `values` (N,): a sixth of their skewness over sqrt(N). No unit.

    Source: sum r^3 / (6 (sum r^2)^1.5), r the residuals, which is the jackknife's for a mean (Efron 1987).

    Raises:
        Undefined: "n < 2", "zero variance", "no rows", "non-finite value" or "non-finite result".
    """
    column = finite_column(values)
    if column.size < 2:
        raise Undefined("n < 2")
    return _sixth_of_skewness(centred(column))


def ratio_acceleration(numerators: ArrayLike, denominators: ArrayLike) -> float:
    """The acceleration of sum `numerators` (N,) / sum `denominators` (N,), by the jackknife in one pass. No unit.

    Source: sum u^3 / (6 (sum u^2)^1.5) with u the mean of the ratios that leave one unit out, less each (Efron 1987).

    Raises:
        Undefined: "n < 2", "zero variance", "one unit holds the whole denominator", "no rows", "non-finite value" or
            "non-finite result".
        ValueError: as `bootstrap.ratio_replicates`.
    """
    above, below = checked_ratio(numerators, denominators)
    if above.size < 2:
        raise Undefined("n < 2")
    top, bottom = math.fsum(above.tolist()), math.fsum(below.tolist())
    rest = bottom - below
    if rest.min() <= 0:
        raise Undefined("one unit holds the whole denominator")
    # T'/B' - T/B without the unit is (x T - y B) / (B (B - x)): taken so, nothing is left out of a sum by cancelling
    influence = (below * (top / bottom) - above) / rest
    scale = np.abs(below * (top / bottom)).max() + np.abs(above).max()
    if np.abs(influence * rest).max() <= _TIE * scale:
        raise Undefined("zero variance")
    return _sixth_of_skewness(-centred(influence))


def bias(replicates: ArrayLike, estimate: float) -> float:
    """z0: the normal quantile of the share of `replicates` (B,) below the `estimate`, half of the ties counted in.

    A tie is a replicate within 2^-40 of the largest magnitude, since sums of the same units in another order round
    apart. It is above 0 where the estimate lies above the median of its own resamples.

    Raises:
        Undefined: "all replicates on one side", "no rows" or "non-finite value".
    """
    column, point = finite_column(replicates), finite(estimate, "non-finite value")
    dust = _TIE * max(float(np.abs(column).max()), abs(point))
    ties = int(np.count_nonzero(np.abs(column - point) <= dust))
    under = int(np.count_nonzero(column < point - dust)) + ties / 2
    if not 0 < under < column.size:
        raise Undefined("all replicates on one side")
    return NormalDist().inv_cdf(under / column.size)


def bca_interval(replicates: ArrayLike, estimate: float, acceleration: float, level: float = 0.95) -> Interval:
    """The BCa interval of an `estimate` from its `replicates` (B,), in their unit. Method "BCa bootstrap".

    Its ends are the type 7 quantiles of the replicates at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), with z0 their `bias`,
    a the `acceleration` and z the normal quantiles at (1 -/+ level) / 2 (Efron 1987).

    Raises:
        Undefined: "acceleration too large", where that is no rising function of z, "zero variance" where all
            replicates are equal, or as `bias`.
        ValueError: fewer than 2 replicates, or a level outside (0, 1).
    """
    column, critical = finite_column(replicates), normal_critical(level)
    if column.size < 2:
        raise ValueError("1 resample has no percentiles; give at least 2")
    if column.min() == column.max():
        raise Undefined("zero variance")
    z0, a = bias(column, estimate), finite(acceleration, "non-finite value")
    ends = []
    for z in (z0 - critical, z0 + critical):
        if a * z >= 1:
            raise Undefined("acceleration too large")
        ends.append(type7(column, NormalDist().cdf(z0 + z / (1 - a * z))))
    return Interval(ends[0], ends[1], level, "BCa bootstrap")


def bca_mean(
    values: ArrayLike,
    seed: int,
    n_resamples: int = 10_000,
    level: float = 0.95,
    weights: ArrayLike | None = None,
) -> Interval:
    """The BCa interval of the (weighted) mean of independent units, from `bootstrap.mean_replicates`.

    Raises:
        Undefined: "zero variance" where all values are equal, or as `bca_interval` and `mean_replicates`.
        ValueError: as `mean_replicates`, or n_resamples < 2, or a level outside (0, 1).
    """
    column = finite_column(values)
    replicates = mean_replicates(column, seed, n_resamples, weights)
    if weights is None:
        return bca_interval(replicates, mean(column), acceleration(column), level)
    share = finite_column(weights)
    estimate = math.fsum((column * share).tolist()) / math.fsum(share.tolist())
    return bca_interval(replicates, estimate, ratio_acceleration(column * share, share), level)


def bca_ratio(
    numerators: ArrayLike, denominators: ArrayLike, seed: int, n_resamples: int = 10_000, level: float = 0.95
) -> Interval:
    """The BCa interval of sum `numerators` (N,) / sum `denominators` (N,) over independent units.

    Raises:
        Undefined: as `bca_interval`, `ratio_acceleration` and `bootstrap.ratio_replicates`.
        ValueError: as `bootstrap.ratio_replicates`, or n_resamples < 2, or a level outside (0, 1).
    """
    above, below = checked_ratio(numerators, denominators)
    replicates = ratio_replicates(above, below, seed, n_resamples)
    estimate = math.fsum(above.tolist()) / math.fsum(below.tolist())
    return bca_interval(replicates, estimate, ratio_acceleration(above, below), level)


def bca_clusters(
    values: ArrayLike, clusters: Clusters, seed: int, n_resamples: int = 10_000, level: float = 0.95
) -> Interval:
    """The BCa interval of the mean of `values` (N,), whole clusters drawn as in `bootstrap.bootstrap_clusters`.

    Raises:
        Undefined: "fewer than 2 clusters", or as `bca_mean`.
        ValueError: not one cluster per value, or as `bca_mean`.
    """
    means_g, sizes_g = cluster_units(values, clusters)
    return bca_mean(means_g, seed, n_resamples, level, sizes_g)


def _sixth_of_skewness(residuals: NDArray[np.float64]) -> float:
    """sum r^3 / (6 (sum r^2)^1.5), of residuals scaled so that no power overflows or vanishes."""
    largest = float(np.abs(residuals).max())
    if largest == 0:
        raise Undefined("zero variance")
    scaled = residuals / largest
    squares = math.fsum((scaled**2).tolist())
    return finite(math.fsum((scaled**3).tolist()) / (6 * squares**1.5))
