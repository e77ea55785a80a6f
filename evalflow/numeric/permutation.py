"""The sign-flip permutation test: how often is the mean as far from 0 if the arms of pairs are exchanged at random?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.bootstrap import draws
from evalflow.numeric.cluster import Clusters, cluster_codes
from evalflow.numeric.undefined import finite, finite_column

EXACT_UP_TO = 20
"""Units that differ up to which all their 2^n flips are counted; beyond, flips are drawn."""

_DRAWS_AT_ONCE = 1 << 16
_TIE = 2.0**-40  # share of the largest sum within which two sums are one, but for rounding


@dataclass(frozen=True)
class SignFlip:
    """The two-sided p of a mean difference, from `n` units of which `n_flipped` are not 0.

    `exact` says whether every flip was counted, or `n_draws` of them were drawn (0 where exact). `smallest_p` is the
    least p that so many units or draws can give."""

    n: int
    n_flipped: int
    p: float
    exact: bool
    n_draws: int
    smallest_p: float


def sign_flip_test(
    differences: ArrayLike,
    seed: int,
    n_draws: int = 10_000,
    clusters: Clusters | None = None,
    exact_up_to: int = EXACT_UP_TO,
) -> SignFlip:
    """The two-sided test that `differences` (N,) are as likely as their negatives, on their mean.

    With `clusters` (N,) all rows of one are flipped together, as a mean over rows whose clusters are independent asks
    for. Units of 0 look the same either way and are not flipped: with none left, p is 1.

    Source: the share of the 2^n flips whose |sum| is at least the one seen (Fisher 1935); of m flips drawn, b of
    which are, (b + 1) / (m + 1), which is never 0 and errs at most as often as it says (Phipson and Smyth 2010). The
    tosses are those of `bootstrap.draws`; the magnitudes are sorted first, so that neither the order of the rows nor
    which arm is called the treatment can move p.

    Raises:
        Undefined: "no rows", "non-finite value" or "non-finite result".
        ValueError: not one cluster per value, n_draws < 1, exact_up_to outside 0..24, or a seed outside 0..2^64 - 1.
    """
    if n_draws < 1:
        raise ValueError(f"n_draws is {n_draws}; give at least 1")
    if not 0 <= exact_up_to <= 24:
        raise ValueError(f"exact_up_to is {exact_up_to}; give 0 to 24")
    units = finite_column(differences)
    with np.errstate(over="ignore"):
        finite(float(np.abs(units).sum()))
    if clusters is not None:
        names, codes = cluster_codes(clusters, units.size)
        units = np.bincount(codes, weights=units, minlength=len(names)).astype(np.float64)
    magnitudes = np.sort(np.abs(units[units != 0]))
    seen = abs(math.fsum(units.tolist()))
    exact = magnitudes.size <= exact_up_to
    if exact:
        p = exact_p(magnitudes, seen)
        smallest = math.ldexp(1.0, 1 - max(magnitudes.size, 1))
    else:
        p = (_as_far(magnitudes, seen, seed, n_draws) + 1) / (n_draws + 1)
        smallest = 1 / (n_draws + 1)
    return SignFlip(units.size, magnitudes.size, p, exact, 0 if exact else n_draws, smallest)


def exact_p(magnitudes: NDArray[np.float64], seen: float) -> float:
    """The share of all sign patterns of `magnitudes` (n,) whose |sum| is at least `seen`, but for rounding.

    A pattern and its negative have one |sum|, so that half of them are counted: 2^(n - 1) numbers.
    """
    sums = magnitudes[:1] if magnitudes.size else np.zeros(1)
    for magnitude in magnitudes[1:]:
        sums = np.concatenate([sums + magnitude, sums - magnitude])
    return float(np.count_nonzero(np.abs(sums) >= _floor(magnitudes, seen)) / sums.size)


def _as_far(magnitudes: NDArray[np.float64], seen: float, seed: int, n_draws: int) -> int:
    """How many of the flips drawn have a |sum| of at least `seen`, a bounded number of tosses at a time."""
    least = _floor(magnitudes, seen)
    rows = max(1, _DRAWS_AT_ONCE // magnitudes.size)
    count = 0
    for start in range(0, n_draws, rows):
        tosses = draws(magnitudes.size, 2, seed, start, min(start + rows, n_draws))
        sums = np.where(tosses == 1, magnitudes, -magnitudes).sum(axis=1)
        count += int(np.count_nonzero(np.abs(sums) >= least))
    return count


def _floor(magnitudes: NDArray[np.float64], seen: float) -> float:
    """`seen`, less what rounding can move a sum by."""
    return seen - _TIE * float(magnitudes.sum())
