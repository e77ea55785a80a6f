"""Undefined, and the two checks that raise it: on what comes in, and on what goes out."""

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


def finite_column(values: ArrayLike) -> NDArray[np.float64]:
    """`values` as an array of float64, shape (N,) with N >= 1 and every entry finite.

    Raises:
        Undefined: "no rows", or "non-finite value" (None reads as NaN, hence so does it).
        ValueError: not one-dimensional.
    """
    column = np.asarray(values, dtype=np.float64)
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
        Undefined: with `reason`, where it is NaN or infinite.
    """
    if not math.isfinite(number):
        raise Undefined(reason)
    return float(number)
