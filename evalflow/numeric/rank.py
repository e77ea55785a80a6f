"""Rank correlation: whether two columns rise together, however far apart their values are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.undefined import Undefined, finite_column


def spearman(a: ArrayLike, b: ArrayLike) -> float:
    """The correlation of the ranks of `a` and `b` (N,), from -1 to 1; equal values share their mean rank.

    Source: Spearman 1904; Pearson's correlation of the ranks, which is the one that allows for ties.

    Raises:
        Undefined: "no rows", "non-finite value", or "one value throughout", of either column.
        ValueError: columns of unequal length.
    """
    return spearman_of_places(places(a), places(b))


def places(column: ArrayLike) -> NDArray[np.int64]:
    """Each value's place (N,), from 0, among the distinct values of a column in their order; raises as `spearman`."""
    return np.unique(finite_column(column), return_inverse=True)[1].astype(np.int64, copy=False)


def spearman_of_places(a_n: NDArray[np.int64], b_n: NDArray[np.int64]) -> float:
    """`spearman` of `places`, or of some rows of them: what a resample is made of, without sorting it again.

    Raises:
        Undefined: "one value throughout", of either column.
        ValueError: columns of unequal length.
    """
    if a_n.size != b_n.size:
        raise ValueError(f"{a_n.size} values beside {b_n.size}; give pairs")
    x, y = _centred_ranks(a_n), _centred_ranks(b_n)
    return min(1.0, max(-1.0, float(x @ y / np.sqrt((x @ x) * (y @ y)))))


def _centred_ranks(place_n: NDArray[np.int64]) -> NDArray[np.float64]:
    """Ranks (N,) less their mean; those of equal values are alike."""
    counts = np.bincount(place_n)
    if counts.max() == place_n.size:
        raise Undefined("one value throughout")
    ranks = np.cumsum(counts) - (counts - 1) / 2 - (place_n.size + 1) / 2
    centred: NDArray[np.float64] = ranks[place_n]
    return centred
