"""pass@k: the chance that at least one of k samples is right, from n samples of which c were."""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index

import numpy as np

from evalflow.numeric.moments import mean

_EXACT_UP_TO = 2000  # samples; beyond, binomial coefficients have thousands of digits
_CERTAIN = 50.0  # e^-50 less than 1 is 1 in floats


def pass_at_k(n: int, correct: int, k: int) -> float:
    """The unbiased estimate of pass@k for one item, from 0 to 1.

    Source: 1 - C(n - c, k) / C(n, k), the share of all k-subsets with a right sample in it (Chen et al. 2021).
    Up to 2,000 samples in exact integers, rounded once. Beyond, the ratio is the product of 1 - max(c, k) /
    (n - i) over i < min(c, k), as a sum of logarithms: unlike differences of log-gamma it does not cancel.

    Raises:
        ValueError: k < 1, n < k (of too few samples there is no estimate, not 0 and not 1), or correct outside
            0..n.
        TypeError: a count that is no integer.
    """
    total, right, drawn = index(n), index(correct), index(k)
    if drawn < 1:
        raise ValueError(f"k is {drawn}; give at least 1")
    if total < drawn:
        raise ValueError(f"{total} samples for pass@{drawn}; give at least {drawn} an item")
    if not 0 <= right <= total:
        raise ValueError(f"{right} correct of {total}; give a count from 0 to {total}")
    if total - right < drawn:
        return 1.0
    if total <= _EXACT_UP_TO:
        subsets = math.comb(total, drawn)
        return (subsets - math.comb(total - right, drawn)) / subsets
    fewer, more = sorted((right, drawn))
    # each factor is at most 1 - fewer / n, so that after so many the rest cannot be seen
    factors = min(fewer, math.isqrt(int(_CERTAIN * total)) + 1)
    return -math.expm1(float(np.log1p(-more / (float(total) - np.arange(factors))).sum()))


def mean_pass_at_k(items: Iterable[tuple[int, int]], k: int) -> float:
    """The mean of `pass_at_k` over items, each (n, correct): every item weighs the same.

    Raises:
        Undefined: "no rows".
        ValueError, TypeError: as `pass_at_k`.
    """
    return mean([pass_at_k(n, correct, k) for n, correct in items])
