"""Mean and standard deviation of one column."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.undefined import Undefined, finite, finite_column


def mean(values: ArrayLike) -> float:
    """The arithmetic mean of `values` (N,), in their unit.

    The sum is correctly rounded, so the order of the rows cannot move it, and the mean never leaves the range
    of the values: ten times 0.1 have mean 0.1 exactly.

    Raises:
        Undefined: "no rows", "non-finite value", or "non-finite result" where the sum is beyond a float.
    """
    return listed_mean(finite_column(values).tolist())


def listed_mean(values: list[float]) -> float:
    """`mean` of a non-empty list of finite floats."""
    try:
        total = math.fsum(values)
    except OverflowError:
        raise Undefined("non-finite result") from None
    # dividing a rounded sum can step over the edge by one ulp: 3 * 0.1 / 3 > 0.1
    return min(max(total / len(values), min(values)), max(values))


def centred(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Residuals (N,) of a checked column from its mean: all exactly 0 where the column is constant.

    Centring twice takes out the rounding of the mean itself, which matters where the mean is far larger than
    the spread.

    Raises:
        Undefined: "non-finite result", where a difference is beyond a float.
    """
    with np.errstate(over="ignore"):
        residuals = column - mean(column)
    if not np.isfinite(residuals).all():
        raise Undefined("non-finite result")
    return residuals - mean(residuals)


def sample_sd(values: ArrayLike) -> float:
    """The sample standard deviation of `values` (N,), ddof 1, in their unit.

    Source: sqrt(sum (x - mean)^2 / (N - 1)) from residuals, never from sums of squares, and scaled
    (`math.hypot`) so that squares neither overflow nor vanish. 0 only where all values are equal.

    Raises:
        Undefined: "n < 2", "no rows", "non-finite value" or "non-finite result".
    """
    column = finite_column(values)
    if column.size < 2:
        raise Undefined("n < 2")
    return finite(math.hypot(*centred(column).tolist()) / math.sqrt(column.size - 1))


def standard_error(values: ArrayLike) -> float:
    """The standard error of the mean of independent `values` (N,): `sample_sd` over sqrt(N), in their unit.

    Rows that depend on one another have `cluster.cluster_se`.

    Raises:
        Undefined: as `sample_sd`.
    """
    column = finite_column(values)
    return sample_sd(column) / math.sqrt(column.size)
