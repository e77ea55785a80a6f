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


def mean_interval(values: ArrayLike, clusters: Clusters, level: float = 0.95) -> Interval:
    """The interval of the mean of `values` (N,): mean +/- t(G - 1) * `cluster_se`, in their unit.

    Method "clustered t", or "t" where every cluster is one row (it is then Student's). Where all clusters
    agree the interval is one point: a comparison of identical arms has it.

    Raises:
        Undefined: as `cluster_se`.
        ValueError: not one cluster per value, or a level outside (0, 1).
    """
    column = finite_column(values)
    names, _ = cluster_codes(clusters, column.size)
    if len(names) < 2:
        raise Undefined("fewer than 2 clusters")
    centre = mean(column)
    reach = t_critical(level, len(names) - 1) * cluster_se(column, clusters)
    method = "t" if len(names) == column.size else "clustered t"
    return Interval(centre - reach, centre + reach, level, method)
