"""Cohen's kappa of the annotators, over the characters of texts that they transcribed or the labels that they gave."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evalflow.metric.annotators import labels, pairings
from evalflow.metric.corpus import Corpus
from evalflow.metric.protocol import Answer, Clusters, Stack
from evalflow.metric.sums import bootstrap_of_sums
from evalflow.numeric.interval import Interval
from evalflow.numeric.kappa import Weights, kappa_of_counts, kappa_of_marginals, marginals, pair_counts
from evalflow.numeric.labels import label_set
from evalflow.numeric.moments import mean
from evalflow.numeric.text_profile import NFC, TextProfile

Paired = tuple[list[str], list[str]]
"""The labels that two annotators gave to what faces each other."""


@dataclass(frozen=True)
class Kappa(Corpus):
    """How far two annotators agree beyond chance: on the units of aligned texts, or on one label per item.

    Of several annotators it is the mean over every two of them (Light 1971). What only one of two has in a text faces
    nothing and is in no pair: `AlignmentCoverage` says how much that is. With `weights` labels (unit `label`) are
    apart by their places in `order`. Its interval is a bootstrap over documents, or over their clusters.
    """

    figure: ClassVar[str | None] = "agreement/kappa"
    empty: ClassVar[str] = "no item was read by two annotators"
    unit: Literal["grapheme", "codepoint", "label"] = "grapheme"
    profile: TextProfile = NFC
    weights: Weights = "none"
    order: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        labels("", self.unit, self.profile)
        if self.unit != "label" and (self.weights != "none" or self.order is not None):
            raise ValueError(f"unit is {self.unit!r}, and characters have no order; drop weights and order")
        if self.weights != "none" and self.order is None:
            raise ValueError(f"weights {self.weights!r} need the labels' order; give order, as [poor, fair, good]")

    def stack(self, units: Sequence[Answer]) -> Stack:
        """How many pairs of annotators there are, then each pair's counts; NaN for items that fewer than two read."""
        found = [self._by_pair(unit) for unit in units]
        names = sorted({pair for by_pair in found for pair in by_pair})
        known = label_set(
            [label for by_pair in found for pair in by_pair.values() for label in _both(pair)], self.order
        )
        count = marginals if self.weights == "none" else pair_counts
        width = count([], [], known).size
        stack = np.full((len(units), 1 + len(names) * width), np.nan)
        for row, by_pair in zip(stack, found, strict=True):
            if by_pair:
                counts = [count(*by_pair.get(pair, ([], [])), known).ravel() for pair in names]
                row[:] = np.concatenate([[len(names)], *counts])
        return stack

    def value(self, stack: Stack) -> float:
        """The mean of the pairs' kappas.

        Raises:
            Undefined: "no pairs", or "chance agreement is 1", of one pair.
        """
        return self._of_sums(int(stack[0, 0]), stack[:, 1:].sum(axis=0))

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `bootstrap_of_sums`."""
        n_pairs = int(stack[0, 0])
        return bootstrap_of_sums(stack[:, 1:], clusters, lambda sums: self._of_sums(n_pairs, sums), level)

    def _by_pair(self, unit: Answer) -> dict[tuple[str, str], Paired]:
        return {names: alignment.paired() for names, alignment in pairings(unit.item, self.unit, self.profile)}

    def _of_sums(self, n_pairs: int, sums: NDArray[np.float64]) -> float:
        return mean([self._kappa(counts) for counts in np.split(sums, n_pairs)])

    def _kappa(self, counts: NDArray[np.float64]) -> float:
        if self.weights == "none":
            return kappa_of_marginals(counts)
        side = round(counts.size**0.5)
        return kappa_of_counts(counts.reshape(side, side), self.weights)


def _both(pair: Paired) -> list[Hashable]:
    return [*pair[0], *pair[1]]
