"""Ratios of sums over clusters: a mean over positions, known only by each text's sum and count."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.cluster import Clusters, cluster_codes
from evalflow.numeric.critical import t_critical
from evalflow.numeric.interval import Interval
from evalflow.numeric.proportion import wilson
from evalflow.numeric.undefined import Undefined, finite, finite_column

Sums = NDArray[np.float64]


def ratio(sums: ArrayLike, counts: ArrayLike) -> float:
    """Sum of `sums` (N,) over sum of `counts` (N,), both correctly rounded, so that no order can move it.

    Raises:
        Undefined: "no rows", "non-finite value", "non-finite result", or "nothing counted".
    """
    total, count = math.fsum(finite_column(sums).tolist()), math.fsum(finite_column(counts).tolist())
    if count <= 0:
        raise Undefined("nothing counted")
    return finite(total / count)


def ratio_interval(sums: ArrayLike, counts: ArrayLike, clusters: Clusters, level: float = 0.95) -> Interval:
    """The interval of `ratio`: ratio +/- t(G_eff - 1) * se, in its unit; method "clustered t".

    The se is that of `cluster.interval_se` for rows of which only sums by cluster are known: with e_g the cluster's sum
    less ratio times its count, the larger of the sandwich sqrt(sum e_g^2) / n with the factor G / (G - 1) taken at the
    effective number of clusters (Liang and Zeger 1986; Kish 1965), and of what it would be if all clusters varied
    alike, sqrt(sum e_g^2 / n_g / n / (G_eff - 1)).

    Raises:
        Undefined: "fewer than 2 effective clusters", or as `ratio`.
        ValueError: not one cluster per sum, or a level outside (0, 1).
    """
    centre = ratio(sums, counts)
    se, effective = _ratio_se(centre, *_by_cluster(sums, counts, clusters))
    reach = t_critical(level, effective - 1) * se
    return Interval(centre - reach, centre + reach, level, "clustered t")


def share_interval(sums: ArrayLike, counts: ArrayLike, clusters: Clusters, level: float = 0.95) -> Interval:
    """The interval of a share of positions, of which `sums` (N,) of `counts` (N,) in each text are so.

    Wilson, on the number of independent positions that would have the clustered se of `ratio_interval`, at most as many
    as there are: method "wilson, clustered". All that lies in one cluster then counts as about one event. Where none is
    so, or all are, nothing tells how dependent positions are; it is then plain Wilson over them, method "wilson".

    Raises:
        Undefined: as `ratio`, or "fewer than 2 effective clusters".
        ValueError: as `ratio_interval`.
    """
    share = ratio(sums, counts)
    totals_g, sizes_g = _by_cluster(sums, counts, clusters)
    n = float(sizes_g.sum())
    rarer_g = totals_g if share <= 0.5 else sizes_g - totals_g
    if not rarer_g.any():
        return wilson(float(totals_g.sum()), n, level)
    se, effective = _ratio_se(share, totals_g, sizes_g)
    size = n if se <= 0 else min(n, share * (1 - share) / se**2)
    found = wilson(share * size, size, level, t_critical(level, effective - 1))
    return replace(found, method="wilson, clustered")


def _by_cluster(sums: ArrayLike, counts: ArrayLike, clusters: Clusters) -> tuple[Sums, Sums]:
    """Sums and counts (G,) of each cluster that counts anything."""
    sums_n, counts_n = finite_column(sums), finite_column(counts)
    _, codes = cluster_codes(clusters, sums_n.size)
    totals_g: Sums = np.bincount(codes, weights=sums_n).astype(np.float64)
    sizes_g: Sums = np.bincount(codes, weights=counts_n).astype(np.float64)
    return totals_g[sizes_g > 0], sizes_g[sizes_g > 0]


def _ratio_se(centre: float, totals_g: Sums, sizes_g: Sums) -> tuple[float, float]:
    """The standard error, and the effective clusters (Kish's)."""
    n = float(sizes_g.sum())
    effective = n**2 / float((sizes_g**2).sum())
    if effective < 2 - 1e-9:
        raise Undefined("fewer than 2 effective clusters")
    rests_g = totals_g - centre * sizes_g
    robust = math.hypot(*rests_g.tolist()) * math.sqrt(effective / (effective - 1)) / n
    alike = math.hypot(*(rests_g / np.sqrt(sizes_g)).tolist()) / math.sqrt(n * (effective - 1))
    return finite(max(robust, alike)), effective
