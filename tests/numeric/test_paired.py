"""Paired t, non-inferiority and equivalence."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import betainc, mp, mpf
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from evalflow.numeric.paired import (
    constant_difference,
    differences,
    equivalence,
    is_equivalent,
    is_non_inferior,
    non_inferiority,
    paired_t,
)
from evalflow.numeric.undefined import Undefined

VALUES = st.lists(st.floats(-100, 100), min_size=3, max_size=30)


def arms(seed, n=25, shift=0.1):
    rng = np.random.default_rng(seed)
    before = rng.gamma(2.0, size=n)
    return before, before + rng.normal(shift, 0.4, size=n)


def reason(function, *arguments):
    with pytest.raises(Undefined) as caught:
        function(*arguments)
    return caught.value.reason


# --- differences ---


def test_a_difference_is_treatment_minus_baseline():
    """What the treatment has more is above 0."""
    assert differences([1, 5], [4, 3]).tolist() == [3.0, -2.0]


@pytest.mark.parametrize(
    ("before", "after"), [([0.1, 0.2, 0.3], [0.2, 0.3, 0.4]), ([1e6 + 0.1, 0.7], [1e6 + 0.2, 0.8])]
)
def test_last_bits_are_no_spread(before, after):
    """Pairs that are 0.1 apart as written have one difference, though their floats have several."""
    plain = np.subtract(after, before)
    assert plain.min() < plain.max()
    column = differences(before, after)
    assert column.min() == column.max() == pytest.approx(0.1, abs=1e-9)


def test_a_constant_difference_keeps_its_value():
    """Arms exactly 1 apart differ by exactly 1, and arms apart by rounding alone by exactly 0."""
    assert differences([1.0, 2.0], [2.0, 3.0]).tolist() == [1.0, 1.0]
    assert differences([1.0], [2.0]).tolist() == [1.0]
    assert differences([0.3, 0.3], [0.1 + 0.2, 0.3]).tolist() == [0.0, 0.0]


def test_a_small_spread_beside_a_large_value_is_kept():
    """Rounding is judged pair by pair: a pair of a million does not hide what small pairs differ by."""
    column = differences([1e6, 1e-10, 2e-10], [1e6, 3e-10, 5e-10])
    assert column.tolist() == pytest.approx([0.0, 2e-10, 3e-10], abs=1e-25)


def test_pairs_are_pairs():
    """Arms of unequal length, no pairs, and what is not finite are named."""
    with pytest.raises(ValueError, match="2 values of the baseline for 3 of the treatment"):
        differences([1, 2], [1, 2, 3])
    assert reason(differences, [], []) == "no rows"
    assert reason(differences, [1.0, math.nan], [1.0, 2.0]) == "non-finite value"
    assert reason(differences, [-1e308], [1.7e308]) == "non-finite result"


# --- the t-test ---


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_paired_t_agrees_with_scipy(seed, alpha):
    """t, p and the interval are those of scipy's ttest_rel."""
    before, after = arms(seed, n=5 * seed + 2)
    test = paired_t(differences(before, after), alpha)
    said = stats.ttest_rel(after, before)
    ends = said.confidence_interval(1 - alpha)
    assert (test.t, test.p) == pytest.approx((said.statistic, said.pvalue), rel=1e-9)
    assert (test.interval.low, test.interval.high) == pytest.approx((ends.low, ends.high), rel=1e-9, abs=1e-12)
    assert (test.n, test.interval.method, test.interval.level) == (5 * seed + 2, "t", 1 - alpha)


@pytest.mark.parametrize(("shift", "n"), [(0.3, 4), (2.0, 8), (3.0, 60)])
def test_far_tails_keep_their_digits(shift, n):
    """A p far below 1e-16 agrees with the incomplete beta function at 50 digits."""
    column = np.linspace(-1, 1, n) + shift
    test = paired_t(column)
    with mp.workdps(50):
        df = mpf(n - 1)
        tail = betainc(df / 2, mpf(1) / 2, 0, df / (df + mpf(test.t) ** 2), regularized=True)
    assert test.p == pytest.approx(float(tail), rel=1e-9)


def test_a_small_spread_far_from_0_keeps_its_digits():
    """Mean 1,000 and sd 1e-6: sums of squares would be wrong twelvefold, the t is right."""
    column = 1e3 + 1e-6 * np.array([-1.0, 0.0, 1.0, 2.0, -2.0])
    exact = [mpf(float(x)) for x in column]
    with mp.workdps(50):
        centre = sum(exact) / 5
        sd = mp.sqrt(sum((x - centre) ** 2 for x in exact) / 4)
        t = centre / (sd / mp.sqrt(5))
    assert paired_t(column).sd == pytest.approx(float(sd), rel=1e-9)
    assert paired_t(column).t == pytest.approx(float(t), rel=1e-9)


def test_p_is_never_0():
    """A difference of a million standard errors on 1,000 pairs is beyond a float, and still not impossible."""
    assert 0 < paired_t(np.linspace(-1, 1, 1000) + 1e6).p < 1e-300


@pytest.mark.parametrize("value", [0.0, 0.25, -3.0])
def test_no_spread_has_no_t(value):
    """Equal differences have no t, p or interval: scipy's would be NaN, or infinite with p 0."""
    for function in (
        lambda: paired_t([value] * 5),
        lambda: equivalence([value] * 5, 1.0),
        lambda: non_inferiority([value] * 5, 1.0),
    ):
        assert reason(function) == "zero variance"


def test_one_pair_has_no_t():
    """Of one pair there is no spread to know, whatever is asked."""
    for function in (paired_t, constant_difference):
        assert reason(function, [0.5]) == "n < 2"
    for function in (equivalence, non_inferiority, is_equivalent, is_non_inferior):
        assert reason(function, [0.0], 1.0) == "n < 2"
        assert reason(function, [], 1.0) == "no rows"
        assert reason(function, [0.0, math.nan], 1.0) == "non-finite value"


@given(VALUES, st.randoms())
def test_turning_the_arms_round_turns_t_round(values, random):
    """Swapped arms have the opposite t and interval and the same p, in whatever order the rows come."""
    assume(np.ptp(values) > 1e-6)
    test, turned = paired_t(values), paired_t([-v for v in values])
    assert (turned.t, turned.p) == (-test.t, test.p)
    assert (turned.interval.low, turned.interval.high) == (-test.interval.high, -test.interval.low)
    shuffled = random.sample(values, len(values))
    assert paired_t(shuffled).t == pytest.approx(test.t, rel=1e-9, abs=1e-12)
    assert 0 < test.p <= 1
    assert test.interval.low <= test.mean <= test.interval.high


# --- margins ---


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("margin", [0.0, 0.1, 0.4])
def test_margins_agree_with_statsmodels_and_scipy(seed, margin):
    """Both one-sided tests are statsmodels' and scipy's, and the interval is the 90 % one."""
    before, after = arms(seed)
    column = differences(before, after)
    p, low, high = ttost_paired(after, before, -margin, margin)
    test = equivalence(column, margin)
    assert (test.p, test.p_low, test.p_high) == pytest.approx((p, low[1], high[1]), rel=1e-9)
    assert non_inferiority(column, margin) == pytest.approx(
        stats.ttest_1samp(column, -margin, alternative="greater").pvalue, rel=1e-9
    )
    ends = stats.ttest_1samp(column, 0).confidence_interval(0.9)
    assert (test.interval.low, test.interval.high) == pytest.approx((ends.low, ends.high), rel=1e-9)
    assert test.interval.level == pytest.approx(0.9)


@given(VALUES, st.floats(0.01, 50), st.sampled_from([0.01, 0.05, 0.2]))
def test_equivalent_is_the_interval_inside_the_margin(values, margin, alpha):
    """The two one-sided tests pass just where their interval lies inside the margin."""
    assume(np.ptp(values) > 1e-6)
    test = equivalence(values, margin, alpha)
    reach = max(-test.interval.low, test.interval.high)
    assume(abs(reach - margin) > 1e-9 * margin)
    assert is_equivalent(values, margin, alpha) == (test.p <= alpha) == (reach < margin)
    assert test.p >= non_inferiority(values, margin)


@given(VALUES, st.floats(0, 50))
def test_equivalence_does_not_know_which_arm_is_which(values, margin):
    """Swapped arms are as equivalent, with the one-sided tests swapped too."""
    assume(np.ptp(values) > 1e-6)
    test, turned = equivalence(values, margin), equivalence([-v for v in values], margin)
    assert (test.p, test.p_low, test.p_high) == (turned.p, turned.p_high, turned.p_low)


def test_at_a_margin_of_0_nothing_is_equivalent():
    """A margin of 0 leaves no room: p is 1/2 or more, and identical arms are not strictly inside."""
    assert equivalence([0.1, -0.1, 0.3], 0.0).p >= 0.5
    assert not is_equivalent([0.0, 0.0], 0.0)
    assert not is_non_inferior([0.0, 0.0], 0.0)


@pytest.mark.parametrize(
    ("value", "margin", "equal", "no_worse"),
    [
        (0.0, 0.1, True, True),
        (0.05, 0.1, True, True),
        (0.1, 0.1, False, True),
        (-0.1, 0.1, False, False),
        (-0.2, 0.1, False, False),
        (7.0, 0.1, False, True),
    ],
)
def test_one_difference_is_judged_as_it_is(value, margin, equal, no_worse):
    """Arms apart by one number are equivalent where it is strictly inside the margin, though they have no t."""
    column = [value] * 4
    assert is_equivalent(column, margin) is equal
    assert is_non_inferior(column, margin) is no_worse
    assert constant_difference(column) == value


def test_what_varies_is_judged_by_its_p():
    """A difference that varies is decided by the tests, at the alpha asked for."""
    column = [0.1, -0.05, 0.02, 0.0, 0.03]
    assert constant_difference(column) is None
    assert is_equivalent(column, 0.2)
    assert not is_equivalent(column, 0.06)
    p = non_inferiority(column, 0.02)
    assert is_non_inferior(column, 0.02, p * 1.01)
    assert not is_non_inferior(column, 0.02, p * 0.99)


@pytest.mark.parametrize("margin", [-0.1, math.nan, math.inf])
def test_a_margin_is_a_width(margin):
    """A margin below 0, NaN or without end is refused everywhere."""
    for function in (non_inferiority, equivalence, is_non_inferior, is_equivalent):
        with pytest.raises(ValueError, match="margin is"):
            function([1.0, 2.0], margin)


def test_alpha_is_a_probability():
    """Alpha lies inside 0..1, and of two one-sided tests inside 0..0.5, as their interval is at 1 - 2 alpha."""
    with pytest.raises(ValueError, match="alpha is 5"):
        paired_t([1.0, 2.0], 5)
    for function in (equivalence, is_equivalent):
        with pytest.raises(ValueError, match=r"alpha is 0\.5"):
            function([1.0, 2.0], 0.1, 0.5)
    with pytest.raises(ValueError, match="alpha is 0"):
        is_non_inferior([1.0, 1.0], 0.1, 0)
