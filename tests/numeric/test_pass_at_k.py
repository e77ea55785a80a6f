"""pass@k: by enumeration, beside mpmath, and where there is none."""

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from evalflow.numeric.pass_at_k import mean_pass_at_k, pass_at_k
from evalflow.numeric.undefined import Undefined


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_it_is_the_share_of_subsets_with_a_right_sample(case):
    """Counted one by one over all k-subsets."""
    n, correct, k = case
    hits = sum(any(sample < correct for sample in subset) for subset in combinations(range(n), k))
    assert pass_at_k(n, correct, k) == hits / comb(n, k)


def exact(n, correct, k):
    """By mpmath, to 40 digits: the product over k factors."""
    with mp.workdps(40):
        miss = mpf(1)
        for i in range(k):
            miss *= mpf(n - correct - i) / (n - i)
        return float(1 - miss)


@pytest.mark.parametrize(
    ("n", "correct", "k"),
    [(2000, 3, 100), (2001, 3, 100), (2001, 1000, 10), (10**6, 1, 1), (10**6, 7, 5000), (10**9, 1, 3), (10**6, 40, 9)],
)
def test_large_numbers_lose_no_digits(n, correct, k):
    """Beyond exact integers it still agrees with 40 digits, also where the chance is one in a thousand million."""
    assert pass_at_k(n, correct, k) == pytest.approx(exact(n, correct, k), rel=1e-13)


@given(st.integers(2001, 10**7), st.integers(1, 10**7), st.integers(1, 10**7))
def test_samples_and_draws_change_places(n, correct, k):
    """C(n - c, k) / C(n, k) is symmetric in c and k; more right samples never hurt."""
    correct, k = min(correct, n), min(k, n)
    found = pass_at_k(n, correct, k)
    assert 0.0 < found <= 1.0
    assert found == pass_at_k(n, k, correct)
    assert found <= pass_at_k(n, min(n, correct + 1), k)


def test_the_edges():
    """None right is 0 exactly; fewer wrong ones than draws is 1 exactly; k = 1 is the share."""
    assert pass_at_k(10, 0, 10) == pass_at_k(10**6, 0, 5) == 0.0
    assert pass_at_k(10, 6, 5) == pass_at_k(10**6, 10**6, 1) == 1.0
    assert pass_at_k(7, 3, 1) == 3 / 7
    assert pass_at_k(10**12, 10**9, 10**9) == 1.0


def test_the_mean_weighs_items_alike():
    """1 of 2 and 1 of 4 at k = 1; no items have no mean."""
    assert mean_pass_at_k([(2, 1), (4, 1)], 1) == 0.375
    with pytest.raises(Undefined, match="no rows"):
        mean_pass_at_k([], 1)


@pytest.mark.parametrize(
    ("n", "correct", "k", "message"),
    [
        (3, 0, 4, "3 samples for pass@4; give at least 4 an item"),
        (0, 0, 1, "0 samples for pass@1"),
        (3, 4, 1, "4 correct of 3"),
        (3, -1, 1, "-1 correct of 3"),
        (3, 1, 0, "k is 0; give at least 1"),
    ],
)
def test_what_has_no_estimate_is_refused(n, correct, k, message):
    """Too few samples are not 0 and not 1."""
    with pytest.raises(ValueError, match=message):
        pass_at_k(n, correct, k)


def test_more_samples_than_a_machine_word_counts():
    """One right of 2^64, half of them drawn: a half."""
    assert pass_at_k(2**64, 1, 2**63) == pytest.approx(0.5, rel=1e-12)


def test_counts_are_whole():
    """Half a sample is a mistake."""
    with pytest.raises(TypeError):
        pass_at_k(10, 2.5, 1)
