"""Two arms over many documents: totals that add up over shards and machines, and the figures that follow from them.

Tokens of one document depend on one another, so that an interval to gate on goes by documents: the paired t over
positions is what other tools print, and finds differences where there are none.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalflow.numeric.histogram import Distribution
from evalflow.numeric.interval import Interval
from evalflow.numeric.logits import PairedRows
from evalflow.numeric.mergeable import CrossMoments, Moments
from evalflow.numeric.perplexity import exp_mean
from evalflow.numeric.proportion import wilson
from evalflow.numeric.ratio import ratio_interval, share_interval
from evalflow.numeric.undefined import Undefined, finite
from evalflow.numeric.value import Value, told

_ROUNDING = 1e-12  # of an NLL, or of 1 nat where that is more
_NONE, _NO_PAIRS = Moments(), CrossMoments()
_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}


@dataclass(frozen=True)
class Position:
    """A row of a document, and how far apart the arms are there (nats); NaN where the row is none."""

    document: str
    offset: int
    kl: float
    dnll: float


@dataclass(frozen=True)
class DocumentTotals:
    """What is kept of a document's rows. Differences are candidate - reference, in nats."""

    n_nonfinite: int = 0
    """Rows that are none: NaN, +inf, or nothing but -inf in either arm. They are in no other number here."""
    n_disagree: int = 0
    n_infinite_nll: int = 0
    """Rows whose target either arm rules out."""
    nll_ref: Moments = _NONE
    nll_cand: Moments = _NONE
    nll: CrossMoments = _NO_PAIRS
    """Of the rows where both are finite."""
    dnll: Moments = _NONE
    """+inf where the candidate alone rules the target out; where the reference does, there is no difference."""
    kl: Moments = _NONE
    gap: Moments = _NONE
    gap_disagree: Moments = _NONE
    margin_disagree: Moments = _NONE
    """The reference's top-2 margin, where the arms disagree."""
    dp: Moments = _NONE

    @property
    def n(self) -> int:
        """Rows that are rows."""
        return self.kl.count + self.kl.n_infinite

    @classmethod
    def of(cls, rows: PairedRows) -> DocumentTotals:
        """The totals of some of a document's rows."""
        kept = rows[rows.ok]
        differs = kept.argmax_ref != kept.argmax_cand
        known = np.isfinite(kept.nll_ref)
        comparable = known & np.isfinite(kept.nll_cand)
        return cls(
            n_nonfinite=len(rows) - len(kept),
            n_disagree=int(np.count_nonzero(differs)),
            n_infinite_nll=len(kept) - int(np.count_nonzero(comparable)),
            nll_ref=Moments.of(kept.nll_ref),
            nll_cand=Moments.of(kept.nll_cand),
            nll=CrossMoments.of(kept.nll_ref[comparable], kept.nll_cand[comparable]),
            dnll=Moments.of(kept.nll_cand[known] - kept.nll_ref[known]),
            kl=Moments.of(kept.kl),
            gap=Moments.of(kept.gap),
            gap_disagree=Moments.of(kept.gap[differs]),
            margin_disagree=Moments.of(kept.margin[differs]),
            dp=Moments.of(kept.dp),
        )

    def merge(self, other: DocumentTotals) -> DocumentTotals:
        """Both together."""
        pairs = {column.name: (getattr(self, column.name), getattr(other, column.name)) for column in fields(self)}
        return DocumentTotals(**{name: a + b if isinstance(a, int) else a.merge(b) for name, (a, b) in pairs.items()})


class ParityTotals:
    """Totals by document, the spread of KL and |dnll|, and the worst rows. Memory: documents, and a million numbers.

    A whole made of parts says what one pass says, in whatever grouping and order: to the last digit where no document
    is in two parts, else to rounding (1e-12).
    """

    def __init__(self, n_worst: int = 10, most: int = 1_000_000) -> None:
        self.n_worst = n_worst
        self.documents: dict[str, DocumentTotals] = {}
        self.kl = Distribution(most)
        self.dnll_abs = Distribution(most)
        self.worst: list[Position] = []
        """The rows of largest KL, the largest first; of equals the first by document and offset."""
        self.nonfinite: list[Position] = []
        """The first rows that are none, by document and offset."""

    def add(self, document: str, rows: PairedRows, offset: int = 0) -> None:
        """Take in rows of a document, the first of them its row `offset`. None is to come twice."""
        self.documents[document] = self.documents.get(document, DocumentTotals()).merge(DocumentTotals.of(rows))
        with np.errstate(invalid="ignore"):
            dnll = rows.nll_cand - rows.nll_ref
        self.kl.add(rows.kl[rows.ok])
        self.dnll_abs.add(np.abs(dnll[np.isfinite(dnll)]))
        named = partial(_named, document, offset, rows.kl, dnll)
        likely = np.flatnonzero(rows.ok)
        self._keep(named(likely[np.argsort(-rows.kl[likely], kind="stable")][: self.n_worst]))
        self._keep_nonfinite(named(np.flatnonzero(~rows.ok)[: self.n_worst]))

    def merge(self, other: ParityTotals) -> ParityTotals:
        """Both together; neither is changed."""
        both = ParityTotals(min(self.n_worst, other.n_worst))
        both.documents = dict(self.documents)
        for document, totals in other.documents.items():
            both.documents[document] = both.documents.get(document, DocumentTotals()).merge(totals)
        both.kl, both.dnll_abs = self.kl.merge(other.kl), self.dnll_abs.merge(other.dnll_abs)
        both._keep([*self.worst, *other.worst])
        both._keep_nonfinite([*self.nonfinite, *other.nonfinite])
        return both

    def ordered(self) -> list[DocumentTotals]:
        """The documents in the order of their names, whichever they came in."""
        return [self.documents[name] for name in sorted(self.documents)]

    def whole(self) -> DocumentTotals:
        """All documents together."""
        return reduce(DocumentTotals.merge, self.ordered(), DocumentTotals())

    def summary(self, level: float = 0.95) -> ParitySummary:
        """Every figure."""
        return _summary(self, level)

    def _keep(self, positions: Iterable[Position]) -> None:
        self.worst = heapq.nsmallest(self.n_worst, [*self.worst, *positions], key=_by_kl)

    def _keep_nonfinite(self, positions: Iterable[Position]) -> None:
        self.nonfinite = heapq.nsmallest(self.n_worst, [*self.nonfinite, *positions], key=_by_place)


@dataclass(frozen=True)
class ParitySummary:
    """The figures of `ParityTotals`, in nats unless the name says otherwise; differences are candidate - reference.

    Why a figure has no value: "no rows", "n < 2", "zero variance", "no disagreement", "infinite nll" (a difference
    where the reference rules a target out), "infinite value" (a spread where the candidate does), "fewer than 2
    clusters" (documents), or a percentile of too few rows.
    """

    n: int
    n_nonfinite: int
    n_inf: int
    """Rows whose KL is infinite; they count in `n`, and make the mean +inf."""
    n_infinite_nll: int
    n_documents: int
    n_disagree: int
    disagree_rate: Value
    disagree_interval: Interval | Undefined
    """Wilson's, as if positions did not depend on one another."""
    disagree_clustered: Interval | Undefined
    """Wilson's by documents."""
    same_top: Value
    nll_ref_mean: Value
    nll_cand_mean: Value
    ppl_ref: Value
    ppl_cand: Value
    ppl_ratio: Value
    """exp(dnll_mean)."""
    ppl_ratio_interval: Interval | Undefined
    """By documents."""
    dnll_mean: Value
    """+inf where the candidate alone rules a target out."""
    dnll_sd: Value
    dnll_se: Value
    """sd / sqrt(n), as if positions did not depend on one another."""
    t: Value
    """dnll_mean / dnll_se, under the same pretence."""
    dnll_se_clustered: Value
    """CR1 by document."""
    dnll_interval: Interval | Undefined
    """By documents: the one to gate on. Method "exact", and one point, where all differences are one number but for the
    rounding of NLL (1e-12): bit-identical arms have no spread, and no t."""
    correlation: Value
    """Pearson's, of the two arms' NLL."""
    dp_mean: Value
    dp_rms: Value
    kl_mean: Value
    kl_interval: Interval | Undefined
    """By documents."""
    gap_mean: Value
    gap_mean_disagree: Value
    margin_disagree_mean: Value
    margin_disagree_max: Value
    kl_percentiles: dict[str, Value]
    """"p50" to "p99.9", and "max"."""
    dnll_abs_percentiles: dict[str, Value]
    worst: tuple[Position, ...]
    nonfinite: tuple[Position, ...]


def _summary(totals: ParityTotals, level: float) -> ParitySummary:
    whole = totals.whole()
    n, n_disagree = whole.n, whole.n_disagree
    dnll = partial(_differences, whole)
    dnll_interval = told(lambda: _dnll_interval(totals, whole, level))
    return ParitySummary(
        n=n,
        n_nonfinite=whole.n_nonfinite,
        n_inf=whole.kl.n_infinite,
        n_infinite_nll=whole.n_infinite_nll,
        n_documents=len(totals.documents),
        n_disagree=n_disagree,
        disagree_rate=told(lambda: _share(n_disagree, n)),
        disagree_interval=told(lambda: wilson(n_disagree, n, level)),
        disagree_clustered=told(lambda: _disagree_clustered(totals, level)),
        same_top=told(lambda: _share(n - n_disagree, n)),
        nll_ref_mean=told(whole.nll_ref.average),
        nll_cand_mean=told(whole.nll_cand.average),
        ppl_ref=told(lambda: exp_mean(whole.nll_ref.average())),
        ppl_cand=told(lambda: exp_mean(whole.nll_cand.average())),
        ppl_ratio=told(lambda: exp_mean(dnll().average())),
        ppl_ratio_interval=told(lambda: _exponential(dnll_interval)),
        dnll_mean=told(lambda: dnll().average()),
        dnll_sd=told(lambda: dnll().sd()),
        dnll_se=told(lambda: dnll().sd() / math.sqrt(n)),
        t=told(lambda: _t(dnll())),
        dnll_se_clustered=told(lambda: _cr1(totals, dnll())),
        dnll_interval=dnll_interval,
        correlation=told(lambda: _correlation(whole)),
        dp_mean=told(whole.dp.average),
        dp_rms=told(whole.dp.root_mean_square),
        kl_mean=told(whole.kl.average),
        kl_interval=told(lambda: _interval([d.kl for d in totals.ordered()], whole.kl, level)),
        gap_mean=told(whole.gap.average),
        gap_mean_disagree=told(lambda: _at_disagreement(whole, whole.gap_disagree).average()),
        margin_disagree_mean=told(lambda: _at_disagreement(whole, whole.margin_disagree).average()),
        margin_disagree_max=told(lambda: _largest(_at_disagreement(whole, whole.margin_disagree))),
        kl_percentiles=_percentiles(totals.kl),
        dnll_abs_percentiles=_percentiles(totals.dnll_abs, whole.n_infinite_nll),
        worst=tuple(totals.worst),
        nonfinite=tuple(totals.nonfinite),
    )


def _correlation(whole: DocumentTotals) -> float:
    """Of the two arms' NLL, where both are finite throughout."""
    if not whole.n:
        raise Undefined("no rows")
    if whole.n_infinite_nll:
        raise Undefined("infinite nll")
    return whole.nll.correlation()


def _differences(whole: DocumentTotals) -> Moments:
    """Of the differences of NLL, if every row has one; a spread that rounding explains is none."""
    dnll = whole.dnll
    if not whole.n:
        raise Undefined("no rows")
    if whole.n_infinite_nll > dnll.n_infinite:
        raise Undefined("infinite nll")
    if dnll.n_infinite:
        return dnll
    dust = _ROUNDING * max(1.0, whole.nll_ref.largest, whole.nll_cand.largest)
    if dnll.largest - dnll.least > dust:
        return dnll
    only = 0.0 if dnll.least <= 0 <= dnll.largest else dnll.mean
    return Moments(dnll.count, only, 0.0, only, only)


def _at_disagreement(whole: DocumentTotals, moments: Moments) -> Moments:
    if not whole.n:
        raise Undefined("no rows")
    if not whole.n_disagree:
        raise Undefined("no disagreement")
    return moments


def _share(count: int, n: int) -> float:
    if not n:
        raise Undefined("no rows")
    return count / n


def _largest(moments: Moments) -> float:
    return math.inf if moments.n_infinite else moments.largest


def _t(dnll: Moments) -> float:
    sd = dnll.sd()
    if sd == 0:
        raise Undefined("zero variance")
    return dnll.mean / (sd / math.sqrt(dnll.count))


def _cr1(totals: ParityTotals, dnll: Moments) -> float:
    """sqrt(G / (G - 1) * sum_g (sum_{i in g} r_i)^2) / N, r the residuals from the mean (Liang and Zeger 1986)."""
    finite(dnll.average(), "infinite value")
    parts = [document.dnll for document in totals.ordered() if document.dnll.count]
    if len(parts) < 2:
        raise Undefined("fewer than 2 clusters")
    if dnll.constant:
        return 0.0
    rests = [part.count * (part.mean - dnll.mean) for part in parts]
    return finite(math.sqrt(len(parts) / (len(parts) - 1)) * math.hypot(*rests) / dnll.count)


def _dnll_interval(totals: ParityTotals, whole: DocumentTotals, level: float) -> Interval:
    return _interval([document.dnll for document in totals.ordered()], _differences(whole), level)


def _interval(parts: list[Moments], whole: Moments, level: float) -> Interval:
    """By documents (`ratio_interval`); of one number throughout, that number: bit-identical arms have no spread."""
    finite(whole.average(), "infinite value")
    if whole.count < 2:
        raise Undefined("n < 2")
    if whole.constant:
        return Interval(whole.mean, whole.mean, level, "exact")
    sums, counts = [part.total for part in parts], [part.count for part in parts]
    return ratio_interval(sums, counts, range(len(parts)), level)


def _exponential(interval: Interval | Undefined) -> Interval:
    if isinstance(interval, Undefined):
        raise interval
    return Interval(exp_mean(interval.low), exp_mean(interval.high), interval.level, interval.method)


def _disagree_clustered(totals: ParityTotals, level: float) -> Interval:
    parts = totals.ordered()
    if not sum(part.n for part in parts):
        raise Undefined("no rows")
    return share_interval([part.n_disagree for part in parts], [part.n for part in parts], range(len(parts)), level)


def _percentiles(spread: Distribution, n_without: int = 0) -> dict[str, Value]:
    """All of them, unless some rows have no number to rank."""
    if n_without:
        return dict.fromkeys([*_SHARES, "max"], Undefined("infinite nll"))
    found: dict[str, Value] = {name: told(partial(spread.quantile, share)) for name, share in _SHARES.items()}
    return {**found, "max": told(spread.largest)}


def _named(
    document: str, offset: int, kl_n: NDArray[Any], dnll_n: NDArray[Any], places: NDArray[np.int64]
) -> list[Position]:
    """These rows, each by its place in the document."""
    return [Position(document, offset + at, float(kl_n[at]), float(dnll_n[at])) for at in places.tolist()]


def _by_kl(row: Position) -> tuple[float, str, int]:
    return -row.kl, row.document, row.offset


def _by_place(row: Position) -> tuple[str, int]:
    return row.document, row.offset
