"""Quantiles: one rule, enough values, and intervals without a law."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalflow.numeric.quantile import least_n, quantile, quantile_interval, quantiles, type7
from evalflow.numeric.undefined import Undefined

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=120)


def below(k: int, n: int, q: Fraction) -> Fraction:
    """P(X <= k) for X ~ Binomial(n, q), exactly."""
    return sum((comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(k + 1)), Fraction(0))


def test_published_case(cases):
    """Ten latencies have the type 7 quantiles, not the exclusive ones (p27)."""
    case = cases["p27"]
    got = [type7(case["input"]["values"], q) for q in case["input"]["q"]]
    assert got == pytest.approx(case["expected"]["linear_type7"], abs=1e-9)
    assert quantile(case["input"]["values"], 0.5) == pytest.approx(1.15, abs=1e-12)


def test_by_hand():
    """Of 0..20, p95 is at position 19; of 1..100, p99 is at 98.01 counted from 0."""
    assert quantile(range(21), 0.95) == 19.0
    assert quantile(range(1, 101), 0.99) == pytest.approx(99.01, abs=1e-12)
    assert quantile([7.0], 0.5) == 7.0
    assert (type7([3, 1, 2], 0), type7([3, 1, 2], 1)) == (1.0, 3.0)


@given(VALUES, st.floats(0.01, 0.99))
def test_type7_is_numpys_and_stays_in_range(values, q):
    """Any quantile lies between the least and the largest value, as numpy's linear rule has it."""
    assert type7(values, q) == pytest.approx(np.percentile(values, 100 * q), rel=1e-9, abs=1e-9)
    assert min(values) <= type7(values, q) <= max(values)


@pytest.mark.parametrize(
    ("q", "n"),
    [
        *[(0.05, 1), (0.25, 1), (0.5, 1), (0.75, 4), (0.8, 5), (0.9, 10), (0.95, 20), (0.975, 40)],
        *[(0.99, 100), (0.995, 200), (0.999, 1000), (0.9999, 10_000), (2 / 3, 3), (np.float64(0.9), 10)],
    ],
)
def test_least_n_is_exact(q, n):
    """One value's worth lies beyond the percentile, in decimals and not in floats."""
    assert least_n(q) == n


@pytest.mark.parametrize(
    ("q", "n", "reason"),
    [
        (0.95, 19, "p95 needs n >= 20, has 19"),
        (0.999, 999, "p99.9 needs n >= 1000, has 999"),
        (0.9, 1, "p90 needs n >= 10, has 1"),
    ],
)
def test_too_few_values_have_no_percentile(q, n, reason):
    """A percentile of too few values is undefined and says what it needs; one more value and it is there."""
    with pytest.raises(Undefined) as caught:
        quantile(range(n), q)
    assert caught.value.reason == reason
    assert quantile(range(least_n(q)), q) == pytest.approx(q * (least_n(q) - 1), rel=1e-12)


@pytest.mark.parametrize("q", [0.0, 1.0, 95, -0.1, float("nan")])
def test_a_quantile_is_strictly_between_0_and_1(q):
    """95 is not 0.95."""
    for function in (
        lambda: least_n(q),
        lambda: quantile([1.0], q),
        lambda: quantile_interval([1.0] * 99, q),
    ):
        with pytest.raises(ValueError, match="q is"):
            function()
    with pytest.raises(ValueError, match="q is"):
        type7([1.0], 95)


def test_median_of_ten_by_hand():
    """Of ten values the 95 % interval of the median runs from the 2nd to the 9th: P(X <= 1) = 11 / 1024."""
    interval = quantile_interval([9, 3, 7, 1, 5, 0, 2, 8, 4, 6], 0.5)
    assert (interval.low, interval.high) == (1.0, 8.0)
    assert (interval.level, interval.method) == (0.95, "order statistics")


@pytest.mark.parametrize("q", ["0.05", "0.5", "0.9", "0.95"])
@pytest.mark.parametrize("level", ["0.8", "0.95"])
@pytest.mark.parametrize("n", [8, 33, 80, 150])
def test_ranks_are_the_tightest_that_hold_each_side(q, level, n):
    """By exact fractions each end misses with at most (1 - level) / 2; one rank further in misses more."""
    exact_q, tail = Fraction(q), (1 - Fraction(level)) / 2
    possible = max(exact_q, 1 - exact_q) ** n <= tail
    if not possible:
        with pytest.raises(Undefined, match="interval needs n >="):
            quantile_interval(range(1, n + 1), float(q), float(level))
        return
    interval = quantile_interval(range(1, n + 1), float(q), float(level))
    low, high = int(interval.low), int(interval.high)
    assert below(low - 1, n, exact_q) <= tail < below(low, n, exact_q)
    assert 1 - below(high - 1, n, exact_q) <= tail < 1 - below(high - 2, n, exact_q)


@pytest.mark.parametrize(("q", "least"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.05, 72), (0.99, 368)])
def test_an_interval_needs_more_values_than_its_quantile(q, least):
    """The median has a 95 % interval from 6 values on and p95 from 72 (0.95^72 = 0.0249)."""
    quantile_interval(range(least), q)
    with pytest.raises(Undefined) as caught:
        quantile_interval(range(least - 1), q)
    assert caught.value.reason == f"p{100 * q:g} interval needs n >= {least}, has {least - 1}"


@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=120))
def test_the_interval_holds_the_median_of_the_sample(values):
    """Where there is an interval of the median, it holds the sample's own."""
    interval = quantile_interval(values, 0.5)
    assert interval.low <= np.median(values) <= interval.high


def test_several_quantiles_at_once(cases):
    """A list of q gives a list of type 7 quantiles (p27)."""
    case = cases["p27"]
    assert quantiles(case["input"]["values"], case["input"]["q"]) == pytest.approx(case["expected"]["linear_type7"])
    assert quantiles([3.0, 1.0], [0, 0.5, 1]) == [1.0, 2.0, 3.0]
    assert quantiles([3.0], []) == []


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_among_the_values_is_refused(bad):
    """Quantiles of values that hold NaN depend on where it sorts, and are refused with its place."""
    with pytest.raises(ValueError, match=f"value 1 is {bad}"):
        quantiles([1.0, bad, 2.0], [0.5])
    with pytest.raises(Undefined, match="no rows"):
        quantiles([], [0.5])
    with pytest.raises(ValueError, match="q is 95"):
        quantiles([1.0], [0.5, 95])


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("n", [80, 1000])
def test_an_interval_of_order_statistics_is_scipys(q, n):
    """Both one-sided bounds of scipy's binomial quantile test are the interval's ends."""
    values = np.random.default_rng(n).gamma(2.0, size=n)
    interval = quantile_interval(values, q)
    low = stats.quantile_test(values, q=np.quantile(values, q), p=q, alternative="greater")
    high = stats.quantile_test(values, q=np.quantile(values, q), p=q, alternative="less")
    assert interval.high == high.confidence_interval(0.975).high
    assert interval.low == low.confidence_interval(0.975).low
