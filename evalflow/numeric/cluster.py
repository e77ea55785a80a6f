"""Clusters: rows that depend on one another, and the standard error that allows for it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.critical import t_critical
from evalflow.numeric.interval import Interval
from evalflow.numeric.moments import centred, listed_mean, mean
from evalflow.numeric.undefined import Undefined, finite, finite_column

Clusters = Sequence[Hashable] | NDArray[Any]
"""A cluster's name per row (N,): anything hashable, or a numpy array."""


def cluster_codes(clusters: Clusters, n_rows: int) -> tuple[list[Hashable], NDArray[np.int64]]:
    """The distinct names (G,) in order of first appearance, and each row's index into them (N,).

    Raises:
        ValueError: not one name per row.
    """
    names: list[Hashable] = clusters.tolist() if isinstance(clusters, np.ndarray) else list(clusters)
    if len(names) != n_rows:
        raise ValueError(f"{len(names)} clusters for {n_rows} values; give one cluster per value")
    code_of: dict[Hashable, int] = {}
    codes = [code_of.setdefault(name, len(code_of)) for name in names]
    return list(code_of), np.array(codes, dtype=np.int64)


def cluster_means(values: ArrayLike, clusters: Clusters) -> tuple[list[Hashable], NDArray[np.float64]]:
    """Each cluster's mean: names (G,) in order of first appearance, means (G,) in the unit of `values` (N,).

    Raises:
        Undefined: "no rows", "non-finite value" or "non-finite result".
        ValueError: not one cluster per value.
    """
    column = finite_column(values)
    names, codes = cluster_codes(clusters, column.size)
    members: list[list[float]] = [[] for _ in names]
    for code, value in zip(codes.tolist(), column.tolist(), strict=True):
        members[code].append(value)
    return names, np.array([listed_mean(group) for group in members])


def cluster_units(values: ArrayLike, clusters: Clusters) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What a resampling of whole clusters draws from: each cluster's mean, and its number of rows as its weight (G,).

    The mean over rows is the mean of the means with these weights.

    Raises:
        Undefined: "fewer than 2 clusters", or as `cluster_means`.
        ValueError: not one cluster per value.
    """
    names, means_g = cluster_means(values, clusters)
    if len(names) < 2:
        raise Undefined("fewer than 2 clusters")
    _, codes = cluster_codes(clusters, len(clusters))
    return means_g, np.bincount(codes).astype(np.float64)


def count_clusters(clusters: Clusters) -> int:
    """How many clusters `clusters` (N,) names; 0 of no rows."""
    return len(cluster_codes(clusters, len(clusters))[0])


def cluster_se(values: ArrayLike, clusters: Clusters, correction: bool = True) -> float:
    """The cluster-robust standard error of the mean of `values` (N,), in their unit.

    Source: CR1, sqrt(G / (G - 1) * sum_g (sum_{i in g} r_i)^2) / N with r the residuals from the mean over
    rows and G the number of clusters (Liang and Zeger 1986; without `correction` the factor is left out:
    CR0). With one row per cluster CR1 is sd / sqrt(N). Below some 30 clusters it is too small still.

    Raises:
        Undefined: "fewer than 2 clusters", "no rows", "non-finite value" or "non-finite result".
        ValueError: not one cluster per value.
    """
    column = finite_column(values)
    names, codes = cluster_codes(clusters, column.size)
    n_clusters = len(names)
    if n_clusters < 2:
        raise Undefined("fewer than 2 clusters")
    totals_g = np.bincount(codes, weights=centred(column), minlength=n_clusters)
    factor = math.sqrt(n_clusters / (n_clusters - 1)) if correction else 1.0
    return finite(factor * math.hypot(*totals_g.tolist()) / column.size)


def effective_clusters(clusters: Clusters) -> float:
    """How many clusters of equal size would weigh as these do in a mean over rows.

    Source: (sum n_g)^2 / sum n_g^2 (Kish 1965). It is the number of clusters where they are all of one size; one
    cluster of 40 among 59 of one row counts with them as 5.9.

    Raises:
        Undefined: "no rows".
    """
    names, codes = cluster_codes(clusters, len(clusters))
    if not names:
        raise Undefined("no rows")
    return _effective(np.bincount(codes))


def interval_se(values: ArrayLike, clusters: Clusters) -> tuple[float, float]:
    """The standard error of the mean of `values` (N,) to build an interval on, and its effective clusters.

    For clusters of one size it is `cluster_se`. Otherwise it is the larger of two estimates, both with the
    factor G / (G - 1) taken at the effective number of clusters: CR1 itself, which a few large clusters that
    happen to agree make far too small, and the error if the means of all clusters varied alike,
    sqrt(sum_g n_g (m_g - m)^2 / N / (G_eff - 1)), which the small clusters then speak for too.

    Raises:
        Undefined: "fewer than 2 effective clusters", or as `cluster_se`.
        ValueError: not one cluster per value.
    """
    column = finite_column(values)
    plain = cluster_se(column, clusters)
    _, codes = cluster_codes(clusters, column.size)
    sizes_g = np.bincount(codes)
    effective = _effective(sizes_g)
    if effective < 2:
        raise Undefined("fewer than 2 effective clusters")
    if np.ptp(sizes_g) == 0:
        return plain, effective
    totals_g = np.bincount(codes, weights=centred(column))
    robust = math.hypot(*totals_g.tolist()) * math.sqrt(effective / (effective - 1)) / column.size
    alike = math.hypot(*(totals_g / np.sqrt(sizes_g)).tolist()) / math.sqrt(column.size * (effective - 1))
    return finite(max(robust, alike)), effective


def mean_interval(values: ArrayLike, clusters: Clusters, level: float = 0.95) -> Interval:
    """The interval of the mean of `values` (N,): mean +/- t(G_eff - 1) * `interval_se`, in their unit.

    G_eff is `effective_clusters`. Method "clustered t", or "t" where every cluster is one row (it is then
    Student's). Where all clusters agree the interval is one point: a comparison of identical arms has it.

    Simulated at level 0.95 on 0/1 rows of rate .5, beta-binomial within a cluster at correlation .05, .5 and .9, with
    10, 20 or 60 clusters: sizes 1 to 6 are covered in .95-.98 of samples, one of 40 among rows of 3 or 1 in .99-1.00
    (undefined among 9 single rows), a fifth of size 20 in .96-1.00, but .90 with 20 clusters at .9. CR1 with t(G - 1)
    covered .06-.95. Data as skew as rates of .9 need `proportion.rate_interval`: here they are covered in .44-.99.

    Raises:
        Undefined: as `interval_se`.
        ValueError: not one cluster per value, or a level outside (0, 1).
    """
    column = finite_column(values)
    se, effective = interval_se(column, clusters)
    centre = mean(column)
    reach = t_critical(level, effective - 1) * se
    method = "t" if effective == column.size else "clustered t"
    return Interval(centre - reach, centre + reach, level, method)


def _effective(sizes_g: NDArray[np.int64]) -> float:
    """Kish's effective number, exact for equal sizes: both sums are integers."""
    return int(sizes_g.sum()) ** 2 / int((sizes_g**2).sum())
