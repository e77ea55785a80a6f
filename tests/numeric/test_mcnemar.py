"""McNemar's test."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from evalflow.numeric.mcnemar import mcnemar, mcnemar_chi2
from evalflow.numeric.sign import sign_test
from evalflow.numeric.undefined import Undefined

COUNTS = st.tuples(st.integers(0, 200), st.integers(0, 200))


@pytest.mark.parametrize(("a", "b"), [(12, 3), (0, 1), (5, 5), (30, 12), (0, 25), (150, 200)])
def test_agrees_with_statsmodels_and_fractions(a, b):
    """Exact p and chi-square are statsmodels', mid-p that of exact fractions."""
    exact = statsmodels_mcnemar([[0, a], [b, 0]], exact=True)
    chi2 = statsmodels_mcnemar([[0, a], [b, 0]], exact=False, correction=True)
    assert mcnemar(a, b).p == pytest.approx(exact.pvalue, rel=1e-10)
    assert mcnemar_chi2(a, b) == pytest.approx((chi2.statistic, chi2.pvalue), rel=1e-10)
    m, k = a + b, min(a, b)
    mid = Fraction(2 * sum(comb(m, i) for i in range(k + 1)) - comb(m, k), 2**m)
    assert mcnemar(a, b).p_mid == pytest.approx(float(min(mid, 1)), rel=1e-10)


def test_no_discordant_pair_shows_nothing():
    """Arms right on the same items have p 1 and no chi-square, where statsmodels says p 0 of an infinite one."""
    test = mcnemar(0, 0)
    assert (test.p, test.p_mid) == (1.0, 1.0)
    with pytest.raises(Undefined) as caught:
        mcnemar_chi2(0, 0)
    assert caught.value.reason == "no discordant pair"


@given(COUNTS)
def test_it_is_the_sign_test_and_knows_no_sides(counts):
    """Counts give what their signs give, the same the other way round, and mid-p is the smaller."""
    a, b = counts
    test = mcnemar(a, b)
    assert test == mcnemar(b, a)
    assert 0 < test.p_mid <= test.p <= 1
    if a + b:
        signs = sign_test([1] * a + [-1] * b)
        assert (signs.p, signs.p_mid) == (test.p, test.p_mid)
        assert mcnemar_chi2(a, b) == mcnemar_chi2(b, a)


@pytest.mark.parametrize(("a", "b", "error"), [(-1, 3, ValueError), (3, -1, ValueError), (1.5, 2, TypeError)])
def test_counts_are_counted(a, b, error):
    """A count below 0 or between integers is refused."""
    for function in (mcnemar, mcnemar_chi2):
        with pytest.raises(error):
            function(a, b)
