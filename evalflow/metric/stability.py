"""How much the answers to one question vary from run to run: over the seeds of an arm."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalflow.metric.annotators import known_unit
from evalflow.metric.protocol import Clusters, Grain, Metric, Reading, Repeats, Stack
from evalflow.metric.rate import Rate
from evalflow.numeric.error_rate import text_edits
from evalflow.numeric.interval import Interval
from evalflow.numeric.moments import mean, sample_sd
from evalflow.numeric.ratio import ratio
from evalflow.numeric.run_stability import RunStability, run_stability
from evalflow.numeric.text_profile import NFC, TextProfile
from evalflow.numeric.undefined import Undefined, finite
from evalflow.numeric.units import Unit


@dataclass(frozen=True)
class _OverRuns(Metric):
    """A figure of an item's answers under all seeds, which have to be there; its mean over items."""

    grain: ClassVar[Grain] = "item"
    higher_is_better: ClassVar[bool] = False
    profile: TextProfile = NFC

    @abstractmethod
    def of_runs(self, runs: RunStability) -> tuple[float, ...]:
        """The statistics of one item's answers, two at least."""

    def runs(self, texts: Sequence[str]) -> RunStability:
        """The answers side by side."""
        return run_stability(texts, profile=self.profile)

    def stats(self, unit: Repeats) -> tuple[float, ...] | None:
        """Those of its answers; none of a single one, and None where a seed's is not there."""
        texts = _texts(unit)
        if texts is None:
            return None
        return self.of_runs(self.runs(texts)) if len(texts) > 1 else ()

    def value(self, stack: Stack) -> float:
        """The mean over items.

        Raises:
            Undefined: "one seed".
        """
        _check_seeds(stack)
        return super().value(stack)


@dataclass(frozen=True)
class PairwiseDisagreement(_OverRuns):
    """How far two seeds' answers to a question are apart: 1 less the share of words in common (Jaccard 1901).

    The figure is the mean over pairs, then over items; `/max` is the largest of any pair of any item. Order and counts
    of words do not matter to it: `pairwise_cer` sees those.
    """

    figure: ClassVar[str | None] = "stability/pairwise_disagreement"

    def of_runs(self, runs: RunStability) -> tuple[float, ...]:
        """`(mean, max)` over pairs."""
        return runs.disagreement_mean, runs.disagreement_max

    def readings(self) -> Mapping[str, Reading]:
        """The mean, and the maximum."""
        return {"": self, "max": LargestPair()}


class LargestPair:
    """The largest second statistic."""

    def value(self, stack: Stack) -> float:
        """The largest of any item.

        Raises:
            Undefined: "one seed".
        """
        _check_seeds(stack)
        return float(stack[:, 1].max())

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None: a maximum has none."""
        return None


@dataclass(frozen=True)
class IdenticalPairs(_OverRuns, Rate):
    """The share of pairs of seeds whose answers to one question are the same text, after `profile`; over items."""

    figure: ClassVar[str | None] = "stability/identical_pairs"
    higher_is_better: ClassVar[bool] = True

    def of_runs(self, runs: RunStability) -> tuple[float, ...]:
        """`(share of pairs,)`."""
        return (runs.identical_pair_rate,)


@dataclass(frozen=True)
class DistinctOutputs(_OverRuns):
    """How many different answers a question got over all seeds, on average over items; 1 where nothing varies."""

    figure: ClassVar[str | None] = "stability/distinct_outputs"
    measured_in: ClassVar[str] = "answers"

    def of_runs(self, runs: RunStability) -> tuple[float, ...]:
        """`(answers,)`."""
        return (float(runs.n_distinct),)


@dataclass(frozen=True)
class PairwiseErrorRate(_OverRuns):
    """The error rate between two answers to one question, over pairs of seeds and then over items: 0 to 2.

    Each of two is taken once as the other's reference, so that it sees order and counts, which Jaccard does not.
    """

    figure: ClassVar[str | None] = "stability/pairwise_cer"
    measured_in: ClassVar[str] = "edits/unit"
    unit: Unit = "grapheme"

    def __post_init__(self) -> None:
        known_unit(self.unit)

    def runs(self, texts: Sequence[str]) -> RunStability:
        """The answers side by side, in the metric's own unit."""
        return run_stability(texts, unit=self.unit, profile=self.profile)

    def of_runs(self, runs: RunStability) -> tuple[float, ...]:
        """`(rate,)`."""
        return (runs.pairwise_error_rate,)


@dataclass(frozen=True)
class RunErrorRate(Metric):
    """Each seed's error rate over all items against their targets: the mean over seeds, their `/sd` and `/cv`.

    A rate is the sum of edits over the sum of the targets' units. The sd has ddof 1; the cv is the sd over the mean.
    Both are undefined as `saturated` where no seed made an error, for then no spread can show.
    """

    grain: ClassVar[Grain] = "item"
    figure: ClassVar[str | None] = "stability/run_cer"
    measured_in: ClassVar[str] = "edits/unit"
    higher_is_better: ClassVar[bool] = False
    needs_target: ClassVar[bool] = True
    unit: Unit = "grapheme"
    profile: TextProfile = NFC

    def __post_init__(self) -> None:
        known_unit(self.unit)

    def stats(self, unit: Repeats) -> tuple[float, ...] | None:
        """The target's units, then each seed's edits; None where a seed's answer is not there."""
        texts, target = _texts(unit), unit.item.target
        if texts is None or target is None:
            return None
        found = [text_edits(target, text, self.unit, self.profile) for text in texts]
        return (float(found[0].ref_length), *(float(edits.total) for edits in found))

    def value(self, stack: Stack) -> float:
        """The mean of the seeds' rates."""
        return mean(_rates(stack))

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None: a handful of seeds has no interval worth printing."""
        return None

    def readings(self) -> Mapping[str, Reading]:
        """The mean, the standard deviation and the coefficient of variation."""
        return {"": self, "sd": RunSpread(relative=False), "cv": RunSpread(relative=True)}


@dataclass(frozen=True)
class RunSpread:
    """The spread of the seeds' rates, by itself or `relative` to their mean."""

    relative: bool

    def value(self, stack: Stack) -> float:
        """The spread.

        Raises:
            Undefined: "one seed", or "saturated".
        """
        rates = _rates(stack)
        if len(rates) < 2:
            raise Undefined("one seed")
        if not any(rates):
            raise Undefined("saturated")
        return finite(sample_sd(rates) / (mean(rates) if self.relative else 1.0))

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None, as of the mean."""
        return None


def _texts(unit: Repeats) -> list[str] | None:
    """The answers, seed by seed; None where one is not there."""
    texts = [None if row is None else row.draft for row in unit.rows]
    return None if None in texts else [text for text in texts if text is not None]


def _check_seeds(stack: Stack) -> None:
    if not stack.shape[1]:
        raise Undefined("one seed")


def _rates(stack: Stack) -> list[float]:
    """Each seed's rate over all items."""
    return [ratio(edits, stack[:, 0]) for edits in np.transpose(stack[:, 1:])]
