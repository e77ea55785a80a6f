"""A figure, or why there is none, side by side with figures that there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from evalflow.numeric.undefined import Undefined

T = TypeVar("T")
Value = float | Undefined
"""A figure, +inf where it is infinite; or the reason why it does not exist."""


def told(figure: Callable[[], T]) -> T | Undefined:
    """The figure, or why there is none."""
    try:
        return figure()
    except Undefined as undefined:
        return Undefined(undefined.reason)  # without the traceback, which would hold on to all that it went through
