"""Krippendorff's alpha of any number of annotators, over characters of aligned texts or over labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evalflow.metric.annotators import labels, read_by
from evalflow.metric.corpus import Corpus
from evalflow.metric.protocol import Answer, Clusters, Stack
from evalflow.metric.sums import bootstrap_of_sums
from evalflow.numeric.alpha import alpha_of_sums, alpha_sums
from evalflow.numeric.interval import Interval
from evalflow.numeric.label_distance import Level
from evalflow.numeric.labels import LabelSet
from evalflow.numeric.multiple_alignment import columns
from evalflow.numeric.ratings import ratings_of
from evalflow.numeric.text_profile import NFC, TextProfile
from evalflow.record import Item

_NUMBERS = ("interval", "ratio")
"""Levels at which a label is a number."""


@dataclass(frozen=True)
class KrippendorffAlpha(Corpus):
    """How far all annotators agree beyond chance; those who read only some of the items count where they did.

    Texts are aligned (`numeric.multiple_alignment`), and what an annotator lacks at a place is a missing rating there.
    `level` is how labels (unit `label`) differ: as names, by their places in `order`, or as numbers. Its interval is a
    bootstrap over documents, or over their clusters.
    """

    figure: ClassVar[str | None] = "agreement/alpha"
    empty: ClassVar[str] = "no item was read by two annotators"
    unit: Literal["grapheme", "codepoint", "label"] = "grapheme"
    profile: TextProfile = NFC
    level: Level = "nominal"
    order: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        labels("", self.unit, self.profile)
        if self.unit != "label" and (self.level != "nominal" or self.order is not None):
            raise ValueError(f"unit is {self.unit!r}, and characters are names; give level nominal and no order")
        if self.level == "ordinal" and self.order is None:
            raise ValueError("level 'ordinal' needs the labels' order; give order, as [poor, fair, good]")
        if self.level in _NUMBERS and self.order is not None:
            raise ValueError(f"order is given, and at level {self.level} labels are numbers; drop it")

    def stack(self, units: Sequence[Answer]) -> Stack:
        """What each item adds to alpha (`numeric.alpha.alpha_sums`); at levels of numbers, then those, in every row.

        Items of which no place was read by two are NaN.

        Raises:
            ValueError: a label that is no number where numbers are asked for, or that is not in `order`.
        """
        found = [self._ratings(unit.item) for unit in units]
        documents = [place for place, ratings in enumerate(found) for _ in ratings]
        if not documents:
            return np.full((len(units), 1), np.nan)
        ratings = ratings_of([rating for ratings in found for rating in ratings], self.order)
        _, sums = alpha_sums(ratings, documents, self.level)
        numbers = ratings.labels.names if self.level in _NUMBERS else ()
        stack = np.full((len(units), sums.shape[1] + len(numbers)), np.nan)
        rated = list(dict.fromkeys(documents))  # in the order of the sums
        stack[rated, : sums.shape[1]] = sums
        stack[rated, sums.shape[1] :] = numbers
        return stack

    def value(self, stack: Stack) -> float:
        """Alpha.

        Raises:
            Undefined: "no pairs", or "expected disagreement is 0".
        """
        given, width = self._labels(stack)
        return alpha_of_sums(stack[:, :width].sum(axis=0), given, self.level).value

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `bootstrap_of_sums`."""
        given, width = self._labels(stack)

        def figure(sums: NDArray[np.float64]) -> float:
            return alpha_of_sums(sums, given, self.level).value

        return bootstrap_of_sums(stack[:, :width], clusters, figure, level)

    def _ratings(self, item: Item) -> list[list[Hashable | None]]:
        """Every place of an item that at least two read, as each annotator's rating of it."""
        read = [None if text is None else labels(text, self.unit, self.profile) for text in read_by(item).values()]
        pairable = (column for column in columns(read) if sum(label is not None for label in column) > 1)
        return [[None if label is None else self._label(label, item) for label in column] for column in pairable]

    def _label(self, label: str, item: Item) -> Hashable:
        if self.level not in _NUMBERS:
            return label
        try:
            return float(label)
        except ValueError:
            raise ValueError(
                f"label {label!r:.60} of item {item.id!r} is no number, as level {self.level} needs"
            ) from None

    def _labels(self, stack: Stack) -> tuple[LabelSet, int]:
        """The labels that a stack's sums are of, names aside, and how many columns those sums have."""
        n_columns = stack.shape[1]
        if self.level in _NUMBERS:
            width = (n_columns + 1) // 2
            return LabelSet(tuple(stack[0, width:].tolist()), ordered=True), width
        n_labels = round(n_columns**0.5) if self.level == "ordinal" else n_columns - 1
        return LabelSet(tuple(range(n_labels)), ordered=self.level == "ordinal"), n_columns
