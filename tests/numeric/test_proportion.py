"""Proportions: width at the edges, and clusters."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from evalflow.numeric.cluster import effective_clusters
from evalflow.numeric.proportion import (
    clopper_pearson,
    normal_interval,
    proportion,
    proportion_se,
    rate_bound,
    rate_interval,
    rule_of_three,
    wilson,
    zero_event_bound,
)
from evalflow.numeric.undefined import Undefined

COUNTS = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def ends(interval):
    return [interval.low, interval.high]


@pytest.mark.parametrize("name", ["p14", "p15"])
def test_published_cases(cases, name):
    """45 of 50 and 60 of 60 have the intervals of mpmath and of statsmodels (p14, p15)."""
    given_, expected = cases[name]["input"], cases[name]["expected"]
    k, n = given_["k"], given_["n"]
    assert ends(wilson(k, n)) == pytest.approx(expected["wilson"], abs=1e-9)
    assert ends(clopper_pearson(k, n)) == pytest.approx(expected["clopper_pearson"], abs=1e-9)


def test_none_in_5000_is_surer_than_none_in_25(cases):
    """At 0 % and 100 % the interval keeps a width, and that width depends on n (hc01)."""
    case = cases["hc01"]
    for run, want in zip(case["input"]["runs"], case["expected"]["intervals"], strict=True):
        interval = wilson(run["successes"], run["n"], case["input"]["level"])
        assert ends(interval) == pytest.approx(want, abs=case["expected"]["atol"])
        assert interval.high > interval.low
        assert (interval.low == 0.0) == (run["successes"] == 0)
        assert (interval.high == 1.0) == (run["successes"] == run["n"])


@given(COUNTS, st.sampled_from([0.5, 0.8, 0.95, 0.999]))
def test_wilson_agrees_with_statsmodels(counts, level):
    """Any count has the Wilson interval of statsmodels, around its rate, inside 0..1."""
    k, n = counts
    interval = wilson(k, n, level)
    assert ends(interval) == pytest.approx(proportion_confint(k, n, 1 - level, "wilson"), rel=1e-9, abs=1e-12)
    assert 0 <= interval.low <= k / n <= interval.high <= 1
    assert (interval.level, interval.method) == (level, "wilson")


@given(COUNTS, st.sampled_from([0.8, 0.95, 0.999]))
def test_clopper_pearson_agrees_with_scipy_and_holds_the_rate(counts, level):
    """Any count has scipy's exact interval, which is never inside Wilson's rate."""
    k, n = counts
    interval = clopper_pearson(k, n, level)
    said = binomtest(k, n).proportion_ci(level, method="exact")
    assert ends(interval) == pytest.approx([said.low, said.high], rel=1e-9, abs=1e-12)
    assert 0 <= interval.low <= k / n <= interval.high <= 1


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99, 0.999])
def test_the_edges_are_exact(level):
    """All right reaches exactly 1 and none right exactly 0, at any n, where the formula alone rounds."""
    for n in range(1, 300):
        assert wilson(n, n, level).high == 1.0
        assert wilson(0, n, level).low == 0.0


def test_the_rate_is_inside_even_where_the_width_rounds_away():
    """At 10^33 rows the interval is one point, and not beside the rate."""
    s, n = 7.34183334949781e32, 5.059539836697997e34
    interval = wilson(s, n)
    assert interval.low <= s / n <= interval.high


@given(COUNTS)
def test_wrong_is_right_turned_round(counts):
    """The interval of the wrong answers is the mirror image of that of the right ones."""
    k, n = counts
    right, wrong = wilson(k, n), wilson(n - k, n)
    assert ends(right) == pytest.approx([1 - wrong.high, 1 - wrong.low], abs=1e-12)


def test_wilson_takes_effective_counts_and_another_critical_value():
    """At 2.5 of 5 with critical 2 the ends solve (p - 1/2)^2 = 4 p (1 - p) / 5: 1/2 -/+ 1/3."""
    assert ends(wilson(2.5, 5, critical=2.0)) == pytest.approx([1 / 2 - 1 / 3, 1 / 2 + 1 / 3], abs=1e-15)


def test_wilson_keeps_its_digits_at_a_billion():
    """None in 10^9: the high end is c^2 / (n + c^2), not the rest of a cancellation."""
    c2 = stats.norm.isf(0.025) ** 2
    assert wilson(0, 10**9).high == pytest.approx(c2 / (1e9 + c2), rel=1e-12)
    # one in 10^12: the smaller root, by its series p^2 n / (2 s + c^2 + c sqrt(c^2 + 4 s)) with s = 1
    c = math.sqrt(c2)
    assert wilson(1, 10**12).low == pytest.approx(2e-12 / (2 + c2 + c * math.sqrt(c2 + 4)), rel=1e-9)


@pytest.mark.parametrize("function", [wilson, clopper_pearson])
def test_no_rows_have_no_rate(function):
    """0 of 0 is undefined, not 0."""
    with pytest.raises(Undefined) as caught:
        function(0, 0)
    assert caught.value.reason == "no rows"


@pytest.mark.parametrize("counts", [(-1, 5), (6, 5)])
@pytest.mark.parametrize("function", [wilson, clopper_pearson])
def test_more_successes_than_rows_are_refused(function, counts):
    """6 right of 5 is a mistake of the caller."""
    with pytest.raises(ValueError, match="from 0 to n"):
        function(*counts)


def test_wilson_refuses_what_is_no_number():
    """NaN is undefined, a critical value of 0 or a level of 1 a mistake."""
    with pytest.raises(Undefined, match="non-finite value"):
        wilson(float("nan"), 5)
    with pytest.raises(Undefined, match="non-finite value"):
        wilson(1, 5, critical=math.inf)
    with pytest.raises(ValueError, match="critical"):
        wilson(1, 5, critical=0.0)
    with pytest.raises(ValueError, match="level"):
        wilson(1, 5, level=1.0)
    with pytest.raises(TypeError):
        clopper_pearson(2.5, 5)


@pytest.mark.parametrize("function", [wilson, clopper_pearson, proportion, normal_interval])
@pytest.mark.parametrize(("k", "n"), [(1, 0), (0, -5), (-1, 0)])
def test_counts_that_cannot_be_are_a_mistake_without_rows_too(function, k, n):
    """One of none, and fewer rows than none, are refused: undefined is 0 of 0 alone."""
    with pytest.raises(ValueError, match=f"{k} successes of {n}"):
        function(k, n)


def test_zero_events_bound_the_rate(cases):
    """None in 60 leaves 4.87 % at most (p15); none in one leaves 95 %; 3 / n is only near."""
    assert zero_event_bound(60) == pytest.approx(cases["p15"]["expected"]["one_sided_95_bound_exact"], abs=1e-12)
    assert zero_event_bound(1) == pytest.approx(0.95, abs=1e-15)
    assert zero_event_bound(62) == pytest.approx(0.047, abs=5e-4)
    assert zero_event_bound(10**12) == pytest.approx(-math.log(0.05) * 1e-12, rel=1e-9)
    assert zero_event_bound(30, level=0.975) == pytest.approx(clopper_pearson(0, 30).high, abs=1e-12)


@pytest.mark.parametrize(("n", "reason"), [(0, "no rows"), (-3, "no rows"), (float("nan"), "non-finite value")])
def test_no_trials_bound_nothing(n, reason):
    """Without trials there is no bound."""
    with pytest.raises(Undefined) as caught:
        zero_event_bound(n)
    assert caught.value.reason == reason


# --- with clusters ---


def test_independent_right_or_wrong_is_plain_wilson():
    """One row per cluster, all 0 or 1: Wilson as it stands, even for one row."""
    assert rate_interval([1] * 45 + [0] * 5, range(50)) == wilson(45, 50)
    assert rate_interval([1.0], ["a"]) == wilson(1, 1)


def test_copies_of_a_row_add_nothing():
    """Three copies of each of 12 answers: n_eff = 11 (CR1), and t with 11 degrees of freedom."""
    answers = [1] * 9 + [0] * 3
    interval = rate_interval(answers * 3, list(range(12)) * 3)
    # CR1 on copies: se^2 = p (1 - p) / (G - 1)
    assert ends(interval) == pytest.approx(ends(wilson(0.75 * 11, 11, critical=stats.t.isf(0.025, 11))), abs=1e-12)
    assert interval.method == "wilson, clustered"


def test_effective_size_by_hand(cases):
    """p18's rows, 10/3 effective clusters: p = 0.6 and se^2 = 6 / 70, so n_eff = 2.8, with t of 7/3 degrees.

    The residual sums -0.2, 1.6, -1.8 and 0.4 have squares of sum 6, times (10/3) / (7/3) / 10^2.
    """
    case = cases["p18"]["input"]
    c = stats.t.isf(0.025, 7 / 3)
    size = 0.24 * 70 / 6
    assert ends(rate_interval(case["values"], case["clusters"])) == pytest.approx(
        ends(wilson(0.6 * size, size, critical=c)), abs=1e-12
    )


@pytest.mark.parametrize("rate", [0.5, 0.9])
@pytest.mark.parametrize("sizes", [[40] + [1] * 59, [20] * 12 + [1] * 48, [20] * 4 + [1] * 16])
def test_unequal_clusters_are_covered(sizes, rate):
    """Simulated beta-binomial clusters at correlation 0.9: 95 % intervals hold the rate in 93 % or more of 300."""
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    covered = 0
    for _ in range(300):
        of_cluster = rng.beta(rate / 9, (1 - rate) / 9, len(sizes))
        interval = rate_interval((rng.random(clusters.size) < of_cluster[clusters]).astype(float), clusters)
        covered += interval.low <= rate <= interval.high
    assert covered >= 0.93 * 300


def test_one_cluster_that_outweighs_the_rest_has_no_interval():
    """One of 40 rows among 9 single ones says as much as 1.5 clusters would."""
    with pytest.raises(Undefined) as caught:
        rate_interval([1, 0] * 20 + [1, 0, 1] * 3, [0] * 40 + list(range(1, 10)))
    assert caught.value.reason == "fewer than 2 effective clusters"


def test_all_right_counts_effective_clusters():
    """Ten words of 5 items and ten of 1, all right: 60^2 / 260 rows, by plain Wilson."""
    interval = rate_interval([1] * 60, [n // 5 for n in range(50)] + list(range(10, 20)))
    assert ends(interval) == pytest.approx(ends(wilson(3600 / 260, 3600 / 260)), abs=1e-12)


@pytest.mark.parametrize(("successes", "n"), [(0, 62), (3, 62), (19, 20), (0.75, 40.0), (1.5, 5.9)])
def test_the_bound_of_a_rate(successes, n):
    """It is the beta quantile behind Clopper and Pearson's high end, at any counts, and 1 where all succeed."""
    assert rate_bound(successes, n, 0.9) == pytest.approx(stats.beta.isf(0.05, successes + 1, n - successes), rel=1e-12)
    assert rate_bound(n, n) == 1.0
    if isinstance(n, int):
        assert rate_bound(successes, n) == pytest.approx(clopper_pearson(successes, n).high, rel=1e-12)


def test_the_bound_of_no_rate():
    """Of no rows it is undefined, and more successes than rows are a mistake."""
    with pytest.raises(Undefined, match="no rows"):
        rate_bound(0, 0)
    for successes in (-0.1, 5.1):
        with pytest.raises(ValueError, match="from 0 to n"):
            rate_bound(successes, 5)


@pytest.mark.parametrize("value", [0, 1])
def test_all_right_counts_clusters(value):
    """20 words of 3 items each, all right: as sure as 20 rows, not as 60."""
    interval = rate_interval([value] * 60, [i // 3 for i in range(60)])
    assert ends(interval) == ends(wilson(20 * value, 20))
    assert interval.method == "wilson, clustered"


def test_one_wrong_answer_cannot_raise_the_low_end():
    """A lone failure, or two in one word, shows no dependence: 20 words still count as 20 rows."""
    words = [i // 3 for i in range(60)]
    lows = [rate_interval([0] * wrong + [1] * (60 - wrong), words).low for wrong in (0, 1, 2)]
    assert lows == pytest.approx([wilson(20 * (60 - wrong) / 60, 20).low for wrong in (0, 1, 2)], abs=1e-12)
    assert lows == sorted(lows, reverse=True)


def test_clusters_that_agree_are_worth_their_rows_at_most():
    """Every cluster has 2 of 3 right, so the standard error is 0: n_eff stops at the 12 rows."""
    interval = rate_interval([1, 0, 1] * 4, [i // 3 for i in range(12)])
    assert ends(interval) == pytest.approx(ends(wilson(8, 12, critical=stats.t.isf(0.025, 3))), abs=1e-12)


def test_clusters_that_nearly_agree_are_capped_too():
    """Totals of 2, 2, 2, 2 and 3 of 4: se^2 = 0.0025 would make 20 rows worth 99; they stay 20."""
    values = [1, 1, 0, 0] * 4 + [1, 1, 1, 0]
    interval = rate_interval(values, [i // 4 for i in range(20)])
    assert ends(interval) == pytest.approx(ends(wilson(11, 20, critical=stats.t.isf(0.025, 4))), abs=1e-12)


def test_means_over_seeds_that_agree_keep_a_width():
    """Ten items, each right in half of its seeds: no standard error, and yet no point."""
    interval = rate_interval([0.5] * 10, range(10))
    assert ends(interval) == pytest.approx(ends(wilson(5, 10, critical=stats.t.isf(0.025, 9))), abs=1e-12)


def test_one_cluster_has_no_interval():
    """Rows of a single cluster say nothing of another one."""
    for values, clusters in [([1, 0, 1], "aaa"), ([1, 1], "aa"), ([0.5], "a")]:
        with pytest.raises(Undefined) as caught:
            rate_interval(values, clusters)
        assert caught.value.reason == "fewer than 2 clusters"


def test_a_rate_is_from_0_to_1_and_has_a_cluster():
    """Scores outside 0..1, and rows without a cluster, are mistakes."""
    with pytest.raises(ValueError, match="rates from 0 to 1"):
        rate_interval([0.5, 1.2], "ab")
    with pytest.raises(ValueError, match="one cluster per value"):
        rate_interval([0.5, 1.0], "abc")


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 6)), min_size=2, max_size=40))
def test_any_rates_have_an_interval_around_their_mean(rows):
    """Whatever the rates and clusters, the ends lie in 0..1, apart, on both sides of the mean."""
    values, clusters = zip(*rows, strict=True)
    assume(effective_clusters(clusters) >= 2)
    interval = rate_interval(values, clusters)
    assert 0 <= interval.low <= interval.high <= 1
    assert interval.low <= np.mean(values) + 1e-12
    assert interval.high >= np.mean(values) - 1e-12
    assert interval.high > interval.low


# --- the textbook's ---


@given(COUNTS, st.sampled_from([0.8, 0.95, 0.999]))
def test_the_normal_interval_is_statsmodels_and_says_where_it_fails(counts, level):
    """Any count has statsmodels' normal interval, cut at 0 and 1, marked where it has no width for want of spread."""
    k, n = counts
    interval = normal_interval(k, n, level)
    assert ends(interval) == pytest.approx(proportion_confint(k, n, 1 - level, "normal"), rel=1e-9, abs=1e-12)
    assert interval.degenerate == (k in (0, n))
    assert 0 <= interval.low <= k / n == proportion(k, n) <= interval.high <= 1
    assert (interval.level, interval.method) == (level, "normal")
    assert not wilson(k, n, level).degenerate


def test_a_standard_error_of_rows_all_alike_is_undefined():
    """At 0 and at n the formula says 0 of however few rows, so there is none; in between it is by hand."""
    assert proportion_se(45, 50) == pytest.approx(math.sqrt(0.9 * 0.1 / 50), rel=1e-12)
    for k in (0, 5000):
        with pytest.raises(Undefined) as caught:
            proportion_se(k, 5000)
        assert caught.value.reason == "all rows alike"


def test_three_in_n_is_near_the_exact_bound(cases):
    """None in 60: 3/60 is the mnemonic of 1 - 0.05^(1/60), and never below it (p15)."""
    expected = cases["p15"]["expected"]
    assert rule_of_three(60) == pytest.approx(expected["rule_of_three"], abs=1e-12)
    assert zero_event_bound(60) == pytest.approx(expected["one_sided_95_bound_exact"], abs=1e-12)
    assert all(rule_of_three(n) > zero_event_bound(n) for n in range(1, 2000))


def test_a_proportion_of_nothing_is_undefined():
    """No rows have no rate, interval or bound; NaN is no count; 3 of 2 is a mistake."""
    for function in (proportion, proportion_se, normal_interval):
        for k, n, reason in ((0, 0, "no rows"), (math.nan, 3, "non-finite value"), (1, math.nan, "non-finite value")):
            with pytest.raises(Undefined) as caught:
                function(k, n)
            assert caught.value.reason == reason
        for k in (3, -1):
            with pytest.raises(ValueError, match="successes of 2"):
                function(k, 2)
    with pytest.raises(Undefined, match="no rows"):
        rule_of_three(0)
    with pytest.raises(ValueError, match="level"):
        normal_interval(1, 2, 95)
