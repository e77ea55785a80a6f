"""Moments of columns that come in parts: documents, shards and machines add up to the moments of the whole."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalflow.numeric.moments import centred, mean
from evalflow.numeric.undefined import Undefined, finite, finite_column, floats


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared deviations of a column's finite values, its ends, and how many are +inf.

    An infinite value is counted and kept out of the sums: `average` is then +inf, and there is no `sd`.
    """

    count: int = 0
    mean: float = math.nan
    m2: float = 0.0
    """Sum of squared deviations from the mean."""
    least: float = math.inf
    largest: float = -math.inf
    n_infinite: int = 0

    @classmethod
    def of(cls, values: ArrayLike) -> Moments:
        """The moments of `values` (N,), none of them included.

        Raises:
            Undefined: "non-finite value": NaN or -inf.
            ValueError: not one-dimensional.
        """
        column = floats(values)
        infinite = np.isposinf(column)
        n_infinite = int(np.count_nonzero(infinite))
        if column.size == n_infinite:
            return cls(n_infinite=n_infinite)
        kept = finite_column(column[~infinite] if n_infinite else column)
        rests = centred(kept)
        ends = float(kept.min()), float(kept.max())
        with np.errstate(over="ignore"):  # squares beyond a float leave no sd
            squares = float(np.dot(rests, rests))
        return cls(kept.size, mean(kept), squares, *ends, n_infinite)

    def merge(self, other: Moments) -> Moments:
        """Both together.

        Source: Chan, Golub and LeVeque 1983. Merging with nothing changes nothing, and equal values keep exactly their
        mean and no spread.
        """
        n_infinite = self.n_infinite + other.n_infinite
        if not (self.count and other.count):
            some = self if self.count else other
            return Moments(some.count, some.mean, some.m2, some.least, some.largest, n_infinite)
        count = self.count + other.count
        apart = other.mean - self.mean
        least, largest = min(self.least, other.least), max(self.largest, other.largest)
        # rounding may step over an end: three times 0.1 would then not be 0.1
        centre = min(max(self.mean + apart * (other.count / count), least), largest)
        m2 = self.m2 + other.m2 + apart * apart * (self.count * other.count / count)
        return Moments(count, centre, m2, least, largest, n_infinite)

    @property
    def total(self) -> float:
        """The sum of the finite values, 0 of none."""
        return self.mean * self.count if self.count else 0.0

    @property
    def constant(self) -> bool:
        """Whether there are values, and all are the same."""
        return self.least == self.largest and self.n_infinite == 0

    def average(self) -> float:
        """The mean; +inf where a value is.

        Raises:
            Undefined: "no rows".
        """
        if self.n_infinite:
            return math.inf
        if not self.count:
            raise Undefined("no rows")
        return self.mean

    def sd(self) -> float:
        """The sample standard deviation, ddof 1.

        Raises:
            Undefined: "n < 2", "infinite value" or "non-finite result".
        """
        if self.n_infinite:
            raise Undefined("infinite value")
        if self.count < 2:
            raise Undefined("n < 2")
        return finite(math.sqrt(self.m2 / (self.count - 1)))

    def root_mean_square(self) -> float:
        """sqrt(mean x^2).

        Raises:
            Undefined: "no rows", "infinite value" or "non-finite result".
        """
        centre = finite(self.average(), "infinite value")
        return finite(math.hypot(centre, math.sqrt(self.m2 / self.count)))


@dataclass(frozen=True)
class CrossMoments:
    """The moments of two paired columns of finite values, and the sum of the products of their deviations."""

    x: Moments = Moments()
    y: Moments = Moments()
    cross: float = 0.0

    @classmethod
    def of(cls, xs: ArrayLike, ys: ArrayLike) -> CrossMoments:
        """The moments of the pairs of `xs` (N,) and `ys` (N,), none of them included.

        Raises:
            Undefined: "non-finite value".
            ValueError: unequal lengths, or not one-dimensional.
        """
        column_x, column_y = (floats(values) for values in (xs, ys))
        if column_x.shape != column_y.shape:
            raise ValueError(f"{column_x.size} values beside {column_y.size}; give pairs")
        if not column_x.size:
            return cls()
        x, y = finite_column(column_x), finite_column(column_y)
        with np.errstate(over="ignore"):
            cross = float(np.dot(centred(x), centred(y)))
        return cls(Moments.of(x), Moments.of(y), cross)

    def merge(self, other: CrossMoments) -> CrossMoments:
        """Both together, as `Moments.merge`."""
        cross, counts = self.cross + other.cross, (self.x.count, other.x.count)
        if all(counts):
            apart = (other.x.mean - self.x.mean) * (other.y.mean - self.y.mean)
            cross += apart * (counts[0] * counts[1] / sum(counts))
        return CrossMoments(self.x.merge(other.x), self.y.merge(other.y), cross)

    def correlation(self) -> float:
        """Pearson's r.

        Raises:
            Undefined: "n < 2", "zero variance" of either column, or "non-finite result".
        """
        if self.x.count < 2:
            raise Undefined("n < 2")
        scale = finite(math.sqrt(self.x.m2) * math.sqrt(self.y.m2))
        if self.x.constant or self.y.constant or scale == 0:
            raise Undefined("zero variance")
        return min(max(self.cross / scale, -1.0), 1.0)
