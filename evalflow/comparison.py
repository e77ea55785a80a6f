"""Comparing two arms on the items that both answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evalflow.numeric.bca import bca_clusters
from evalflow.numeric.bootstrap import bootstrap_mean, bootstrap_statistic
from evalflow.numeric.cluster import cluster_codes, cluster_means, mean_interval
from evalflow.numeric.interval import Interval
from evalflow.numeric.moments import sample_sd
from evalflow.numeric.multiplicity import holm
from evalflow.numeric.paired_test import NAMES, Kind, paired_p
from evalflow.numeric.power import mde
from evalflow.numeric.proportion import rate_bound
from evalflow.numeric.sign import sign_test, smallest_p
from evalflow.numeric.undefined import Undefined, finite
from evalflow.record import Conclusion, Delta

FEW = 6
"""Fewer discordant units than this cannot reach 0.05 in an exact sign test, nor carry an estimate of variance."""
Values = NDArray[np.float64]
ItemStats = Mapping[str, tuple[float, ...]]
"""Item id -> one arm's statistics (K,) under one metric, its seeds averaged."""


@dataclass(frozen=True)
class Measure:
    """How a metric reads statistics: its figure over a stack (N, K), and one unit's own number."""

    value: Callable[[Values], float]
    point: Callable[[tuple[float, ...]], float]
    is_mean: bool
    is_rate: bool
    higher_is_better: bool


@dataclass(frozen=True)
class Pairs:
    """Two stacks (N, K) in one item order, the difference of each pair (N,), and what each depends on (N,)."""

    reference: Values
    candidate: Values
    differences: Values
    clusters: NDArray[np.object_]
    unpaired: tuple[str, ...]


@dataclass(frozen=True)
class Paired:
    """Candidate minus reference, paired by item.

    Differences are averaged inside a cluster, and the test that gates runs over clusters; where no two items share
    one, the clusters are the items. `level` sets the interval, and `1 - level` the test. The bootstrap resamples
    clusters. `test` is exact and of the signs alone unless another is named: `permutation` and `t` are of the mean,
    `wilcoxon` of the ranks.
    """

    reference: str
    candidate: str
    figures: tuple[str, ...]
    level: float = 0.95
    resamples: int = 10_000
    power: float = 0.8
    test: Kind = "sign"

    def __post_init__(self) -> None:
        if self.reference == self.candidate:
            raise ValueError(f"reference and candidate are both {self.reference}; name two arms")
        if not self.figures or len(set(self.figures)) < len(self.figures):
            raise ValueError(f"figures is {list(self.figures)}; name at least one, each once")
        if not 0.5 < self.level < 1 or not 0 < self.power < 1:
            raise ValueError(f"level is {self.level}, power {self.power}; give level in (0.5, 1) and power in (0, 1)")
        if self.resamples < 1000:
            raise ValueError(f"resamples is {self.resamples}; give at least 1000")

    def compare(
        self, measure: Measure, reference: ItemStats, candidate: ItemStats, clusters: Mapping[str, str], seed: int
    ) -> Delta:
        """The difference on one figure; `clusters` is item id -> cluster, in the dataset's order.

        Its p-value is raw and it has no words yet: `conclude` corrects a whole family at once.
        """
        pairs = pair(measure, reference, candidate, clusters)
        if not len(pairs.differences):
            return Delta(None, unpaired=pairs.unpaired, reason="no item was scored in both arms")
        try:
            before, after = finite(measure.value(pairs.reference)), finite(measure.value(pairs.candidate))
            _, by_cluster = cluster_means(pairs.differences, pairs.clusters)
        except (Undefined, ZeroDivisionError, OverflowError) as undefined:
            reason = getattr(undefined, "reason", str(undefined))
            return Delta(None, n_pairs=len(pairs.differences), unpaired=pairs.unpaired, reason=reason)
        alpha = 1 - self.level
        signs = sign_test(by_cluster, alpha)
        bootstrap = self._bootstrap(measure, pairs, seed)
        bca_low, bca_high = _ends(self._bca(measure, pairs, seed))
        interval = _mean_bounds(measure, pairs, self.level) if measure.is_mean else bootstrap
        bounds = _mean_bounds(measure, pairs, 1 - 2 * alpha) if measure.is_mean else None
        low, high = _ends(interval)
        bound_low, bound_high = _ends(bounds)
        bootstrap_low, bootstrap_high = _ends(bootstrap)
        return Delta(
            delta=after - before,
            reference_value=before,
            candidate_value=after,
            low=low,
            high=high,
            level=self.level,
            method=interval.method if interval else None,
            bound_low=bound_low,
            bound_high=bound_high,
            bootstrap_low=bootstrap_low,
            bootstrap_high=bootstrap_high,
            bca_low=bca_low,
            bca_high=bca_high,
            p=self._p(by_cluster, seed),
            p_items=self._p(pairs.differences, seed),
            p_mid=signs.p_mid if self.test == "sign" else None,
            test=f"{NAMES[self.test]} over {'clusters' if len(by_cluster) < len(pairs.differences) else 'items'}",
            wins=signs.wins,
            losses=signs.losses,
            ties=signs.ties,
            n_pairs=len(pairs.differences),
            n_clusters=len(by_cluster),
            unpaired=pairs.unpaired,
            mde=reach(measure, by_cluster, alpha, self.power),
            higher_is_better=measure.higher_is_better,
            conclusion="undefined" if pairs.differences.any() or after != before else "identical",
        )

    def _p(self, differences: Values, seed: int) -> float | None:
        """The p of the comparison's test; None where it has none."""
        try:
            return paired_p(self.test, differences, seed, 1 - self.level)
        except Undefined:
            return None

    def _bca(self, measure: Measure, pairs: Pairs, seed: int) -> Interval | None:
        """The BCa interval of a mean difference; None where it has none."""
        if not measure.is_mean:
            return None
        try:
            return bca_clusters(pairs.differences, pairs.clusters, seed, self.resamples, self.level)
        except Undefined:
            return None

    def _bootstrap(self, measure: Measure, pairs: Pairs, seed: int) -> Interval | None:
        _, means = cluster_means(pairs.differences, pairs.clusters)
        _, codes = cluster_codes(pairs.clusters, len(pairs.clusters))
        sizes = np.bincount(codes)
        by_cluster = np.argsort(codes, kind="stable")
        members = np.split(by_cluster, np.cumsum(sizes)[:-1])
        alone = bool((sizes == 1).all())
        try:
            if measure.is_mean:
                return bootstrap_mean(means, seed, self.resamples, self.level, weights=sizes)
            if np.array_equal(pairs.reference, pairs.candidate):  # whatever is drawn, both have the same figure
                return Interval(0.0, 0.0, self.level, "percentile bootstrap", degenerate=True)

            def delta(drawn: NDArray[np.int64]) -> float:
                rows = by_cluster[drawn] if alone else np.concatenate([members[g] for g in drawn])
                return measure.value(pairs.candidate[rows]) - measure.value(pairs.reference[rows])

            return bootstrap_statistic(len(members), delta, seed, self.resamples, self.level)
        except Undefined:
            return None


def pair(measure: Measure, reference: ItemStats, candidate: ItemStats, clusters: Mapping[str, str]) -> Pairs:
    """The items that both arms scored, by id, so that no order can change a draw; and by name all others."""
    shared = sorted(item for item in clusters if item in reference and item in candidate)
    unpaired = tuple(item for item in clusters if item not in reference or item not in candidate)
    points = np.array([(measure.point(reference[item]), measure.point(candidate[item])) for item in shared])
    return Pairs(
        reference=np.array([reference[item] for item in shared], dtype=np.float64),
        candidate=np.array([candidate[item] for item in shared], dtype=np.float64),
        differences=_differences(points.reshape(-1, 2)),
        clusters=np.array([clusters[item] for item in shared], dtype=object),
        unpaired=unpaired,
    )


def _differences(points: Values) -> Values:
    """Candidate minus reference (N,) of points (N, 2), to 2^-40 of the largest point.

    Over three seeds 1 - 2/3 is not 2/3 - 1/3 in floats: unrounded, one would outweigh the other, and a level cluster
    count as won.
    """
    step = np.ldexp(1.0, np.frexp(np.abs(points).max(initial=0.0))[1] - 40)
    differences: Values = np.round((points[:, 1] - points[:, 0]) / step) * step
    return differences


def conclude(
    deltas: Mapping[tuple[str, str], tuple[Paired, Delta]], units: Mapping[str, str] | None = None
) -> dict[tuple[str, str], Delta]:
    """Correct the p-values of a family by Holm and say each result in words.

    The family is every (comparison, figure) of the experiment that has a p-value. `units` are figures' own, for the
    words: a share has none, and one that is not named is told without.
    """
    tested = [key for key, (_, delta) in deltas.items() if delta.p is not None]
    adjusted = dict(zip(tested, holm([float(deltas[key][1].p or 0.0) for key in tested]), strict=True))
    return {
        key: _worded(comparison, replace(delta, p_adjusted=adjusted.get(key)), key[1], (units or {}).get(key[1], ""))
        for key, (comparison, delta) in deltas.items()
    }


def _worded(comparison: Paired, delta: Delta, figure: str, unit: str) -> Delta:
    pair_name = f"{comparison.candidate} against {comparison.reference} on {figure}"
    if delta.delta is None:
        return replace(delta, words=f"{pair_name}: undefined ({delta.reason})")
    alpha = 1 - comparison.level
    gained = delta.delta > 0 if delta.higher_is_better else delta.delta < 0
    conclusion: Conclusion
    if delta.conclusion == "identical":
        conclusion = "identical"
    # the test is of the signs: where many small wins stand against few large losses, the mean says another thing
    elif _test_shows(delta, alpha) and _interval_shows(delta, comparison.test):
        conclusion = "better" if gained else "worse"
    else:
        conclusion = "not shown"
    says = {
        "better": f"{comparison.candidate} is better than {comparison.reference}",
        "worse": f"{comparison.candidate} is worse than {comparison.reference}",
        "identical": f"{comparison.candidate} and {comparison.reference} gave the same score on every pair",
        "not shown": f"no difference between {comparison.candidate} and {comparison.reference} is shown",
    }[conclusion]
    delta = replace(delta, conclusion=conclusion)
    return replace(delta, words=f"{says} on {figure}: {_numbers(delta, comparison, unit)}")


def _test_shows(delta: Delta, alpha: float) -> bool:
    return delta.p_adjusted is not None and delta.p_adjusted <= alpha


def _interval_shows(delta: Delta, test: Kind) -> bool:
    """The interval lies on one side of 0, and so do the difference and, where they are tested, most of the signs."""
    if delta.delta is None or delta.low is None or delta.high is None or delta.low <= 0 <= delta.high:
        return False
    return delta.low * delta.delta > 0 and (test != "sign" or (delta.wins - delta.losses) * delta.delta > 0)


def out_of_reach(test: str | None, discordant: int, level: float) -> str | None:
    """Why no difference could be shown, where so few differ (`discordant`) that an exact test cannot get there.

    `test` is as a difference has it; None where it could, and of a test that is not exact.
    """
    alpha = 1 - level
    if test is None or not test.startswith((NAMES["sign"], NAMES["permutation"])) or smallest_p(discordant) <= alpha:
        return None
    return f"with {discordant} that differ, {alpha:.2g} cannot be reached"


def could_show(test: str | None) -> str:
    """What could have shown an `mde`, which is a t-test's: the run, if it went by one, else a t-test alone."""
    whose = "this run" if test is not None and test.startswith(NAMES["t"]) else "a t-test"
    return f"{whose} could have shown"


def _numbers(delta: Delta, comparison: Paired, unit: str) -> str:
    """The figures behind a conclusion, in one clause each."""
    alpha, test = 1 - comparison.level, comparison.test
    by, of_unit = _in_unit(delta, unit)
    after, before, change, low, high, reach = (
        None if one is None else by * one
        for one in (delta.candidate_value, delta.reference_value, delta.delta, delta.low, delta.high, delta.mde)
    )
    clauses = [f"{_short(after)}{of_unit} against {_short(before)}{of_unit}"]
    if low is not None:
        clauses.append(f"{_signed(change)}{of_unit} [{_signed(low)}, {_signed(high)}]")
    clustered = delta.n_clusters < delta.n_pairs
    unit, of = ("clusters", f" of {delta.n_pairs} items") if clustered else ("items", "")
    clauses.append(f"{delta.wins} {unit} up, {delta.losses} down, {delta.ties} level{of}")
    if delta.p is not None:
        items = f", over items p {_p(delta.p_items)}" if clustered else ""
        clauses.append(
            f"{NAMES[test].removeprefix('exact ')} p {_p(delta.p)}, p {_p(delta.p_adjusted)} after Holm{items}"
        )
    if delta.conclusion == "not shown" and _test_shows(delta, alpha):
        what = "signs" if test == "sign" else "arms"
        clauses.append(f"the {what} differ, the mean's interval does not bear it out")
    if delta.n_sessions is not None and delta.n_sessions > 1:
        clauses.append(f"taken in {delta.n_sessions} sessions")
    if beyond := out_of_reach(delta.test, delta.wins + delta.losses, comparison.level):
        clauses.append(beyond)
    elif delta.conclusion == "not shown" and reach is not None:
        clauses.append(f"{could_show(delta.test)} {_short(reach)}{of_unit}")
    if delta.unpaired:
        clauses.append(f"{len(delta.unpaired)} unpaired")
    return "; ".join(clauses)


def _in_unit(delta: Delta, unit: str) -> tuple[float, str]:
    """What numbers of a unit are multiplied by in words, and the unit that follows them: below a second ms."""
    if unit == "share" or not unit:
        return 1.0, ""
    ends = (delta.candidate_value, delta.reference_value, delta.delta, delta.low, delta.high)
    if unit == "s" and all(abs(end) < 1 for end in ends if end is not None):
        return 1000.0, " ms"
    return 1.0, f" {unit}"


def _mean_bounds(measure: Measure, pairs: Pairs, level: float) -> Interval | None:
    """A clustered t interval; of a rate, no narrower than exact bounds where too little varies for t to hold.

    With no variation the t interval has no width, which would claim certainty, and with a handful of clusters that
    differ it has next to none. Where fewer than `FEW` lie below the rest and fewer than `FEW` above, it is joined with
    the exact bounds at both ends. Where they are more, but lopsided, it is joined with that on the side of their long
    tail, where t stops too near: ten losses and no win call a loss of the true size unlikely too often.

    Lopsided is a sum with a skewness of 0.1 or more: Cochran's rule for t (1977, 2.15) asks for less than 0.2, which
    leaves one end short still. With losses alone and `bound_low`, a true loss of the margin then passes as non-inferior
    in 5.0 % at most for margins up to 0.2 and n from 20 to 200, and in 6.9 % beyond (with t alone in 15-21 %).
    """
    names, by_cluster = cluster_means(pairs.differences, pairs.clusters)
    clustered = None
    if np.ptp(by_cluster) > 0:
        with suppress(Undefined):
            clustered = mean_interval(pairs.differences, pairs.clusters, level)
    if not measure.is_rate:
        return clustered
    _, codes = cluster_codes(pairs.clusters, len(pairs.clusters))
    sizes = np.bincount(codes, minlength=len(names))
    values, counts = np.unique(by_cluster, return_counts=True)
    same = float(values[counts.argmax()])
    exact = _exact_bounds(by_cluster, sizes, same, level)
    if clustered is None:
        return exact
    few = max((by_cluster < same).sum(), (by_cluster > same).sum()) < FEW
    tail = _long_tail(sizes * (by_cluster - np.average(by_cluster, weights=sizes)))
    low = min(clustered.low, exact.low) if few or tail < 0 else clustered.low
    high = max(clustered.high, exact.high) if few or tail > 0 else clustered.high
    method = clustered.method if not few and tail == 0 else "t and exact bound"
    return _within_a_rate(Interval(low, high, level, method))


def _exact_bounds(by_cluster: Values, sizes: NDArray[np.int64], same: float, level: float) -> Interval:
    """How far the mean may lie from `same`, the commonest difference: clusters below it and above it, each alone.

    A loss of the most that is possible, from `same` to -1, is one event, a smaller one that share of an event, and
    clusters of unequal size count by their rows, as so many of equal size. The low end then takes the highest rate
    of events that their number does not yet exclude (Clopper and Pearson, fractional as the counts are), and no gain
    against it. With none below it is `zero_event_bound`.
    """
    n = sizes.sum() ** 2 / (sizes**2).sum()
    lost, won = (np.average(np.maximum(side * (by_cluster - same), 0.0), weights=sizes) for side in (-1.0, 1.0))
    below, above = 1 + same, 1 - same
    return Interval(
        same - rate_bound(n * lost / below, n, level) * below if below > 0 else same,
        same + rate_bound(n * won / above, n, level) * above if above > 0 else same,
        level,
        "exact bound",
    )


def _long_tail(weighted: Values) -> int:
    """The side (-1 or 1) on which the t interval of a sum of these (G,) is too short; 0 where it is neither."""
    second, third = float((weighted**2).sum()), float((weighted**3).sum())
    if third**2 < 0.1**2 * second**3:
        return 0
    return int(np.sign(third))


def _within_a_rate(interval: Interval) -> Interval:
    """Cut at -1 and 1, beyond which no two rates can differ."""
    return replace(interval, low=max(-1.0, interval.low), high=min(1.0, interval.high))


def _ends(interval: Interval | None) -> tuple[float, float] | tuple[None, None]:
    return (interval.low, interval.high) if interval else (None, None)


def reach(measure: Measure, differences: Values, alpha: float, power: float) -> float | None:
    """The smallest difference that so many clusters' `differences` (G,) could have shown, as `numeric.power.mde`.

    None where there is none, and where it is beyond what two rates can differ by.
    """
    if not measure.is_mean:
        return None
    try:
        smallest = mde(sample_sd(differences), len(differences), alpha, power)
    except Undefined:
        return None
    return smallest if not measure.is_rate or smallest <= 1 else None


def _p(value: float | None) -> str:
    """A p-value as a relation; below a trillionth, how far below says nothing."""
    if value is None:
        return "undefined"
    return f"= {value:.3g}" if value >= 1e-12 else "< 1e-12"


def _short(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3g}"


def _signed(value: float | None) -> str:
    return "undefined" if value is None else f"{value:+.3g}"
