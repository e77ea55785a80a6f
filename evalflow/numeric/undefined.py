"""Undefined, and the checks of what comes in and of what goes out that raise it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Undefined(ArithmeticError):  # noqa: N818 - it is a result more than a fault, and reads as one
    """A number that does not exist for this input: no rows, one cluster, no spread.

    It is raised in place of 0 or NaN, so that nothing downstream can mistake it for a measurement. `reason`
    is a short phrase that goes into the report as it stands."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def floats(values: ArrayLike) -> NDArray[np.float64]:
    """`values` as an array of float64, of whatever shape they have. None reads as NaN.

    Raises:
        ValueError: text, which is no number though it may spell one; rows of unequal length; a number beyond a float.
    """
    array = np.asarray(values)
    kind = array.dtype.kind
    if kind in "USM" or (kind == "O" and any(isinstance(value, str | bytes) for value in array.flat)):
        raise ValueError("values hold text; give numbers")
    try:
        return array.astype(np.float64, copy=False)
    except OverflowError:
        raise ValueError("a value is an integer beyond a float; give numbers below 1.8e308") from None


def finite_column(values: ArrayLike) -> NDArray[np.float64]:
    """`values` as an array of float64, shape (N,) with N >= 1 and every entry finite.

    Raises:
        Undefined: "no rows", or "non-finite value" (None reads as NaN, hence so does it).
        ValueError: not one-dimensional, or no numbers (`floats`).
    """
    column = floats(values)
    if column.ndim != 1:
        raise ValueError(f"values have shape {column.shape}; give one dimension")
    if column.size == 0:
        raise Undefined("no rows")
    if not np.isfinite(column).all():
        raise Undefined("non-finite value")
    return column


def finite(number: float, reason: str = "non-finite result") -> float:
    """`number` itself, as a Python float.

    Raises:
        Undefined: with `reason`, where it is NaN, infinite or beyond a float.
    """
    try:
        held = math.isfinite(number)
    except OverflowError:  # an integer beyond a float
        held = False
    if not held:
        raise Undefined(reason)
    return float(number)
