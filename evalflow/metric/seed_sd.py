"""How far a score moves from seed to seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalflow.metric.protocol import Clusters, Grain, Metric, Repeats, Stack
from evalflow.numeric.interval import Interval
from evalflow.numeric.moments import sample_sd
from evalflow.numeric.undefined import Undefined


@dataclass(frozen=True)
class SeedSd(Metric):
    """The standard deviation (ddof 1) over seeds of the arm's score under metric `of`.

    Undefined as `saturated` when every answer under every seed is right: then no spread can show. A spread of 0 with
    answers wrong is a real 0, and means that the seed had no effect.
    """

    grain: ClassVar[Grain] = "item"
    figure: ClassVar[str | None] = "stability/seed_sd"
    higher_is_better: ClassVar[bool] = False
    of: str

    def stats(self, unit: Repeats) -> tuple[float, ...] | None:
        """One score per seed; None for an item that lacks one of them."""
        scores = [None if row is None else row.stats.get(self.of) for row in unit.rows]
        if any(score is None for score in scores):
            return None
        return tuple(score[0] for score in scores if score is not None)

    def value(self, stack: Stack) -> float:
        """The spread of the column means."""
        if stack.shape[1] < 2:
            raise Undefined("one seed")
        if bool(np.all(stack == 1.0)):
            raise Undefined("saturated")
        return sample_sd(stack.mean(axis=0))

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None: a spread of a handful of seeds has no interval worth printing."""
        return None
