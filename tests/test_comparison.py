"""Comparisons: paired by item, tested over clusters, corrected as a family, and said in words."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.power import TTestPower

from evalflow.comparison import Measure, Paired, conclude
from evalflow.metric.percentiles import Percentile
from evalflow.record import Delta

FIGURE = "quality/exact"
Scores = Mapping[str, float]


def _first(stats: tuple[float, ...]) -> float:
    return stats[0]


def _mean(stack: Any) -> float:
    return float(np.mean(stack[:, 0]))


RATE = Measure(_mean, _first, is_mean=True, is_rate=True, higher_is_better=True)
MEAN = replace(RATE, is_rate=False)
MEDIAN = Measure(Percentile(50).value, _first, is_mean=False, is_rate=False, higher_is_better=False)
PAIRED = Paired("a", "b", (FIGURE,))


def compared(
    reference: Scores,
    candidate: Scores,
    clusters: Mapping[str, str] | None = None,
    measure: Measure = RATE,
    seed: int = 0,
    paired: Paired = PAIRED,
) -> Delta:
    """The comparison alone in its family; without clusters each item is its own."""
    names = clusters or {item: item for item in {**reference, **candidate}}
    stats = [{item: (score,) for item, score in arm.items()} for arm in (reference, candidate)]
    delta = paired.compare(measure, *stats, names, seed)
    return conclude({("one", FIGURE): (paired, delta)})["one", FIGURE]


def arms(wins: int, losses: int, both_right: int = 0, both_wrong: int = 0) -> tuple[Scores, Scores]:
    """Reference and candidate, 0 or 1 on items i0, i1, ...; the candidate wins first."""
    rows = [(0.0, 1.0)] * wins + [(1.0, 0.0)] * losses + [(1.0, 1.0)] * both_right + [(0.0, 0.0)] * both_wrong
    reference, candidate = ({f"i{n}": row[side] for n, row in enumerate(rows)} for side in (0, 1))
    return reference, candidate


def words(*per_word: Sequence[tuple[float, float]]) -> tuple[Scores, Scores, Mapping[str, str]]:
    """Reference, candidate and clusters of words, each with its (reference, candidate) scores."""
    reference, candidate, clusters = {}, {}, {}
    for n, scores in enumerate(per_word):
        for task, (before, after) in enumerate(scores):
            item = f"w{n}/t{task}"
            reference[item], candidate[item], clusters[item] = before, after, f"w{n}"
    return reference, candidate, clusters


UP, DOWN, LEVEL = (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)


def test_the_published_case():
    """12 against 3 of 60: p 0.03515625, +0.15 [0.0257459, 0.2742541], where an unpaired test sees nothing (hc12)."""
    delta = compared(*arms(12, 3, 30, 15))
    assert delta.delta == pytest.approx(0.15, abs=1e-12)
    assert (delta.reference_value, delta.candidate_value) == pytest.approx((0.55, 0.7))
    assert (delta.low, delta.high) == pytest.approx((0.0257459, 0.2742541), abs=1e-6)
    assert delta.p == delta.p_items == delta.p_adjusted == pytest.approx(0.03515625, rel=1e-12)
    assert (delta.wins, delta.losses, delta.ties, delta.n_pairs, delta.n_clusters) == (12, 3, 45, 60, 60)
    assert (delta.method, delta.level, delta.test) == ("t", 0.95, "exact sign test over items")
    assert delta.conclusion == "better"
    assert delta.words == (
        "b is better than a on quality/exact: 0.7 against 0.55; +0.15 [+0.0257, +0.274]; "
        "12 items up, 3 down, 45 level; sign test p = 0.0352, p = 0.0352 after Holm"
    )


def test_the_other_way_round_is_worse():
    """Exchanged arms give the mirrored delta and interval, the same p, and `worse`."""
    delta = compared(*reversed(arms(12, 3, 30, 15)))
    assert (delta.low, delta.delta, delta.high) == pytest.approx((-0.2742541, -0.15, -0.0257459), abs=1e-6)
    assert delta.p == pytest.approx(0.03515625)
    assert delta.conclusion == "worse"
    assert delta.words.startswith("b is worse than a on quality/exact: 0.55 against 0.7; -0.15")


def test_the_bounds_are_one_sided_at_the_level():
    """The bounds for claims with a margin are scipy's paired 90 % interval, whose ends are 95 % one-sided."""
    reference, candidate = arms(12, 3, 30, 15)
    delta = compared(reference, candidate)
    test = scipy_stats.ttest_rel(list(candidate.values()), list(reference.values()))
    wanted = test.confidence_interval(0.9)
    assert (delta.bound_low, delta.bound_high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


@pytest.mark.parametrize(("wins", "reachable"), [(5, False), (6, True)])
def test_fewer_than_6_that_differ_cannot_reach_0_05(wins: int, reachable: bool):
    """Five wins and no loss have p 0.0625 and the words say that 0.05 cannot be reached; six have 0.03125."""
    delta = compared(*arms(wins, 0, 40))
    assert delta.p == pytest.approx(0.03125 if reachable else 0.0625)
    assert (f"with {wins} that differ, 0.05 cannot be reached" in delta.words) is not reachable
    assert delta.conclusion == ("better" if reachable else "not shown")


def test_another_level_needs_more():
    """At level 0.99 seven that differ (p 0.015625) cannot reach 0.01, and the interval is 99 %'s.

    Seven gains alone have their long tail above: there it is Clopper and Pearson's, which is wider than t's.
    """
    reference, candidate = arms(7, 0, 40)
    delta = compared(reference, candidate, paired=replace(PAIRED, level=0.99))
    assert "with 7 that differ, 0.01 cannot be reached" in delta.words
    wanted = scipy_stats.ttest_rel(list(candidate.values()), list(reference.values())).confidence_interval(0.99)
    assert delta.low == pytest.approx(wanted.low, abs=1e-12)
    assert delta.high == pytest.approx(scipy_stats.beta.isf(0.005, 8, 40), abs=1e-12)
    assert delta.high > wanted.high


def test_the_test_runs_over_words_and_not_over_their_tasks():
    """Five words won on all three tasks are 5 wins (p 0.0625), not 15 (p 2^-14, which stands beside it)."""
    delta = compared(*words(*[[UP] * 3] * 5, *[[LEVEL] * 3] * 15))
    assert (delta.wins, delta.losses, delta.ties) == (5, 0, 15)
    assert (delta.n_pairs, delta.n_clusters) == (60, 20)
    assert delta.p == pytest.approx(0.0625)
    assert delta.p_items == pytest.approx(2**-14)
    assert delta.test == "exact sign test over clusters"
    assert delta.conclusion == "not shown"
    assert "5 clusters up, 0 down, 15 level of 60 items; sign test p = 0.0625, p = 0.0625 after Holm" in delta.words
    assert "after Holm, over items p = 6.1e-05" in delta.words


def test_clustered_differences_have_the_interval_of_their_words():
    """With equal clusters the interval is Student's over the words' means, wider than over the 60 items."""
    reference, candidate, clusters = words(*[[UP] * 3] * 6, *[[DOWN] * 3] * 1, *[[LEVEL] * 3] * 13)
    delta = compared(reference, candidate, clusters)
    means = [1.0] * 6 + [-1.0] + [0.0] * 13
    low, high = scipy_stats.t.interval(0.95, 19, 0.25, scipy_stats.sem(means))
    assert (delta.low, delta.high) == pytest.approx((low, high), abs=1e-12)
    apart = compared(reference, candidate)
    assert delta.low < apart.low < apart.high < delta.high
    assert delta.method == "clustered t"


def test_a_word_won_and_lost_alike_is_level():
    """A win and a loss inside a word cancel out: it is level, and still not the same score on every pair."""
    delta = compared(*words(*[[UP, DOWN, LEVEL]] * 8))
    assert (delta.wins, delta.losses, delta.ties, delta.delta) == (0, 0, 8, 0.0)
    assert delta.conclusion == "not shown"
    assert "same score on every pair" not in delta.words


def test_rounding_of_seed_averages_is_no_win():
    """Over three seeds 1 - 2/3 and 1/3 - 2/3 cancel, though not in floats: the words are level."""
    third = 1 / 3
    delta = compared(*words(*[[(2 * third, 1.0), (2 * third, third)]] * 10))
    assert (2 * third - third) != (1.0 - 2 * third)
    assert (delta.wins, delta.losses, delta.ties) == (0, 0, 10)
    assert delta.p == 1.0


def test_rounding_of_seed_averages_is_no_variation():
    """A gain of one seed in three everywhere has no variation to estimate from, whatever its last binary digit."""
    scores = [(0.0, 1 / 3), (2 / 3, 1.0)]
    delta = compared(*words(*[[scores[n % 2]] for n in range(10)]))
    assert delta.method == "exact bound"
    assert delta.high - delta.low > 0.5


def test_items_that_one_arm_lacks_are_named():
    """Only pairs count; what is missing on a side, or on both, is named in the dataset's order, and counted."""
    reference, candidate = arms(8, 0, 10)
    order = {item: item for item in reference}
    reference = {item: score for item, score in reference.items() if item != "i9"}
    candidate = {item: score for item, score in candidate.items() if item not in ("i2", "i0")}
    delta = compared(reference, candidate, {**order, "never": "never"})
    assert delta.unpaired == ("i0", "i2", "i9", "never")
    assert (delta.n_pairs, delta.wins, delta.ties) == (15, 6, 9)
    assert delta.delta == pytest.approx(6 / 15)
    assert delta.words.endswith("; 4 unpaired")


def test_no_pair_is_undefined():
    """Arms that share no item have no difference, a reason, and no p to correct."""
    delta = compared({"x": 1.0}, {"y": 0.0})
    assert (delta.delta, delta.p, delta.p_adjusted, delta.unpaired) == (None, None, None, ("x", "y"))
    assert delta.reason == "no item was scored in both arms"
    assert delta.conclusion == "undefined"
    assert delta.words == "b against a on quality/exact: undefined (no item was scored in both arms)"


def test_identical_arms_are_identical_and_not_certain():
    """The same score on every pair is said so; p is 1, and the interval is what ten pairs can exclude."""
    delta = compared(*arms(0, 0, 6, 4))
    reach = 1 - 0.025**0.1  # one end of a 95 % interval: 0.025 = (1 - reach)^10
    assert (delta.delta, delta.p, delta.conclusion) == (0.0, 1.0, "identical")
    assert (delta.low, delta.high) == pytest.approx((-reach, reach), rel=1e-12)
    assert (delta.bound_low, delta.bound_high) == pytest.approx((-(1 - 0.05**0.1), 1 - 0.05**0.1), rel=1e-12)
    assert delta.words.startswith("b and a gave the same score on every pair on quality/exact: 0.6 against 0.6")
    assert delta.mde is None


def test_equal_differences_have_an_interval_of_positive_width():
    """Ten wins of ten are no certainty: a share of 1 - 0.025^(1/10) may be losses unseen, each worth 2 less."""
    delta = compared(*arms(10, 0))
    assert (delta.delta, delta.high) == (1.0, 1.0)
    assert delta.low == pytest.approx(1 - 2 * (1 - 0.025**0.1), rel=1e-12)
    assert delta.method == "exact bound"
    assert delta.conclusion == "better"


def test_no_variation_is_counted_in_clusters():
    """Ten words of three items each, all alike, exclude what ten clusters exclude."""
    delta = compared(*words(*[[LEVEL] * 3] * 10))
    assert delta.high == pytest.approx(1 - 0.025**0.1, rel=1e-12)


def test_words_that_differ_alike_have_an_interval_of_positive_width():
    """One task in three won in every one of ten words: their means agree by luck, and the interval keeps its width."""
    delta = compared(*words(*[[UP, LEVEL, LEVEL]] * 10))
    reach = 1 - 0.025**0.1
    assert delta.delta == pytest.approx(1 / 3)
    # the unseen share may lie at -1, which is 4/3 below, or at 1, which is 2/3 above
    assert (delta.low, delta.high) == pytest.approx((1 / 3 - reach * 4 / 3, 1 / 3 + reach * 2 / 3), rel=1e-9)


def test_a_mean_without_variation_has_no_interval():
    """Of a figure without a largest value, equal differences say nothing about others."""
    delta = compared({f"i{n}": float(n) for n in range(8)}, {f"i{n}": n + 2.0 for n in range(8)}, measure=MEAN)
    assert (delta.delta, delta.low, delta.bound_low, delta.method) == (2.0, None, None, None)
    assert delta.p == pytest.approx(2 / 256)
    assert delta.conclusion == "not shown"
    assert "the signs differ, the mean's interval does not bear it out" in delta.words


def test_one_cluster_is_one_observation():
    """Items of one cluster exclude next to nothing of a rate and nothing of a mean: no mde, no bootstrap, p 1."""
    reference, candidate, clusters = words([UP, LEVEL, UP])
    delta = compared(reference, candidate, clusters)
    assert delta.delta == pytest.approx(2 / 3)
    assert (delta.low, delta.high) == pytest.approx((2 / 3 - 0.975 * 5 / 3, 2 / 3 + 0.975 / 3), rel=1e-9)
    assert (delta.mde, delta.bootstrap_low, delta.p) == (None, None, 1.0)
    assert delta.conclusion == "not shown"
    assert compared(reference, candidate, clusters, MEAN).low is None


def _times(n: int = 60) -> tuple[Scores, Scores]:
    rng = np.random.default_rng(3)
    reference = rng.lognormal(0.0, 0.5, n)
    candidate = reference * rng.lognormal(-0.2, 0.3, n)
    return {f"i{k}": float(x) for k, x in enumerate(reference)}, {f"i{k}": float(x) for k, x in enumerate(candidate)}


def test_the_bootstrap_is_scipys_within_its_own_noise():
    """10,000 resamples of the paired differences end where scipy's do, to two hundredths of the width's scale."""
    reference, candidate = _times()
    delta = compared(reference, candidate, measure=MEAN)
    differences = np.array([candidate[item] - reference[item] for item in reference])
    said = scipy_stats.bootstrap((differences,), np.mean, method="percentile", rng=np.random.default_rng(0))
    assert (delta.bootstrap_low, delta.bootstrap_high) == pytest.approx(tuple(said.confidence_interval), abs=0.02)
    assert (delta.low, delta.high) == pytest.approx(tuple(said.confidence_interval), abs=0.03)


@pytest.mark.parametrize("measure", [MEAN, MEDIAN], ids=["mean", "median"])
def test_the_bootstrap_depends_on_the_seed_and_on_no_order(measure: Measure):
    """The same seed gives the same ends however items and answers are ordered; another seed gives others."""
    reference, candidate = _times(40)
    clusters = {item: f"c{int(item[1:]) // 2}" for item in reference}
    paired = replace(PAIRED, resamples=1000)
    first = compared(reference, candidate, clusters, measure, paired=paired)
    mixed = random.Random(5).sample(sorted(reference), len(reference))
    again = compared(
        {item: reference[item] for item in mixed},
        {item: candidate[item] for item in reversed(mixed)},
        {item: clusters[item] for item in mixed},
        measure,
        paired=paired,
    )
    other = compared(reference, candidate, clusters, measure, seed=1, paired=paired)
    assert first == again
    assert first.bootstrap_low is not None
    assert (other.bootstrap_low, other.bootstrap_high) != (first.bootstrap_low, first.bootstrap_high)
    assert other.delta == first.delta


def test_the_bootstrap_resamples_clusters():
    """Words that stand or fall together move more than their items would apart."""
    reference, candidate, clusters = words(*[[UP] * 3] * 6, *[[DOWN] * 3] * 3, *[[LEVEL] * 3] * 11)
    together, apart = compared(reference, candidate, clusters), compared(reference, candidate)
    assert together.bootstrap_low < apart.bootstrap_low < apart.bootstrap_high < together.bootstrap_high


def test_a_cluster_drawn_brings_all_its_items():
    """Of six words with five items won and fourteen with one level, the bootstrap is of the mean over items."""
    delta = compared(*words(*[[UP] * 5] * 6, *[[LEVEL]] * 14))
    totals, sizes = np.array([5.0] * 6 + [0.0] * 14), np.array([5] * 6 + [1] * 14)
    drawn = np.random.default_rng(0).integers(0, 20, (20_000, 20))
    said = np.quantile(totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), [0.025, 0.975])
    assert (delta.bootstrap_low, delta.bootstrap_high) == pytest.approx(tuple(said), abs=0.02)


def test_a_percentile_rests_on_the_bootstrap():
    """A median is no mean: its delta is of the two medians, its interval the bootstrap's, and no t bound is claimed."""
    reference, candidate = _times()
    delta = compared(reference, candidate, measure=MEDIAN, paired=replace(PAIRED, resamples=2000))
    before, after = np.median(list(reference.values())), np.median(list(candidate.values()))
    assert delta.delta == pytest.approx(after - before, rel=1e-12)
    assert (delta.low, delta.high) == (delta.bootstrap_low, delta.bootstrap_high)
    assert delta.method == "percentile bootstrap"
    assert (delta.bound_low, delta.bound_high, delta.mde) == (None, None, None)
    both = np.array([[reference[item], candidate[item]] for item in reference])
    drawn = np.random.default_rng(0).integers(0, 60, (4000, 60))
    medians = np.median(both[drawn], axis=1)
    said = np.quantile(medians[:, 1] - medians[:, 0], [0.025, 0.975])
    assert (delta.low, delta.high) == pytest.approx(tuple(said), abs=0.05)


def test_an_undefined_side_is_undefined():
    """A p95 of 19 pairs has no value, so its difference has none; the reason is the percentile's own."""
    reference, candidate = _times(19)
    measure = replace(MEDIAN, value=Percentile(95).value)
    delta = compared(reference, candidate, measure=measure)
    assert (delta.delta, delta.reason, delta.n_pairs) == (None, "p95 needs n >= 20, has 19", 19)
    assert delta.words == "b against a on quality/exact: undefined (p95 needs n >= 20, has 19)"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_undefined(value: float):
    """A metric whose value is no number gives no delta, and none that JSON could not hold."""
    delta = compared(*arms(3, 1), measure=replace(MEAN, value=lambda stack: value))
    assert (delta.delta, delta.reason) == (None, "non-finite result")


def test_a_division_by_zero_is_undefined():
    """A ratio over nothing is undefined with a reason, not a crash after the run."""
    delta = compared(*arms(3, 1), measure=replace(MEAN, value=lambda stack: 1 / 0))
    assert (delta.delta, delta.conclusion) == (None, "undefined")
    assert "division" in (delta.reason or "")


def test_less_can_be_better():
    """A fall of a figure of which less is better is `better`, in words too; a rise is `worse`."""
    measure = replace(MEAN, higher_is_better=False)
    reference = {f"i{n}": 2.0 + n for n in range(9)}
    faster = {f"i{n}": 1.0 + 0.9 * n for n in range(9)}
    delta = compared(reference, faster, measure=measure)
    assert (delta.conclusion, delta.wins, delta.losses) == ("better", 0, 9)
    assert delta.words.startswith("b is better than a on quality/exact: 4.6 against 6; -1.4 [")
    assert compared(faster, reference, measure=measure).conclusion == "worse"


def test_signs_against_the_mean_show_nothing():
    """Twenty small wins against one loss that outweighs them: the test and the mean disagree, so neither is claimed."""
    reference = {f"i{n}": 1.0 for n in range(21)}
    candidate = {**{f"i{n}": 1.01 for n in range(20)}, "i20": 0.0}
    delta = compared(reference, candidate, measure=MEAN)
    assert delta.p == pytest.approx(2 * 22 / 2**21)
    assert delta.delta == pytest.approx(-0.8 / 21)
    assert delta.conclusion == "not shown"


def test_a_sampled_arm_against_a_greedy_one_is_no_worse_for_its_signs():
    """Small losses on most items and large gains on few: of a mean of 0 the signs say `worse` often, the words rarely.

    80 % of 60 items are right when greedy and in 9 of 10 samples, the others wrong and in 4 of 10: the mean difference
    is 0. Of 300 such runs over 5 seeds some 3 % may conclude (nominally 5), where the sign test rejects in most.
    """
    rng = np.random.default_rng(11)
    deltas = []
    for _ in range(300):
        easy = rng.random(60) < 0.8
        sampled = rng.binomial(5, np.where(easy, 0.9, 0.4)) / 5
        items = [f"i{n}" for n in range(60)]
        reference = dict(zip(items, easy.astype(float), strict=True))
        deltas.append(
            compared(reference, dict(zip(items, sampled, strict=True)), paired=replace(PAIRED, resamples=1000))
        )
    assert sum(delta.p <= 0.05 for delta in deltas) > 75
    assert sum(delta.conclusion != "not shown" for delta in deltas) <= 18
    assert all(delta.low > 0 or delta.high < 0 for delta in deltas if delta.conclusion != "not shown")


def _lows(n: int, worst: int) -> list[float]:
    """The one-sided low bound of each number of losses, from none to `worst`, and no gain among `n` items."""
    paired = replace(PAIRED, resamples=1000)
    return [
        float(compared(*arms(0, losses, n - losses), paired=paired).bound_low or 0.0) for losses in range(worst + 1)
    ]


@pytest.mark.parametrize("n", [20, 62, 200])
def test_a_loss_more_never_raises_the_low_bound(n: int):
    """Each of the first losses lowers it, from what none at all can exclude (4.7 % at 62)."""
    lows = _lows(n, 8)
    assert lows[0] == pytest.approx(-(1 - 0.05 ** (1 / n)), rel=1e-12)
    assert all(after < before for before, after in pairwise(lows))


@pytest.mark.parametrize("gains", [0, 1, 3, 5, 6, 8, 12])
@pytest.mark.parametrize("n", [30, 62])
def test_a_loss_more_never_raises_the_low_bound_beside_gains(n: int, gains: int):
    """The same beside gains, be those few or more than the losses."""
    paired = replace(PAIRED, resamples=1000)
    lows = [compared(*arms(gains, losses, n - gains - losses), paired=paired).bound_low for losses in range(6)]
    assert all(after < before for before, after in pairwise(lows))


def test_few_losses_have_the_exact_bound():
    """Three of 62 lost and none won: Clopper and Pearson's one-sided 95 % bound, which excludes no loss up to 12 %."""
    delta = compared(*arms(0, 3, 59))
    assert delta.bound_low == pytest.approx(-scipy_stats.beta.isf(0.05, 4, 59), abs=1e-12)
    assert delta.bound_high == pytest.approx(1 - 0.05 ** (1 / 62), abs=1e-12)
    assert delta.method == "t and exact bound"


def test_a_smaller_loss_is_a_share_of_one():
    """Three items lost under one seed of four are 0.75 losses of 40, by the beta law at fractional counts."""
    reference = {f"i{n}": 1.0 for n in range(40)}
    candidate = {**reference, "i3": 0.75, "i7": 0.75, "i30": 0.75}
    delta = compared(reference, candidate)
    assert delta.bound_low == pytest.approx(-scipy_stats.beta.isf(0.05, 1.75, 39.25), abs=1e-12)


@pytest.mark.parametrize(("n", "most"), [(20, 0.055), (62, 0.055), (200, 0.055)])
def test_a_true_loss_of_the_margin_is_seldom_non_inferior(n: int, most: float):
    """By exact summation, over margins up to 0.2: P(bound_low > -margin) at a true loss of the margin (nominal 5 %)."""
    lows = np.array(_lows(n, min(n, 60)))
    counts = np.arange(len(lows))
    rates = [scipy_stats.binom.pmf(counts, n, margin)[lows > -margin].sum() for margin in np.linspace(0.01, 0.2, 96)]
    assert max(rates) <= most


def test_losses_among_gains_keep_the_low_bound():
    """Simulated at 62 items, 6 % lost and 1 % won: the low bound lies above the truth in some 5 % at most."""
    rng = np.random.default_rng(4)
    paired = replace(PAIRED, resamples=1000)
    draws = [rng.multinomial(62, [0.01, 0.06, 0.93]) for _ in range(400)]
    lows = [compared(*arms(won, lost, level), paired=paired).bound_low for won, lost, level in draws]
    assert np.mean(np.array(lows, dtype=float) > -0.05) <= 0.07


def test_unequal_clusters_exclude_what_their_effective_number_does():
    """One word of 40 tasks among 59 of one, all level: they weigh as 99^2 / 1659 = 5.9 clusters."""
    delta = compared(*words([LEVEL] * 40, *[[LEVEL]] * 59))
    assert delta.bound_low == pytest.approx(-(1 - 0.05 ** (1659 / 99**2)), rel=1e-12)


def test_the_family_is_corrected_by_holm():
    """p 0.01, 0.04 and 0.03 become 0.03, 0.06 and 0.06 (times 3, 2, 1, never falling); an undefined one is no part."""
    p = {"x": 0.01, "y": 0.04, "z": 0.03}
    deltas = {
        ("c", name): (
            PAIRED,
            Delta(0.5, low=0.1, high=0.9, p=value, p_items=value, wins=9, losses=1, n_pairs=10, n_clusters=10),
        )
        for name, value in p.items()
    }
    deltas["c", "none"] = (PAIRED, Delta(None, reason="the driver was saturated"))
    concluded = conclude(deltas)
    assert [concluded["c", name].p_adjusted for name in "xyz"] == pytest.approx([0.03, 0.06, 0.06])
    assert [concluded["c", name].conclusion for name in "xyz"] == ["better", "not shown", "not shown"]
    assert [concluded["c", name].p for name in "xyz"] == [0.01, 0.04, 0.03]
    assert concluded["c", "none"].p_adjusted is None
    assert list(concluded) == list(deltas)
    assert "sign test p = 0.04, p = 0.06 after Holm" in concluded["c", "y"].words


def test_families_of_one_and_none():
    """A single p stays as it is; nothing to correct gives nothing."""
    assert compared(*arms(8, 0)).p_adjusted == pytest.approx(2 / 256)
    assert conclude({}) == {}


def test_the_smallest_difference_that_could_be_shown():
    """It is the one at which statsmodels gives the paired t-test 80 % power, over items."""
    delta = compared(*arms(5, 3, 30, 22))
    sd = np.std([1.0] * 5 + [-1.0] * 3 + [0.0] * 52, ddof=1)
    effect = TTestPower().solve_power(nobs=60, alpha=0.05, power=0.8)
    assert delta.mde == pytest.approx(effect * sd, rel=1e-6)
    assert delta.conclusion == "not shown"
    assert delta.words.endswith(f"; a t-test could have shown {effect * sd:.3g}")
    by_t = compared(*arms(5, 3, 30, 22), paired=replace(PAIRED, test="t"))
    assert by_t.words.endswith(f"; this run could have shown {effect * sd:.3g}")


def test_what_could_be_shown_counts_words():
    """With clusters it is the power of 20 words, at the power asked for."""
    reference, candidate, clusters = words(*[[UP] * 3] * 4, *[[DOWN] * 3] * 2, *[[LEVEL] * 3] * 14)
    delta = compared(reference, candidate, clusters, paired=replace(PAIRED, power=0.9))
    sd = np.std([1.0] * 4 + [-1.0] * 2 + [0.0] * 14, ddof=1)
    effect = TTestPower().solve_power(nobs=20, alpha=0.025, power=0.9, alternative="larger")
    assert delta.mde == pytest.approx(effect * sd, rel=1e-6)


def test_what_is_shown_needs_no_power():
    """Words give what could have been shown only where nothing was."""
    assert "could have shown" not in compared(*arms(12, 3, 30, 15)).words


def test_many_items_are_compared_in_good_time():
    """5,000 items, each its own cluster, are compared without a pass over all items per cluster."""
    rng = np.random.default_rng(0)
    reference = {f"i{n}": float(x) for n, x in enumerate(rng.integers(0, 2, 5000))}
    candidate = {f"i{n}": float(x) for n, x in enumerate(rng.integers(0, 2, 5000))}
    delta = compared(reference, candidate)
    assert delta.n_clusters == 5000
    assert delta.wins == sum(candidate[item] > reference[item] for item in reference)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"candidate": "a"}, "reference and candidate are both a"),
        ({"figures": ()}, "name at least one, each once"),
        ({"figures": ("x", "x")}, "name at least one, each once"),
        ({"level": 0.5}, "level is 0.5"),
        ({"level": 1.0}, "level is 1.0"),
        ({"level": math.nan}, "level is nan"),
        ({"power": 0.0}, "power 0.0"),
        ({"power": 1.0}, "power 1.0"),
        ({"resamples": 999}, "resamples is 999; give at least 1000"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: Mapping[str, Any], said: str):
    """Two names of one arm, no figure, and levels or counts out of range are refused."""
    with pytest.raises(ValueError, match=said):
        replace(PAIRED, **settings)


def test_a_p_value_beyond_meaning_is_told_as_a_bound():
    """A thousand wins and no loss have a p of about 1e-301: how small below a trillionth says nothing."""
    ids = [f"i{n}" for n in range(1000)]
    worse = dict.fromkeys(ids, (0.0,))
    better = dict.fromkeys(ids, (1.0,))
    comparison = Paired("a", "b", ("quality/exact",))
    delta = comparison.compare(RATE, worse, better, {item: item for item in ids}, 0)
    words = conclude({("c", "quality/exact"): (comparison, delta)})["c", "quality/exact"].words
    assert "sign test p < 1e-12, p < 1e-12 after Holm" in words


@pytest.mark.parametrize(("n", "told"), [(1, False), (2, True)])
def test_a_difference_over_several_sessions_says_so(n: int, told: bool):
    """The sentence tells it, and what was concluded of the family is the same."""
    delta = PAIRED.compare(RATE, *({k: (v,) for k, v in arm.items()} for arm in arms(9, 1)), NAMES, 0)
    found = conclude({("one", FIGURE): (PAIRED, replace(delta, n_sessions=n))})["one", FIGURE]
    assert ("; taken in 2 sessions" in found.words) is told
    assert (found.n_sessions, found.conclusion) == (n, compared(*arms(9, 1)).conclusion)


NAMES = {f"i{n}": f"i{n}" for n in range(10)}


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("sign", lambda d: scipy_stats.binomtest(int((d > 0).sum()), len(d)).pvalue),
        ("wilcoxon", lambda d: scipy_stats.wilcoxon(d).pvalue),
        ("t", lambda d: scipy_stats.ttest_1samp(d, 0).pvalue),
    ],
)
def test_a_comparison_goes_by_the_test_that_it_names(test, said):
    """The p is that test's, by scipy too, and the words and the test's name say which it was."""
    reference, candidate = _times(45)
    delta = compared(reference, candidate, measure=MEAN, paired=replace(PAIRED, test=test))
    differences = np.array([candidate[item] - reference[item] for item in reference])
    assert delta.p == pytest.approx(said(differences), rel=1e-6)
    assert test in delta.test.lower() and f"{test}" in delta.words.lower()
    assert (delta.p_mid is None) == (test != "sign")


def test_a_permutation_test_flips_whole_clusters():
    """Twelve words that each win all three items: of the 2^12 flips of their means, two are as far from 0."""
    reference, candidate, clusters = words(*[[UP] * 3] * 12)
    delta = compared(reference, candidate, clusters, paired=replace(PAIRED, test="permutation"))
    assert delta.p == pytest.approx(2 / 2**12)
    assert delta.p_items < delta.p


def test_bca_ends_stand_beside_the_percentiles():
    """Of skewed differences they lie elsewhere; against scipy, to the noise of the draws."""
    reference, candidate = _times()
    delta = compared(reference, candidate, measure=MEAN)
    differences = np.array([candidate[item] - reference[item] for item in reference])
    said = scipy_stats.bootstrap((differences,), np.mean, method="BCa", rng=np.random.default_rng(0))
    assert (delta.bca_low, delta.bca_high) == pytest.approx(tuple(said.confidence_interval), abs=0.03)
    assert (delta.bca_low, delta.bca_high) != (delta.bootstrap_low, delta.bootstrap_high)


def test_a_median_of_the_same_items_twice_differs_by_nothing_in_every_resample() -> None:
    """Its interval is the one point that it must be, and is drawn from no resample: nothing could come of one."""
    calls: list[int] = []

    def value(stack: Any) -> float:
        calls.append(len(stack))
        return float(np.median(stack[:, 0]))

    times = {f"i{n}": 0.1 * n for n in range(9)}
    delta = compared(times, times, measure=replace(MEDIAN, value=value))
    assert (delta.delta, delta.low, delta.high, delta.conclusion) == (0.0, 0.0, 0.0, "identical")
    assert calls == [9, 9]


@pytest.mark.parametrize(
    ("unit", "by", "said"),
    [
        ("s", 0.25, "0 ms against 250 ms; -250 ms ["),
        ("s", 25.0, "0 s against 25 s; -25 s ["),
        ("nats", 0.25, "0 nats against 0.25 nats; -0.25 nats ["),
        ("share", 0.25, "0 against 0.25; -0.25 ["),
    ],
)
def test_words_have_units(unit: str, by: float, said: str):
    """Times below a second in ms; a share has none."""
    names = {f"i{n}": f"i{n}" for n in range(9)}
    delta = PAIRED.compare(MEDIAN, dict.fromkeys(names, (by,)), dict.fromkeys(names, (0.0,)), names, 0)
    assert f": {said}" in conclude({("one", FIGURE): (PAIRED, delta)}, {FIGURE: unit})["one", FIGURE].words
