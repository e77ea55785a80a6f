"""Ratings of units by any number of raters: how often each unit got each label."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.labels import LabelSet, label_set


@dataclass(frozen=True)
class Ratings:
    """The ratings of N units that can be compared, counted. A unit with fewer than two ratings counts nowhere.

    There are E counts, sorted by unit: `unit_e`, `label_e` and `count_e` (E,) say that this unit got this label
    so often. `n_ratings_n` (N,) is the number of ratings of each unit, 0 for those left out.
    """

    labels: LabelSet
    unit_e: NDArray[np.int64]
    label_e: NDArray[np.int64]
    count_e: NDArray[np.int64]
    n_ratings_n: NDArray[np.int64]

    @property
    def totals_v(self) -> NDArray[np.int64]:
        """How often each label was given (V,)."""
        totals = np.zeros(len(self.labels.names), dtype=np.int64)
        np.add.at(totals, self.label_e, self.count_e)
        return totals

    @property
    def n_units(self) -> int:
        """How many units count."""
        return int(np.count_nonzero(self.n_ratings_n))

    def distinct_pairs(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Every two different labels of one unit, once, as places in E: arrays (left, right), a batch at a time."""
        left, lag = np.arange(self.unit_e.size), 1
        while True:  # each entry with the one `lag` places on, as long as that is of the same unit
            left = left[left + lag < self.unit_e.size]
            left = left[self.unit_e[left] == self.unit_e[left + lag]]
            if not left.size:
                return
            yield left, left + lag
            lag += 1


def ratings_of(units: Iterable[Sequence[Hashable | None]], order: Sequence[Hashable] | None = None) -> Ratings:
    """Ratings from a list per unit of the labels that it got; None is a rating that is missing, and nothing else is.

    Raises:
        ValueError: labels that are none (`label_set`), or a label outside `order`.
        TypeError: a unit that is no list of ratings.
    """
    rows = list(units)
    if any(isinstance(row, str) or not isinstance(row, Sequence) for row in rows):
        raise TypeError("a unit is no list; give each unit the list of its ratings, None where one is missing")
    unit_r = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    every = list(chain.from_iterable(rows))
    given = [label for label in every if label is not None]
    if len(given) < len(every):
        unit_r = unit_r[np.fromiter((label is not None for label in every), dtype=bool, count=len(every))]
    labels = label_set(given, order)
    return _counted(unit_r, labels.codes(given), len(rows), labels)


def ratings_of_codes(codes: ArrayLike, labels: LabelSet) -> Ratings:
    """Ratings from codes (N, R), a row per unit and a column per rater: places in `labels`, -1 where one is missing.

    Raises:
        ValueError: not two-dimensional, or a code that is no place in `labels`.
    """
    codes_nr = np.asarray(codes, dtype=np.int64)
    if codes_nr.ndim != 2:
        raise ValueError(f"codes have shape {codes_nr.shape}; give units by raters")
    if codes_nr.size and not -1 <= codes_nr.min() <= codes_nr.max() < len(labels.names):
        raise ValueError(f"a code is outside -1..{len(labels.names) - 1}; give places of labels, -1 for missing")
    unit_r, rater_r = np.nonzero(codes_nr >= 0)
    return _counted(unit_r, codes_nr[unit_r, rater_r], len(codes_nr), labels)


def _counted(unit_r: NDArray[np.int64], code_r: NDArray[np.int64], n_units: int, labels: LabelSet) -> Ratings:
    """The ratings of units that have at least two, counted by unit and label."""
    n_ratings_n = np.bincount(unit_r, minlength=n_units)
    n_ratings_n[n_ratings_n < 2] = 0
    kept_r = n_ratings_n[unit_r] > 0
    keys, counts = np.unique(unit_r[kept_r] * len(labels.names) + code_r[kept_r], return_counts=True)
    unit_e, label_e = np.divmod(keys, max(1, len(labels.names)))
    return Ratings(labels, unit_e, label_e, counts.astype(np.int64, copy=False), n_ratings_n)
