"""How many numbers lie where, on a logarithmic scale: percentiles of streams too long to keep."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.quantile import least_n
from evalflow.numeric.undefined import Undefined, floats

RELATIVE_ERROR = 2.0**-11
"""How far a bin's middle is from any number in it, at most, as a share of that number (of 1e-307 where it is less)."""

_DROPPED = 42  # bits of the fraction that a bin does not tell apart: 1,024 bins from each power of 2 to the next


def binned(values: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The middle of each bin in rising order (K,), and how many of `values` (N,) lie in it (K,).

    A bin is all numbers that share the sign, exponent and first 10 bits of the fraction of a float64: whole numbers are
    compared and nothing is rounded, so that the bins are the same on every machine. 0 has a bin of its own.

    Raises:
        ValueError: a value below 0, NaN or infinite.
    """
    column = floats(values).ravel() + 0.0  # -0 is 0
    if not (np.isfinite(column) & (column >= 0)).all():
        raise ValueError("a value is below 0 or not finite; give numbers from 0 up")
    codes, counts = np.unique(_codes(column), return_counts=True)
    return _middles(codes), counts


class Distribution:
    """Numbers from 0 up, +inf among them, for their percentiles: each kept while they are few, bins beyond that.

    What it says depends on the numbers alone, never on how they were split or in which order they came.
    """

    def __init__(self, most: int = 1_000_000) -> None:
        self.most = most
        """How many are kept as they are."""
        self.n = 0
        self.n_infinite = 0
        self._least, self._largest = math.inf, -math.inf  # of the finite ones
        self._values: list[NDArray[np.float64]] | None = []
        self._bins: Counter[int] = Counter()

    @property
    def exact(self) -> bool:
        """Whether every number is still there: a percentile then is type 7, else right to `RELATIVE_ERROR`."""
        return self._values is not None

    def add(self, values: ArrayLike) -> None:
        """Take `values` (N,) in.

        Raises:
            ValueError: a value below 0, or NaN.
        """
        column = floats(values).ravel() + 0.0
        if not (column >= 0).all():
            raise ValueError("a value is below 0 or NaN; give numbers from 0 up")
        finite = column[column < math.inf]
        self.n += column.size
        self.n_infinite += column.size - finite.size
        if finite.size:
            self._least = min(self._least, float(finite.min()))
            self._largest = max(self._largest, float(finite.max()))
        if self._values is None:
            self._bin(finite)
        else:
            self._values.append(finite)
            self._bin_if_many()

    def merge(self, other: Distribution) -> Distribution:
        """Both together, the smaller `most` deciding; neither is changed."""
        both = Distribution(min(self.most, other.most))
        parts = (self, other)
        both.n, both.n_infinite = (sum(getattr(part, name) for part in parts) for name in ("n", "n_infinite"))
        both._least, both._largest = min(p._least for p in parts), max(p._largest for p in parts)
        both._bins = self._bins + other._bins
        kept = [part._values for part in parts]
        both._values = [values for part in kept if part is not None for values in part]
        if None in kept:
            both._bin_all()
        both._bin_if_many()
        return both

    def quantile(self, q: float) -> float:
        """The `q` quantile, type 7: position q (N - 1) in the sorted numbers; +inf where it lies among those.

        Raises:
            Undefined: "no rows", or "p95 needs n >= 20, has 19" and the like (see `quantile.least_n`).
            ValueError: q outside (0, 1).
        """
        least = least_n(q)
        if self.n == 0:
            raise Undefined("no rows")
        if self.n < least:
            raise Undefined(f"p{100 * q:g} needs n >= {least}, has {self.n}")
        position = Fraction(str(float(q))) * (self.n - 1)
        below = position.numerator // position.denominator
        share = float(position - below)
        low, high = self._ranked([below, below + (share > 0)])
        return low if low == high else low + share * (high - low)

    def largest(self) -> float:
        """The largest number, exactly.

        Raises:
            Undefined: "no rows".
        """
        if self.n == 0:
            raise Undefined("no rows")
        return math.inf if self.n_infinite else self._largest

    def _ranked(self, ranks: Sequence[int]) -> list[float]:
        """The numbers at these places of the sorted ones."""
        n_finite = self.n - self.n_infinite
        known = [min(rank, n_finite - 1) for rank in ranks] if n_finite else []
        if self._values is None:
            codes = np.array(sorted(self._bins))
            upto = np.cumsum([self._bins[code] for code in codes.tolist()])
            middles = np.clip(_middles(codes), self._least, self._largest)
            found = [float(middles[np.searchsorted(upto, rank, side="right")]) for rank in known]
        else:
            column = np.concatenate(self._values)
            found = np.partition(column, known)[known].tolist() if known else []
        return [math.inf if rank >= n_finite else found[place] for place, rank in enumerate(ranks)]

    def _bin_if_many(self) -> None:
        if self._values is not None and self.n > self.most:
            self._bin_all()

    def _bin_all(self) -> None:
        values, self._values = self._values or [], None
        for part in values:
            self._bin(part)

    def _bin(self, finite: NDArray[np.float64]) -> None:
        codes, counts = np.unique(_codes(finite), return_counts=True)
        self._bins.update(dict(zip(codes.tolist(), counts.tolist(), strict=True)))


def _codes(column: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bin of each number from 0 up: 0 for 0 itself, which is in none of the others."""
    return np.where(column > 0, (column.view(np.int64) >> _DROPPED) + 1, 0)


def _middles(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Half-way between the ends of each bin."""
    low = (np.maximum(codes - 1, 0) << _DROPPED).view(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        high = (codes << _DROPPED).view(np.float64)
        middle = low + (high - low) / 2
    return np.where(codes == 0, 0.0, np.where(np.isfinite(middle), middle, low))
