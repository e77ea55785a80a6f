"""Readings that are one sum over another, and the bootstrap of figures made of sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalflow.metric.protocol import Clusters, Stack
from evalflow.numeric.bootstrap import bootstrap_statistic
from evalflow.numeric.cluster import cluster_codes
from evalflow.numeric.critical import t_critical
from evalflow.numeric.interval import Interval
from evalflow.numeric.moments import sample_sd
from evalflow.numeric.rank import places, spearman_of_places
from evalflow.numeric.ratio import ratio, ratio_interval, share_interval
from evalflow.numeric.undefined import Undefined

_RESAMPLES = 2000
_AS_GOOD_AS_1 = 1e-12  # rounding of a figure that is 1
_SEED = 0  # fixed: a figure of an arm is not sampled anew when it is read again


@dataclass(frozen=True)
class SumRatio:
    """The sum of column `above` over the sum of column `below`, from 0 up: errors per unit."""

    above: int = 0
    below: int = 1

    def value(self, stack: Stack) -> float:
        """See `numeric.ratio.ratio`."""
        return ratio(stack[:, self.above], stack[:, self.below])

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """A t interval over clusters, cut at 0; None where it would have no width, as where there are no errors."""
        found = ratio_interval(stack[:, self.above], stack[:, self.below], clusters, level)
        return replace(found, low=max(0.0, found.low)) if found.low < found.high else None


@dataclass(frozen=True)
class SumShare(SumRatio):
    """The same of a part and its whole."""

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """Wilson's, clustered; it keeps its width at 0 and 1."""
        return share_interval(stack[:, self.above], stack[:, self.below], clusters, level)


def bootstrap_of_rows(
    stack: NDArray[Any], clusters: Clusters, figure: Callable[[NDArray[Any]], float], level: float
) -> Interval | None:
    """The percentile interval of a `figure` of a stack (N, K) that no sums tell, whole clusters of its rows drawn.

    Raises as `bootstrap_of_sums`, and is None as it is.
    """
    names, codes = cluster_codes(clusters, len(stack))
    if len(names) < 2:
        raise Undefined("fewer than 2 clusters")
    order = np.argsort(codes, kind="stable")
    rows_g = np.split(stack[order], np.flatnonzero(np.diff(codes[order])) + 1)

    def drawn(indices: NDArray[np.int64]) -> float:
        return figure(np.concatenate([rows_g[index] for index in indices.tolist()]))

    found = bootstrap_statistic(len(names), drawn, _SEED, _RESAMPLES, level)
    return None if found.degenerate else replace(found, method="document bootstrap")


def jackknife_of_rows(
    stack: NDArray[Any], clusters: Clusters, figure: Callable[[NDArray[Any]], float], level: float
) -> Interval | None:
    """The interval of a `figure` of a stack (N, K) that lies between -1 and 1, whole clusters of its rows left out.

    A t interval of Fisher's z by its pseudo-values, read back: it keeps its level where few were rated and the figure
    is near 1, where a percentile bootstrap is too narrow from below. None where z is not finite (a figure of 1, with or
    without one cluster), or nothing varies.

    Source: the jackknife of a transformed statistic (Miller 1974; Arvesen 1969); z = atanh (Fisher 1915).

    Raises:
        Undefined: "fewer than 2 clusters", or the figure is without one of them.
    """
    names, codes = cluster_codes(clusters, len(stack))
    n = len(names)
    if n < 2:
        raise Undefined("fewer than 2 clusters")
    values = np.array([figure(stack), *(figure(stack[codes != code]) for code in range(n))])
    if not (abs(values) < 1 - _AS_GOOD_AS_1).all():
        return None
    whole, *without = np.arctanh(values)
    half = t_critical(level, n - 1) * sample_sd((n - 1) * np.array(without)) / math.sqrt(n)
    if not half:
        return None
    low, high = math.tanh(whole - half), math.tanh(whole + half)
    return Interval(low, high, level, "jackknife of Fisher's z")


def bootstrap_of_ranks(
    one: NDArray[np.float64], other: NDArray[np.float64], clusters: Clusters, level: float
) -> Interval | None:
    """`bootstrap_of_rows` of the rank correlation of two columns (N,)."""
    placed = np.column_stack([places(one), places(other)])
    return bootstrap_of_rows(placed, clusters, lambda drawn: spearman_of_places(drawn[:, 0], drawn[:, 1]), level)


def jackknife_of_ranks(
    one: NDArray[np.float64], other: NDArray[np.float64], clusters: Clusters, level: float
) -> Interval | None:
    """`jackknife_of_rows` of the rank correlation of two columns (N,)."""
    placed = np.column_stack([places(one), places(other)])
    return jackknife_of_rows(placed, clusters, lambda kept: spearman_of_places(kept[:, 0], kept[:, 1]), level)


def bootstrap_of_sums(
    stack: Stack, clusters: Clusters, figure: Callable[[NDArray[np.float64]], float], level: float
) -> Interval | None:
    """The percentile interval of a `figure` of the summed statistics (K,), whole clusters of documents drawn.

    None where every resample gives the same.

    Raises:
        Undefined: "fewer than 2 clusters", or "a resample is undefined: ...".
    """
    names, codes = cluster_codes(clusters, len(stack))
    if len(names) < 2:
        raise Undefined("fewer than 2 clusters")
    sums_gk = np.zeros((len(names), stack.shape[1]))
    np.add.at(sums_gk, codes, stack)
    found = bootstrap_statistic(len(names), lambda drawn: figure(sums_gk[drawn].sum(axis=0)), _SEED, _RESAMPLES, level)
    return None if found.degenerate else replace(found, method="document bootstrap")
