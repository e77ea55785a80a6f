"""Quantiles by one named rule (type 7), only where there are enough values to have one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.critical import open_unit, tail
from evalflow.numeric.interval import Interval
from evalflow.numeric.undefined import Undefined, finite, finite_column, floats


def quantile(values: ArrayLike, q: float) -> float:
    """The `q` quantile of `values` (N,), in their unit, by `type7`, where they are enough to have one.

    Raises:
        Undefined: "no rows", "non-finite value", "non-finite result", or "p95 needs n >= 20, has 19" and
            the like.
        ValueError: q outside (0, 1).
    """
    least = least_n(q)
    column = finite_column(values)
    if column.size < least:
        raise Undefined(f"{_name(q)} needs n >= {least}, has {column.size}")
    return type7(column, q)


def type7(values: ArrayLike, q: float) -> float:
    """`quantile` of however few values, q = 0 (the least) and q = 1 (the largest) among them.

    Source: type 7 of Hyndman and Fan 1996: position q (N - 1) in the sorted values, counted from 0.

    Raises:
        Undefined: "no rows", "non-finite value" or "non-finite result".
        ValueError: q outside 0..1.
    """
    if not 0.0 <= q <= 1.0:
        raise ValueError(f"q is {q}; give a number from 0 to 1")
    column = finite_column(values)
    with np.errstate(over="ignore", invalid="ignore"):
        return finite(float(np.quantile(column, q, method="linear")))


def quantiles(values: ArrayLike, qs: Sequence[float]) -> list[float]:
    """`type7` of `values` (N,) at each of `qs` (M,), in their unit; a NaN among the values is refused.

    Where a NaN would sort decides every quantile beside it, so there is none of values that hold one.

    Raises:
        Undefined: "no rows" or "non-finite result".
        ValueError: a value that is NaN or infinite, or a q outside 0..1.
    """
    for place, value in enumerate(floats(values).tolist()):
        if not math.isfinite(value):
            raise ValueError(f"value {place} is {value}; count what is not finite apart, and leave it out")
    return [type7(values, q) for q in qs]


def least_n(q: float) -> int:
    """How many values the `q` quantile needs: the least n with one value's worth beyond it, n (1 - q) >= 1.

    20 for p95, 100 for p99, 1,000 for p99.9; up to the median, 1. `q` means the decimal that it is written
    as: 1 - 0.9 in floats would ask for 11 values where 10 will do.

    Raises:
        ValueError: q outside (0, 1).
    """
    exact = Fraction(str(float(open_unit(q, "q"))))
    return 1 if exact <= Fraction(1, 2) else math.ceil(1 / (1 - exact))


def least_n_interval(q: float, level: float = 0.95) -> int:
    """How many independent values the interval of the `q` quantile needs: 6 for p50, 72 for p95 at 0.95.

    Of fewer even the least and the largest are too close together: all values on one side of the quantile has chance
    q^n, or (1 - q)^n.

    Raises:
        Undefined: "non-finite result".
        ValueError: q or level outside (0, 1).
    """
    open_unit(q, "q")
    return max(1, math.ceil(finite(math.log(tail(level)) / math.log1p(-min(q, 1 - q)))))


def quantile_interval(values: ArrayLike, q: float, level: float = 0.95) -> Interval:
    """The interval of the true `q` quantile behind `values` (N,), whatever their law, in their unit.

    Its ends are two of the values. Each is on the wrong side of the true quantile with a chance of at most
    (1 - level) / 2, so that one end alone can be gated on; ties only make it safer. Method "order
    statistics".

    Source: the number of values below the quantile is Binomial(N, q); the ranks (from 1) are the largest low
    with P(X < low) <= tail and the least high with P(X >= high) <= tail (David and Nagaraja 2003, 7.1).

    Raises:
        Undefined: "no rows", "non-finite value", or "p50 interval needs n >= 6, has 5" and the like: of
            fewer values even the least and the largest are too close together.
        ValueError: q or level outside (0, 1).
    """
    from scipy.stats import binom  # 0.46 s at import

    least = least_n_interval(q, level)
    alpha = tail(level)
    column = np.sort(finite_column(values))
    n = column.size
    if n < least:
        raise Undefined(f"{_name(q)} interval needs n >= {least}, has {n}")
    low = max(1, int(binom.ppf(alpha, n, q)))
    high = min(n, int(binom.isf(alpha, n, q)) + 1)
    return Interval(float(column[low - 1]), float(column[high - 1]), level, "order statistics")


def _name(q: float) -> str:
    return f"p{100 * q:g}"


def weighted_type7(ordered: NDArray[np.float64], times: NDArray[Any], q: float) -> float:
    """`type7` of values (N,) in rising order that occur `times` (N,) each, whole numbers of which some may be 0.

    Raises:
        Undefined: "no rows", where none occurs.
    """
    reached = np.cumsum(times)
    n = int(reached[-1]) if len(reached) else 0
    if n == 0:
        raise Undefined("no rows")
    position = q * (n - 1)
    below = math.floor(position)
    # the value at rank r (from 0) is the first whose cumulated count exceeds r
    low, high = (
        float(ordered[np.searchsorted(reached, rank, side="right")]) for rank in (below, min(below + 1, n - 1))
    )
    return finite(low + (high - low) * (position - below))
