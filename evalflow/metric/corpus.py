"""Metrics that must see all of an arm's answers at once, because what is counted of one depends on the others.

Chance agreement is one: which labels there are is known when every text has been read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from evalflow.metric.protocol import Answer, Grain, Metric, Stack
from evalflow.record import Item, Row


class Corpus(Metric):
    """A figure over all answers together, from statistics that add up over them: an answer is the unit resampled."""

    grain: ClassVar[Grain] = "corpus"
    averages_seeds: ClassVar[bool] = False

    @abstractmethod
    def stack(self, units: Sequence[Answer]) -> Stack:
        """The statistics (N, K) of the answers (N,), in their order; a row with NaN excludes its answer."""

    def concerns(self, item: Item, row: Row | None) -> bool:
        """Whether a planned row (None: it is not there) is one that the figure is of; the others are in no count."""
        return True

    def why_none(self, units: Sequence[Answer]) -> str:
        """Why it has no value where none of these answers, all that it concerns, counts."""
        return self.empty

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """None is kept of a single answer."""
        return None
