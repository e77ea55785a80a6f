"""How far apart two labels are, squared, by their level of measurement (Krippendorff 2019, chapter 12).

A distance is asked for the disagreement inside each unit and for that of all ratings with one another; most levels have
shortcuts to both that never look at pairs of labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.labels import LabelSet
from evalflow.numeric.ratings import Ratings
from evalflow.numeric.undefined import Undefined

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Floats = NDArray[np.float64]
_CELLS_AT_ONCE = 1 << 20


class Distance(Protocol):
    """Squared distances d between V labels."""

    def within_n(self, ratings: Ratings) -> Floats:
        """Per unit (N,): the sum of d over all ordered pairs of its ratings, by one less than their number."""
        ...

    def among(self, totals_v: NDArray[np.int64]) -> float:
        """The sum of d over all ordered pairs of ratings, of which `totals_v` (V,) carry each label."""
        ...


def distance_of(level: Level | ArrayLike, labels: LabelSet, totals_v: NDArray[np.int64]) -> Distance:
    """The distance of a level, or of a matrix (V, V) of squared distances in the labels' order.

    - nominal: 1 between different labels.
    - ordinal: between midranks, which depend on how often each label was given (`totals_v`).
    - interval: x - y. Ratio: (x - y) / (x + y), and 0 between zeros.

    Raises:
        ValueError: labels without an order, or that are no finite numbers, or below 0, where the level needs it;
            no such level; a matrix that is no distance between these labels.
        Undefined: "non-finite result", where a label is beyond a float.
    """
    if not isinstance(level, str):
        return _Pairwise(_checked(level, labels))
    match level:
        case "nominal":
            return _Nominal()
        case "ordinal":
            if not labels.ordered:
                raise ValueError("an ordinal alpha needs the labels' order; state it, or rate by numbers")
            return _Spread(midranks(totals_v))
        case "interval":
            return _Spread(_numbers(level, labels))
        case "ratio":
            numbers_v = _numbers(level, labels)
            if (numbers_v < 0).any():
                raise ValueError(f"a ratio alpha needs numbers from 0 up; label {numbers_v.min():g} is below")
            return _Pairwise(_relative(numbers_v))
    raise ValueError(f"level is {level!r}; choose {', '.join(get_args(Level))} or give a matrix")


def midranks(totals_v: NDArray[np.int64]) -> Floats:
    """Where each label's ratings lie on average (V,), of all ratings put in the labels' order.

    The ordinal distance, all ratings from one label to another less half of those of both, is the difference of two.
    """
    return np.asarray(np.cumsum(totals_v) - totals_v / 2)


@dataclass(frozen=True)
class _Nominal:
    """Of c ratings alike among m, each differs from m - c others."""

    def within_n(self, ratings: Ratings) -> Floats:
        differing_e = ratings.count_e * (ratings.n_ratings_n[ratings.unit_e] - ratings.count_e)
        return _per_unit(ratings, ratings.unit_e, differing_e) / _one_less(ratings)

    def among(self, totals_v: NDArray[np.int64]) -> float:
        return float(totals_v.sum() ** 2 - (totals_v**2).sum())


@dataclass(frozen=True)
class _Spread:
    """Differences of positions (V,): over all ordered pairs of m they sum up to 2 m times the squares about the mean.

    Positions are taken from one of those at hand, so that ratings that are all alike differ by exactly 0.
    """

    position_v: Floats

    def within_n(self, ratings: Ratings) -> Floats:
        unit_e, count_e, m_n = ratings.unit_e, ratings.count_e, ratings.n_ratings_n
        x_e = self.position_v[ratings.label_e]
        first_e = np.flatnonzero(np.diff(unit_e, prepend=-1))
        with np.errstate(over="ignore", invalid="ignore"):
            x_e = x_e - np.repeat(x_e[first_e], np.diff(first_e, append=unit_e.size))
            mean_n = _per_unit(ratings, unit_e, count_e * x_e) / np.maximum(m_n, 1)
            squares_n = _per_unit(ratings, unit_e, count_e * (x_e - mean_n[unit_e]) ** 2)
            return 2 * m_n * squares_n / _one_less(ratings)

    def among(self, totals_v: NDArray[np.int64]) -> float:
        given = np.flatnonzero(totals_v)
        with np.errstate(over="ignore", invalid="ignore"):
            x_v = self.position_v[given] - self.position_v[given[0]]
            n = int(totals_v.sum())
            x_v = x_v - (totals_v[given] * x_v).sum() / n
            return float(2 * n * (totals_v[given] * x_v**2).sum())


@dataclass(frozen=True)
class _Pairwise:
    """Any distance, given as a function of two arrays of places: pairs of labels are looked at one by one."""

    squared: Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]

    def within_n(self, ratings: Ratings) -> Floats:
        unit_e, label_e, count_e = ratings.unit_e, ratings.label_e, ratings.count_e
        sums_n = np.zeros(ratings.n_ratings_n.size)
        for left, right in ratings.distinct_pairs():
            apart = count_e[left] * count_e[right] * self.squared(label_e[left], label_e[right])
            sums_n += _per_unit(ratings, unit_e[left], 2 * apart)
        return sums_n / _one_less(ratings)

    def among(self, totals_v: NDArray[np.int64]) -> float:
        given = np.flatnonzero(totals_v)
        weights = totals_v[given].astype(np.float64)
        rows = max(1, _CELLS_AT_ONCE // max(1, given.size))
        return float(
            sum(
                weights[at : at + rows] @ (self.squared(given[at : at + rows, np.newaxis], given) @ weights)
                for at in range(0, given.size, rows)
            )
        )


def _per_unit(ratings: Ratings, unit: NDArray[np.int64], weights: NDArray[np.generic]) -> Floats:
    """Sums of `weights` by unit, (N,)."""
    return np.asarray(np.bincount(unit, weights=weights, minlength=ratings.n_ratings_n.size), dtype=np.float64)


def _one_less(ratings: Ratings) -> NDArray[np.int64]:
    """m - 1 per unit (N,); 1 for units that are left out, whose sums are 0."""
    return np.maximum(ratings.n_ratings_n - 1, 1)


def _numbers(level: str, labels: LabelSet) -> Floats:
    """The labels as numbers (V,)."""
    names: tuple[Any, ...] = labels.names
    for name in names:
        if isinstance(name, bool) or not isinstance(name, Real):
            raise ValueError(f"an alpha of level {level} needs numbers; label {name!r} is none")
    try:
        numbers_v = np.array([float(name) for name in names], dtype=np.float64)
    except OverflowError:
        raise Undefined("non-finite result") from None
    if not np.isfinite(numbers_v).all():
        raise ValueError(f"an alpha of level {level} needs finite numbers; a label is infinite")
    return numbers_v


def _relative(numbers_v: Floats) -> Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]:
    """((x - y) / (x + y))^2 as a function of places, 0 between zeros."""
    largest = numbers_v.max(initial=0.0)
    scaled_v = numbers_v / 2 if largest > np.finfo(float).max / 2 else numbers_v  # so that no sum overflows

    def squared(left: NDArray[np.int64], right: NDArray[np.int64]) -> Floats:
        x, y = scaled_v[left], scaled_v[right]
        both = x + y
        relative: Floats = (x - y) / np.where(both > 0, both, 1.0)
        return relative**2

    return squared


def _checked(matrix: ArrayLike, labels: LabelSet) -> Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]:
    """A matrix of squared distances as a function of places."""
    squared_vv = np.asarray(matrix, dtype=np.float64)
    n_labels = len(labels.names)
    if not labels.ordered:
        raise ValueError("a matrix of distances needs the labels' order; state it")
    if squared_vv.shape != (n_labels, n_labels):
        raise ValueError(f"distances have shape {squared_vv.shape}; give {n_labels} by {n_labels}, a row per label")
    if not (np.isfinite(squared_vv).all() and (squared_vv >= 0).all() and (squared_vv == squared_vv.T).all()):
        raise ValueError("distances are not symmetric, or not finite and 0 or more; give squared distances")
    if squared_vv.diagonal().any():
        raise ValueError("a label is at a distance from itself; put 0 on the diagonal")
    return lambda left, right: np.asarray(squared_vv[left, right])
