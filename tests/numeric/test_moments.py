"""Mean and standard deviation: order, range and scale do not matter."""

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import sem

from evalflow.numeric.moments import mean, sample_sd, standard_error
from evalflow.numeric.undefined import Undefined

FLOATS = st.floats(-1e6, 1e6)


def test_sd_by_hand():
    """Of 2, 4, 4, 4, 5, 5, 7, 9 the squares sum to 32 and the sd is sqrt(32 / 7)."""
    assert sample_sd([2, 4, 4, 4, 5, 5, 7, 9]) == pytest.approx((32 / 7) ** 0.5, rel=1e-15)


def test_sd_of_one_value_is_undefined():
    """One value has no spread; it is not 0."""
    with pytest.raises(Undefined) as caught:
        sample_sd([3.0])
    assert caught.value.reason == "n < 2"


@pytest.mark.parametrize("value", [0.1, 0.7, 1 / 3, 1e-300, 1e300, -0.3])
@pytest.mark.parametrize("n", [2, 3, 6, 10, 49])
def test_equal_values_have_no_spread_at_all(value, n):
    """Any number of equal values have exactly that mean and exactly sd 0, though sums of them round."""
    assert mean([value] * n) == value
    assert sample_sd([value] * n) == 0.0


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1.0, 1e30, 1e200])
def test_sd_scales(scale):
    """Squares that would vanish or overflow do not: the sd of scaled values is the scaled sd."""
    assert sample_sd(np.array([1.0, 2.0, 4.0]) * scale) == pytest.approx(scale * (7 / 3) ** 0.5, rel=1e-12)


def test_sd_far_from_zero_keeps_its_digits():
    """A mean of 1e3 and a spread of 1e-6, where sums of squares go wrong, agree with fractions."""
    values = (1e3 + 1e-6 * np.random.default_rng(0).normal(size=500)).tolist()
    assert sample_sd(values) == pytest.approx(statistics.stdev(values), rel=1e-12)


def test_sd_survives_a_mean_that_rounds():
    """At 1e16, where floats are 2 apart and the mean is between them, 0, 2, 2 above it have sd 2 / sqrt(3)."""
    assert sample_sd([1e16, 1e16 + 2, 1e16 + 2]) == pytest.approx(2 / 3**0.5, rel=1e-12)


@given(st.lists(FLOATS, min_size=2, max_size=30))
def test_sd_agrees_with_exact_fractions(values):
    """Any column has the sd that the standard library computes in exact fractions."""
    assert sample_sd(values) == pytest.approx(statistics.stdev(values), rel=1e-9, abs=1e-300)


@given(st.lists(FLOATS, min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_mean_stays_in_range_and_ignores_order(values, random):
    """The mean lies between the least and the largest value, and shuffling does not move its last digit."""
    shuffled = list(values)
    random.shuffle(shuffled)
    assert min(values) <= mean(values) <= max(values)
    assert mean(shuffled) == mean(values)


def test_a_standard_error_is_scipys_and_needs_two():
    """The sd over the root of n, which is not 0 for one value but undefined."""
    values = [2, 4, 4, 4, 5, 5, 7, 9]
    assert standard_error(values) == pytest.approx(sem(values), rel=1e-14)
    for few, reason in (([3.0], "n < 2"), ([], "no rows")):
        with pytest.raises(Undefined) as caught:
            standard_error(few)
        assert caught.value.reason == reason
