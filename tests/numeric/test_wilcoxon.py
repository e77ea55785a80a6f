"""Wilcoxon's signed-rank test."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from evalflow.numeric.undefined import Undefined
from evalflow.numeric.wilcoxon import wilcoxon

METHODS = ("wilcox", "pratt", "zsplit")


def by_hand(values, zero_method):
    """The share of all flips of the signs whose rank sums lie as far apart as those seen."""
    values = np.array([v for v in values if v] if zero_method == "wilcox" else values, dtype=float)
    ranks = stats.rankdata(np.abs(values))[values != 0]
    seen = abs((ranks * np.sign(values[values != 0])).sum())
    flips = np.array(list(product((1, -1), repeat=len(ranks))))
    return np.mean(np.abs(flips @ ranks) >= seen - 1e-9)


@pytest.mark.parametrize(
    ("n", "method"), [(12, "exact"), (35, "exact"), (50, "exact"), (51, "asymptotic"), (200, "asymptotic")]
)
def test_agrees_with_scipy_without_ties(n, method):
    """Real differences have scipy's statistic and p: exact up to 50, the normal approximation beyond."""
    values = np.random.default_rng(n).normal(0.2, size=n)
    said = stats.wilcoxon(values, method=method)
    test = wilcoxon(values)
    assert (test.statistic, test.p) == pytest.approx((said.statistic, said.pvalue), rel=1e-10)
    assert test.method == ("exact" if method == "exact" else "normal approximation")
    assert (test.n, test.zeros, test.zero_method) == (n, 0, "wilcox")


@pytest.mark.parametrize("zero_method", METHODS)
def test_agrees_with_scipy_with_many_ties(zero_method):
    """A hundred scores of -3..3 have scipy's corrected normal approximation, however zeros are dealt with."""
    values = np.random.default_rng(2).integers(-3, 4, size=100).astype(float)
    said = stats.wilcoxon(values, zero_method=zero_method, method="asymptotic")
    test = wilcoxon(values, zero_method)
    assert (test.statistic, test.p) == pytest.approx((said.statistic, said.pvalue), rel=1e-10)
    assert test.zeros == int((values == 0).sum()) > 0
    assert test.method == "normal approximation"


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=10), st.sampled_from(METHODS))
def test_few_differences_are_exact_with_ties_and_zeros(values, zero_method):
    """Of few differences p is the share of all flips, ties and zeros or not, and the same for either arm."""
    assume(np.count_nonzero(values) >= 2)
    test = wilcoxon(values, zero_method)
    assert test.p == pytest.approx(by_hand(values, zero_method), rel=1e-12)
    assert test.method == "exact"
    turned = wilcoxon([-v for v in reversed(values)], zero_method)
    assert (turned.p, turned.statistic) == (test.p, test.statistic)


@pytest.mark.parametrize("zero_method", METHODS)
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "no rows"),
        ([0.0, 0.0, 0.0], "all differences are 0"),
        ([3.0], "fewer than 2 differences beside 0"),
        ([0.0, 3.0], "fewer than 2 differences beside 0"),
        ([1.0, float("nan")], "non-finite value"),
    ],
)
def test_nothing_to_rank_is_undefined(values, reason, zero_method):
    """No rows, zeros alone or one difference have no test, where scipy says p 1 and nothing else."""
    with pytest.raises(Undefined) as caught:
        wilcoxon(values, zero_method)
    assert caught.value.reason == reason


def test_zeros_are_dealt_with_by_name():
    """Another word is refused."""
    with pytest.raises(ValueError, match="zero_method is drop"):
        wilcoxon([1.0, 2.0], "drop")
