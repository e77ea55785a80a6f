"""Percentiles of numbers that are kept, and of numbers that are only binned."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalflow.numeric.histogram import RELATIVE_ERROR, Distribution, binned
from evalflow.numeric.undefined import Undefined

SHARES = (0.5, 0.9, 0.95, 0.99, 0.999)
NUMBERS = st.lists(st.floats(0, 1e300), min_size=1, max_size=60)


def filled(*parts, most=1_000_000):
    found = Distribution(most)
    for part in parts:
        found.add(part)
    return found


def long_tailed(n, seed=0):
    """Numbers from 1e-12 to 10, as divergences are."""
    return np.exp(np.random.default_rng(seed).normal(-8, 4, size=n))


def test_bins_by_hand():
    """From 1 to 2 there are 1,024 bins: 1 and 1.0005 share one, 1.001 has the next; 0 has its own."""
    middles, counts = binned([1.0, 1.0005, 1.001, 0.0, 0.0])
    assert counts.tolist() == [2, 2, 1]
    assert middles.tolist() == [0.0, 1 + 0.5 / 1024, 1 + 1.5 / 1024]


@given(NUMBERS)
def test_a_middle_is_near_every_number_of_its_bin(numbers):
    """By the stated share of the number, over the whole range of floats."""
    for number in numbers:
        middle = binned([number])[0][0]
        assert abs(middle - number) <= RELATIVE_ERROR * max(number, 1e-307)


def test_the_largest_floats_have_bins():
    """The last bin's middle is a float, too."""
    assert binned([1.7e308, np.finfo(float).max])[0][-1] == pytest.approx(1.797e308, rel=1e-3)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_what_has_no_bin_is_refused(bad):
    """Negative, NaN and infinite."""
    with pytest.raises(ValueError, match="give numbers from 0 up"):
        binned([1.0, bad])


def test_few_numbers_have_numpys_percentiles():
    """Type 7 exactly, and the largest."""
    numbers = long_tailed(5000)
    found = filled(numbers)
    assert found.exact
    for share in SHARES:
        assert found.quantile(share) == pytest.approx(np.quantile(numbers, share), rel=1e-14)
    assert found.largest() == numbers.max()


def test_many_numbers_have_them_to_the_stated_error():
    """Beyond `most` percentiles are off by at most that share, and the largest is still exact."""
    numbers = np.concatenate([long_tailed(5000), np.zeros(100)])
    found = filled(numbers, most=1000)
    assert not found.exact
    for share in (0.001, *SHARES):
        assert found.quantile(share) == pytest.approx(np.quantile(numbers, share), rel=RELATIVE_ERROR)
    assert found.largest() == numbers.max()


@pytest.mark.parametrize("most", [10_000, 999])
def test_no_split_or_order_moves_a_percentile(most):
    """Seven parts, put together in any order and grouping, say bit for bit what one pass says."""
    numbers = long_tailed(3000, seed=1)
    whole = filled(numbers, most=most)
    parts = [filled(part, most=most) for part in np.array_split(numbers, [100, 500, 501, 1800, 2900, 2950])]
    forward, backward = parts[0], parts[-1]
    for part in parts[1:]:
        forward = forward.merge(part)
    for part in parts[-2::-1]:
        backward = backward.merge(part)
    nested = parts[0].merge(parts[1]).merge(parts[2].merge(parts[3].merge(parts[4])).merge(parts[5])).merge(parts[6])
    for found in (forward, backward, nested):
        assert found.exact == whole.exact
        assert [found.quantile(share) for share in SHARES] == [whole.quantile(share) for share in SHARES]
        assert (found.n, found.largest()) == (whole.n, whole.largest())


def test_merging_changes_neither_part():
    """Each still says its own."""
    one, other = filled([1.0, 2.0]), filled([5.0])
    assert one.merge(other).largest() == 5.0
    assert (one.n, one.largest(), other.n) == (2, 2.0, 1)


def test_infinite_numbers_count_and_come_last():
    """Two of ten: the median is finite, the ninth decile is not."""
    numbers = [*range(8), np.inf, np.inf]
    for most in (100, 5):
        found = filled(numbers, most=most)
        assert found.n_infinite == 2
        assert found.quantile(0.5) == pytest.approx(4.5, rel=RELATIVE_ERROR)
        assert found.quantile(0.9) == found.largest() == np.inf
    only = filled([np.inf] * 3)
    assert only.quantile(0.5) == np.inf


def test_one_number_many_times_is_itself():
    """A bin's middle never leaves the range of what was seen."""
    assert filled([0.1] * 50, most=10).quantile(0.5) == 0.1


def test_nothing_has_no_percentile():
    """And few have none far out, as everywhere."""
    with pytest.raises(Undefined, match="no rows"):
        filled().quantile(0.5)
    with pytest.raises(Undefined, match="no rows"):
        filled().largest()
    with pytest.raises(Undefined, match="p99 needs n >= 100, has 99"):
        filled(range(99)).quantile(0.99)


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_what_is_no_size_is_refused(bad):
    """Negative numbers and NaN are never dropped in silence."""
    with pytest.raises(ValueError, match="a value is below 0 or NaN"):
        filled([1.0, bad])
