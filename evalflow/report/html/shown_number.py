"""Numbers as a page shows them: those of one line are written alike, so that they line up and compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

Writer = Callable[[float], str]
MINUS = "\u2212"
"""As wide as the plus sign and the digits."""
_LARGE = 1e15
_MOST_DECIMALS = 5


def writer(values: Iterable[float | None], widths: Iterable[float | None] = ()) -> Writer:
    """How the numbers of one line are written, given the widths of their intervals.

    Whole ones as such; else with as many decimals as show two digits of the smallest number and of the narrowest
    interval; and where that is more than five, each by its own size.
    """
    sizes = [abs(value) for value in values if value]
    if all(size == int(size) and size < _LARGE for size in sizes):
        return _whole
    smallest, largest = min(sizes), max(sizes)
    if smallest < 10.0 ** (1 - _MOST_DECIMALS) or largest >= _LARGE:
        return number
    narrowest = min((width for width in widths if width), default=largest)
    usual = 3 if largest < 10 else 2 if largest < 100 else 1 if largest < 1000 else 0
    decimals = min(_MOST_DECIMALS, max(usual, _two_digits(smallest), _two_digits(narrowest)))
    return lambda value: _signed(f"{value:,.{decimals}f}") if value else "0"


def writer_by_means(
    means: Sequence[float | None], others: Iterable[float | None], widths: Iterable[float | None]
) -> Writer:
    """How means and the `others` of their line are written: as the means ask for, unless those are all whole.

    The end of an interval is often many times smaller than the mean, and would ask for digits that nobody needs.
    """
    are_whole = all(mean is None or mean == int(mean) for mean in means)
    return writer([*means, *others] if are_whole else means, widths)


def _two_digits(size: float) -> int:
    """The decimals that show two digits of a number below 1; those above it have them anyway."""
    return 1 - math.floor(math.log10(size)) if size < 1 else 0


def number(value: float) -> str:
    """One number: whole from 100 on, three decimals from 0.01 on, else three significant digits."""
    size = abs(value)
    if size >= _LARGE or 0 < size < 0.01:
        return _signed(f"{value:.3g}")
    return _whole(value) if size >= 100 or value == int(value) else _signed(f"{value:.3f}")


def signed(value: float, write: Writer = number) -> str:
    """A difference, its sign before it: `+0.1`, `−0.1`, `0`."""
    return f"+{write(value)}" if value > 0 else write(value)


def scale(unit: str, values: Iterable[float | None]) -> tuple[float, str]:
    """What a line's numbers are multiplied by, and the unit that they then are of: times in ms, much memory in MB."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    if unit == "s":
        return (1000.0, "ms") if largest < 100 else (1.0, "s")
    if unit == "bytes" and largest >= 1e7:
        return 1e-6, "MB"
    return 1.0, unit


def tick(value: float) -> str:
    """A number at an axis, in as few digits as it has: `0.001`, `1e−6`."""
    mantissa, _, exponent = f"{value:.4g}".partition("e")
    return _signed(f"{mantissa}e{int(exponent)}" if exponent else mantissa)


def _whole(value: float) -> str:
    return _signed(f"{value + 0.0:,.0f}")  # a negative zero is a zero


def _signed(text: str) -> str:
    return text.replace("-", MINUS)
