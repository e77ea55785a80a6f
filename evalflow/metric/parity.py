"""Two arms over the same tokens: how far the candidate's expectations are from the reference's.

All of a lockstep walk's figures; definitions are `numeric.logits`'. Excluded positions are those where an arm had no
finite row, and no gate reads a figure that lost one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar

import numpy as np

from evalflow.metric.document import Deviation, DocumentMetric, NaiveT, Place, RootMeanSquare, Values, column
from evalflow.metric.perplexity import exp, exponential
from evalflow.metric.protocol import Answer, Clusters, Reading, Stack
from evalflow.numeric.interval import Interval
from evalflow.numeric.mergeable import CrossMoments, Moments
from evalflow.numeric.ratio import share_interval


class ParityMetric(DocumentMetric):
    """A figure of an arm that was walked in lockstep with a reference."""

    lockstep: ClassVar[bool] = True
    measured_in: ClassVar[str] = "nats"

    def badness(self, unit: Answer) -> Values | None:
        """Where the two distributions lie furthest apart."""
        return column(unit, "kl")


@dataclass(frozen=True)
class NllDifference(ParityMetric):
    """The mean of the candidate's NLL less the reference's, position by position."""

    figure: ClassVar[str | None] = "parity/dnll_nats"

    def values(self, unit: Answer) -> Values | None:
        """Candidate minus reference."""
        return nll_difference(unit)

    def badness(self, unit: Answer) -> Values | None:
        """Where the candidate is furthest from the reference on the text's own token."""
        values = self.values(unit)
        return None if values is None else np.abs(values)

    def readings(self) -> Mapping[str, Reading]:
        """The mean, the spread over positions, and the t that other tools print."""
        return {"": self, "sd": Deviation(), "naive_t": NaiveT()}


@dataclass(frozen=True)
class PerplexityRatio(NllDifference):
    """The candidate's perplexity over the reference's: exp of the mean NLL difference."""

    figure: ClassVar[str | None] = "parity/ppl_ratio"
    measured_in: ClassVar[str] = ""

    def readings(self) -> Mapping[str, Reading]:
        """The ratio alone."""
        return {"": self}

    def value(self, stack: Stack) -> float:
        """The exponential of the mean.

        Raises:
            Undefined: it is beyond a float.
        """
        return exp(super().value(stack))

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """The ends of the mean's interval, as ratios."""
        return exponential(super().interval(stack, clusters, level))


@dataclass(frozen=True)
class ProbabilityDifference(ParityMetric):
    """The candidate's probability of the text's own token less the reference's: the mean, and the root mean square."""

    figure: ClassVar[str | None] = "parity/dp"
    measured_in: ClassVar[str] = ""

    def values(self, unit: Answer) -> Values | None:
        """Candidate minus reference."""
        return column(unit, "dp")

    def readings(self) -> Mapping[str, Reading]:
        """The mean and the root mean square."""
        return {"": self, "rms": RootMeanSquare()}


@dataclass(frozen=True)
class NllCorrelation(ParityMetric):
    """Pearson's correlation of the two arms' NLL over positions."""

    figure: ClassVar[str | None] = "parity/nll_correlation"
    measured_in: ClassVar[str] = ""

    def values(self, unit: Answer) -> Values | None:
        """The candidate's NLL where both are finite."""
        reference, candidate = column(unit, "nll_ref"), column(unit, "nll")
        return None if reference is None or candidate is None else np.where(np.isfinite(reference), candidate, np.nan)

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """As every `DocumentMetric`, then the reference's sum, ends and squared deviations, and the cross product."""
        values, reference = self.values(unit), column(unit, "nll_ref")
        own = super().stats(unit)
        if own is None or values is None or reference is None:
            return None
        known = np.isfinite(values)
        if not known.any():
            return (*own, 0.0, 0.0, 0.0, 0.0, 0.0)
        both = CrossMoments.of(values[known], reference[known])
        return (*own, both.y.total, both.y.least, both.y.largest, both.y.m2, both.cross)

    def value(self, stack: Stack) -> float:
        """See `CrossMoments.correlation`."""
        parts = (
            CrossMoments(Moments(int(n), x / n, xx, x_low, x_high), Moments(int(n), y / n, yy, y_low, y_high), xy)
            for n, _, x, x_low, x_high, xx, y, y_low, y_high, yy, xy in stack.tolist()
            if n
        )
        return reduce(CrossMoments.merge, parts, CrossMoments()).correlation()

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None."""
        return None


@dataclass(frozen=True)
class Kl(ParityMetric):
    """The mean KL divergence of the candidate from the reference, KL(P_ref || P_cand)."""

    figure: ClassVar[str | None] = "parity/kl_nats"

    def values(self, unit: Answer) -> Values | None:
        """The divergence at every position."""
        return column(unit, "kl")


@dataclass(frozen=True)
class Gap(ParityMetric):
    """What the candidate's greedy choices cost under the reference, over all positions."""

    figure: ClassVar[str | None] = "parity/gap_nats"

    def values(self, unit: Answer) -> Values | None:
        """The reference's log-probability of its own choice less that of the candidate's; 0 where they agree."""
        return column(unit, "gap")

    def badness(self, unit: Answer) -> Values | None:
        """The dearest choices."""
        return column(unit, "gap")


@dataclass(frozen=True)
class GapAtDisagreement(Gap):
    """The same, over the positions where the two choose differently."""

    figure: ClassVar[str | None] = "parity/gap_disagree_nats"
    empty: ClassVar[str] = "no disagreement"

    def values(self, unit: Answer) -> Values | None:
        """The gap where they disagree; a position without a finite row may be one."""
        gap, differs = column(unit, "gap"), disagrees(unit)
        return None if gap is None or differs is None else gap[differs | np.isnan(gap)]


@dataclass(frozen=True)
class MarginAtDisagreement(ParityMetric):
    """How much the reference preferred its choice to its second, where the two choose differently: a near tie?"""

    figure: ClassVar[str | None] = "parity/margin_disagree_nats"
    empty: ClassVar[str] = "no disagreement"

    def values(self, unit: Answer) -> Values | None:
        """The top-2 margin under the reference, where they disagree."""
        margin, differs = column(unit, "margin_ref"), disagrees(unit)
        return None if margin is None or differs is None else margin[differs | np.isnan(margin)]

    def badness(self, unit: Answer) -> Values | None:
        """The widest margins that were crossed."""
        margin, differs = column(unit, "margin_ref"), disagrees(unit)
        return None if margin is None or differs is None else np.where(differs | np.isnan(margin), margin, 0.0)


@dataclass(frozen=True)
class DisagreeRate(ParityMetric):
    """The share of positions where the two arms' likeliest tokens differ (of equals the lowest counts)."""

    figure: ClassVar[str | None] = "parity/disagree_rate"
    measured_in: ClassVar[str] = "share"

    def values(self, unit: Answer) -> Values | None:
        """1 where they differ."""
        gap, differs = column(unit, "gap"), disagrees(unit)
        return None if gap is None or differs is None else np.where(np.isnan(gap), np.nan, differs)

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """Wilson's; see `share_interval`."""
        return share_interval(stack[:, 2], stack[:, 0], clusters, level)

    def badness(self, unit: Answer) -> Values | None:
        """The dearest disagreements."""
        return column(unit, "gap")


@dataclass(frozen=True)
class NonFinite(DocumentMetric):
    """How many positions have no finite row in one of the arms: NaN, +inf, or nothing but -inf."""

    figure: ClassVar[str | None] = "parity/nonfinite"
    measured_in: ClassVar[str] = "positions"

    def values(self, unit: Answer) -> Values | None:
        """1 where there is none."""
        nll, reference, kl = (column(unit, name) for name in ("nll", "nll_ref", "kl"))
        if nll is None:
            return None
        lost = ~np.isfinite(nll)
        if reference is not None:  # beside logits, NaN is an NLL that a file does not know, of a row that is one
            lost |= ~np.isfinite(reference) if kl is None else np.isinf(reference) | ~np.isfinite(kl)
        return lost.astype(np.float64)

    def value(self, stack: Stack) -> float:
        """Their number."""
        return float(stack[:, 2].sum())

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None: it is a count."""
        return None

    def badness(self, unit: Answer) -> Values | None:
        """Each of them."""
        return self.values(unit)


@dataclass(frozen=True)
class LogitError(ParityMetric):
    """The largest difference between two logits of one token anywhere."""

    figure: ClassVar[str | None] = "parity/logit_error/max"
    measured_in: ClassVar[str] = "logits"

    def values(self, unit: Answer) -> Values | None:
        """The largest over the vocabulary at every position."""
        return column(unit, "max_abs")

    def value(self, stack: Stack) -> float:
        """The largest of all."""
        return abs(float(stack[:, 4].max()))

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None: a maximum has none."""
        return None

    def badness(self, unit: Answer) -> Values | None:
        """Where it is largest."""
        return column(unit, "max_abs")


@dataclass(frozen=True)
class FreeRun(DocumentMetric):
    """The share of tokens, written greedily by each arm on its own, before the first that differs."""

    figure: ClassVar[str | None] = "parity/free_run_shared"
    measured_in: ClassVar[str] = "share"
    lockstep: ClassVar[bool] = True
    higher_is_better: ClassVar[bool] = True

    def values(self, unit: Answer) -> Values | None:
        """One number for the text; None where nothing was written."""
        columns = unit.row.columns
        shared = None if columns is None else columns.facts.get("free_run_shared")
        return None if shared is None else np.array([shared])

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """As of any mean, within what a share can be."""
        found = super().interval(stack, clusters, level)
        return None if found is None else replace(found, low=max(0.0, found.low), high=min(1.0, found.high))

    def places(self, unit: Answer) -> Sequence[Place]:
        """The token, counted from the text's first on into what was written, at which the two part."""
        facts = {} if unit.row.columns is None else unit.row.columns.facts
        parted, shared = facts.get("free_run_parted"), facts.get("free_run_shared")
        if parted is None or shared is None:
            return ()
        return [Place(int(parted), 1 - shared, "what each wrote on its own parts here")]


def nll_difference(unit: Answer) -> Values | None:
    """The candidate's NLL less the reference's (P,), NaN where both are infinite; None where one of them has none."""
    reference, candidate = column(unit, "nll_ref"), column(unit, "nll")
    if reference is None or candidate is None:
        return None
    with np.errstate(invalid="ignore"):
        return candidate - reference


def disagrees(unit: Answer) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """Where (P,) the two arms' likeliest tokens differ."""
    reference, candidate = column(unit, "argmax_ref"), column(unit, "argmax")
    return None if reference is None or candidate is None else reference != candidate
