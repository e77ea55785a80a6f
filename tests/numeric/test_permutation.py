"""The sign-flip permutation test."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import evalflow.numeric.permutation as permutation
from evalflow.numeric.permutation import exact_p, sign_flip_test
from evalflow.numeric.sign import sign_test
from evalflow.numeric.undefined import Undefined

NUMBERS = st.integers(-20, 20)
MANY = np.random.default_rng(3).normal(0.25, 1.0, size=60)


def by_hand(values):
    """The share of all sign patterns of integers whose |sum| is at least the one seen."""
    seen = abs(sum(values))
    sums = [
        abs(sum(s * v for s, v in zip(signs, values, strict=True))) for signs in product((1, -1), repeat=len(values))
    ]
    return sum(one >= seen for one in sums) / len(sums)


@given(st.lists(NUMBERS, min_size=1, max_size=9))
def test_all_flips_are_counted(values):
    """Of few units p is the share of all sign patterns, zeros among them, in any order and for either arm."""
    test = sign_flip_test(values, seed=0)
    assert test.exact
    assert test.p == pytest.approx(by_hand(values), rel=1e-12)
    assert sign_flip_test(sorted(values), seed=0) == test
    assert sign_flip_test([-v for v in values], seed=0) == test
    assert test.smallest_p <= test.p <= 1


@pytest.mark.parametrize("seed", range(4))
def test_exact_agrees_with_scipy(seed):
    """Eleven real differences have the p of scipy's exact permutation test."""
    values = np.random.default_rng(seed).normal(0.5, size=11)
    said = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True, axis=0
    )
    assert sign_flip_test(values, 0).p == pytest.approx(said.pvalue, rel=1e-12)


def test_ties_are_ties_though_their_sums_round_apart():
    """Decimals whose sums are equal as written count as equal: 0.1 + 0.2 is as far from 0 as 0.3."""
    tenths = [1, 2, 3, -3, 2, 1, -1]
    assert sign_flip_test([t / 10 for t in tenths], 0).p == pytest.approx(by_hand(tenths), rel=1e-12)


def test_signs_alone_are_the_sign_test():
    """Where every difference is 1 or -1 the test is the exact sign test."""
    values = [1.0] * 12 + [-1.0] * 3 + [0.0] * 5
    test = sign_flip_test(values, 0)
    assert test.p == pytest.approx(sign_test(values).p, rel=1e-12)
    assert (test.n, test.n_flipped, test.n_draws, test.smallest_p) == (20, 15, 0, 2.0**-14)


def test_nothing_to_flip_shows_nothing():
    """Where every pair ties, or there is one, p is 1."""
    assert sign_flip_test([0.0, 0.0], 0).p == 1.0
    assert sign_flip_test([5.0], 0).p == 1.0
    assert exact_p(np.array([]), 0.0) == 1.0


def test_draws_agree_with_all_flips():
    """Drawn flips come within their own error of the exact p, and are never 0."""
    values = np.random.default_rng(5).normal(0.4, size=16)
    exact = sign_flip_test(values, 0).p
    drawn = sign_flip_test(values, 0, n_draws=20_000, exact_up_to=0)
    assert (drawn.exact, drawn.n_draws) == (False, 20_000)
    assert drawn.p == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 20_000) ** 0.5 + 1e-4)
    sure = sign_flip_test(np.ones(100), 0, n_draws=999)
    assert sure.p == sure.smallest_p == 1 / 1000


@pytest.mark.parametrize("at_once", [1, 100, 1 << 20])
def test_chunks_change_nothing(monkeypatch, at_once):
    """However many tosses are drawn at a time, p is the same; another seed draws others."""
    want = sign_flip_test(MANY, 7, 500)
    monkeypatch.setattr(permutation, "_DRAWS_AT_ONCE", at_once)
    assert sign_flip_test(MANY, 7, 500) == want
    assert sign_flip_test(MANY, 8, 500) != want


@given(st.lists(st.floats(-10, 10), min_size=25, max_size=40), st.integers(0, 99), st.randoms())
@settings(max_examples=30)
def test_drawn_flips_know_neither_rows_nor_arms(values, seed, random):
    """The order of the rows and which arm is the treatment move no drawn p either."""
    test = sign_flip_test(values, seed, 200, exact_up_to=5)
    assert sign_flip_test(random.sample(values, len(values)), seed, 200, exact_up_to=5) == test
    assert sign_flip_test([-v for v in values], seed, 200, exact_up_to=5) == test


def test_rows_of_a_cluster_flip_together():
    """Clusters are flipped as their totals are."""
    values, clusters = [3, 1, -2, 4, 4, 0], ["a", "b", "a", "c", "c", "b"]
    test = sign_flip_test(values, 0, clusters=clusters)
    assert test.p == by_hand([1, 1, 8])
    assert (test.n, test.n_flipped) == (3, 3)


def test_arguments_are_checked():
    """No draws, an enumeration without end, a cluster too few, and NaN are named."""
    with pytest.raises(ValueError, match="n_draws is 0"):
        sign_flip_test([1.0], 0, n_draws=0)
    with pytest.raises(ValueError, match="exact_up_to is 60"):
        sign_flip_test([1.0], 0, exact_up_to=60)
    with pytest.raises(ValueError, match="clusters"):
        sign_flip_test([1.0, 2.0], 0, clusters=["a"])
    with pytest.raises(ValueError, match="seed"):
        sign_flip_test(MANY, -1)
    for values, reason in (([], "no rows"), ([float("nan")], "non-finite value"), ([1e308] * 4, "non-finite result")):
        with pytest.raises(Undefined) as caught:
            sign_flip_test(values, 0)
        assert caught.value.reason == reason
