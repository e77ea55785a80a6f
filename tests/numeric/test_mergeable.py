"""Moments of parts, put together, are the moments of the whole."""

import math
import statistics
from functools import reduce

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from evalflow.numeric.mergeable import CrossMoments, Moments
from evalflow.numeric.undefined import Undefined

FLOATS = st.floats(-1e6, 1e6)
PARTS = st.lists(st.lists(FLOATS, max_size=8), min_size=1, max_size=6)


def merged(parts, kind=Moments):
    return reduce(kind.merge, parts, kind())


def test_moments_by_hand():
    """Of 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squared deviations 32, hence sd sqrt(32 / 7) and root mean square sqrt(29)."""
    found = Moments.of([2, 4, 4, 4, 5, 5, 7, 9])
    assert found == Moments(8, 5.0, 32.0, 2.0, 9.0)
    assert (found.total, found.average()) == (40.0, 5.0)
    assert found.sd() == pytest.approx(math.sqrt(32 / 7), rel=1e-15)
    assert found.root_mean_square() == pytest.approx(math.sqrt(29), rel=1e-15)


@given(PARTS)
def test_parts_add_up_to_the_whole(parts):
    """In order or backwards, with empty ones among them, against exact fractions."""
    whole = [value for part in parts for value in part]
    for order in (parts, parts[::-1]):
        found = merged(map(Moments.of, order))
        assert found.count == len(whole)
        if not whole:
            continue
        assert found.average() == pytest.approx(statistics.fmean(whole), rel=1e-9, abs=1e-9)
        assert (found.least, found.largest) == (min(whole), max(whole))
        if len(whole) > 1:
            assert found.sd() == pytest.approx(statistics.stdev(whole), rel=1e-9, abs=1e-6)


def test_nothing_merged_changes_nothing():
    """From either side, to the last digit."""
    some = Moments.of([0.1, 0.7])
    assert some.merge(Moments()) == Moments().merge(some) == some
    pairs = CrossMoments.of([0.1, 0.7], [1.0, 3.0])
    assert pairs.merge(CrossMoments()) == CrossMoments().merge(pairs) == pairs


@pytest.mark.parametrize("value", [0.1, 1 / 3, -0.7, 1e300])
def test_equal_values_have_no_spread_however_split(value):
    """Exactly that mean and exactly sd 0, in parts of three, seven and one."""
    found = merged(Moments.of([value] * n) for n in (3, 7, 1))
    assert (found.average(), found.sd(), found.constant) == (value, 0.0, True)


def test_digits_survive_a_mean_far_from_0():
    """A spread of 1e-6 at 1e3, in two parts, where sums of squares go wrong twelvefold."""
    values = (1e3 + 1e-6 * np.random.default_rng(0).normal(size=500)).tolist()
    found = Moments.of(values[:200]).merge(Moments.of(values[200:]))
    assert found.sd() == pytest.approx(statistics.stdev(values), rel=1e-9)


def test_infinite_values_are_counted_and_not_added():
    """The mean is then infinite and there is no spread, while the others' sum stays."""
    found = Moments.of([1.0, math.inf, 3.0]).merge(Moments.of([math.inf]))
    assert (found.count, found.n_infinite, found.total) == (2, 2, 4.0)
    assert found.average() == math.inf
    for figure in (found.sd, found.root_mean_square):
        with pytest.raises(Undefined, match="infinite value"):
            figure()
    assert not found.constant


@pytest.mark.parametrize("bad", [math.nan, -math.inf])
def test_what_is_no_value_is_refused(bad):
    """NaN, and what no NLL can be."""
    with pytest.raises(Undefined, match="non-finite value"):
        Moments.of([1.0, bad])


def test_what_has_no_figure():
    """Nothing has no mean, one value no sd, and neither is 0."""
    with pytest.raises(Undefined, match="no rows"):
        Moments().average()
    with pytest.raises(Undefined, match="no rows"):
        Moments().root_mean_square()
    with pytest.raises(Undefined, match="n < 2"):
        Moments.of([1.0]).sd()
    assert not Moments().constant
    with pytest.raises(Undefined, match="n < 2"):
        CrossMoments.of([1.0], [2.0]).correlation()
    with pytest.raises(Undefined, match="zero variance"):
        CrossMoments.of([1.0, 1.0], [2.0, 3.0]).correlation()
    with pytest.raises(ValueError, match="2 values beside 1"):
        CrossMoments.of([1.0, 2.0], [2.0])


def test_squares_beyond_a_float_leave_no_spread():
    """Mean and ends stay; sd and correlation are undefined, without a warning, and never 0 or NaN."""
    huge = Moments.of([1e300, -1e300, 3e300])
    assert (huge.average(), huge.largest) == (1e300, 3e300)
    with pytest.raises(Undefined, match="non-finite result"):
        huge.sd()
    for other in ([1.0, 2.0, 4.0], [1e300, 2e300, -1e300]):
        with pytest.raises(Undefined, match="non-finite result"):
            CrossMoments.of([1e300, -1e300, 3e300], other).correlation()


@given(st.lists(st.lists(st.tuples(FLOATS, FLOATS), max_size=8), min_size=1, max_size=5))
def test_correlations_of_parts_are_scipys_of_the_whole(parts):
    """However the pairs are split."""
    pairs = np.array([pair for part in parts for pair in part]).reshape(-1, 2)
    assume(len(pairs) > 2 and pairs.std(axis=0).min() > 1e-3)
    split = [np.array(part).reshape(-1, 2) for part in parts]
    found = merged((CrossMoments.of(part[:, 0], part[:, 1]) for part in split), CrossMoments)
    expected = stats.pearsonr(pairs[:, 0], pairs[:, 1]).statistic
    assert found.correlation() == pytest.approx(expected, abs=1e-7)
