"""The exact sign test."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar

from evalflow.numeric.sign import sign_test, two_sided_p


def signs(wins: int, losses: int, ties: int = 0) -> list[int]:
    return [1] * wins + [-1] * losses + [0] * ties


def test_published_cases(cases):
    """12 wins and 3 losses give the p and mid-p of three published cases (p12, p13, hc12)."""
    sign_case, mcnemar_case, harness = cases["p12"], cases["p13"], cases["hc12"]["expected"]
    test = sign_test([a - b for a, b in zip(sign_case["input"]["a"], sign_case["input"]["b"], strict=True)])
    assert (test.wins, test.losses, test.ties) == (12, 3, 5)
    assert test.p == pytest.approx(sign_case["expected"]["p"], abs=1e-12)
    assert test.p == pytest.approx(mcnemar_case["expected"]["p_exact"], abs=1e-12)
    assert test.p_mid == pytest.approx(mcnemar_case["expected"]["p_midp"], abs=1e-12)
    assert (test.p, test.p_mid) == pytest.approx((harness["mcnemar_exact_p"], harness["mcnemar_mid_p"]), abs=1e-6)


@pytest.mark.parametrize(("wins", "losses"), [(0, 1), (1, 1), (2, 1), (7, 7), (30, 12), (0, 40), (200, 150)])
def test_agrees_with_scipy_statsmodels_and_fractions(wins, losses):
    """p is that of two other libraries, and the mid-p that of exact fractions."""
    test = sign_test(signs(wins, losses, ties=3))
    assert test.p == pytest.approx(binomtest(wins, wins + losses).pvalue, rel=1e-10)
    assert test.p == pytest.approx(mcnemar([[0, wins], [losses, 0]], exact=True).pvalue, rel=1e-10)
    m, k = wins + losses, min(wins, losses)
    mid = Fraction(2 * sum(comb(m, i) for i in range(k + 1)) - comb(m, k), 2**m)
    assert test.p_mid == pytest.approx(float(min(mid, 1)), rel=1e-10)


def test_no_discordant_pair_shows_nothing():
    """Where every pair ties, p is 1 and nothing was reachable."""
    test = sign_test([0.0, 0.0, 0.0])
    assert (test.wins, test.losses, test.ties, test.p, test.p_mid) == (0, 0, 3, 1.0, 1.0)
    assert (test.smallest_p, test.reachable) == (1.0, False)


@pytest.mark.parametrize(("discordant", "smallest"), [(1, 1.0), (2, 0.5), (5, 0.0625), (6, 0.03125), (10, 2**-9)])
def test_five_discordant_pairs_cannot_reach_005(discordant, smallest):
    """The best that m pairs can do is 2^(1 - m), which is under 0.05 from 6 on; all wins attain it."""
    test = sign_test(signs(discordant, 0, ties=100))
    assert test.smallest_p == smallest
    assert test.p == pytest.approx(smallest, rel=1e-12)
    assert test.reachable == (discordant >= 6)
    assert sign_test(signs(discordant, 0), alpha=0.5).reachable == (discordant >= 2)


def test_p_is_never_0():
    """3,000 wins to none are beyond a float, and still not impossible."""
    test = sign_test(signs(3000, 0))
    assert 0 < test.p <= 1e-300
    assert 0 < test.p_mid <= 1e-300
    assert test.smallest_p > 0


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=60))
def test_turning_the_arms_round_changes_only_the_sides(differences):
    """Swapping the arms swaps wins and losses and leaves p, which is between its mid-p or smallest and 1."""
    test, turned = sign_test(differences), sign_test([-d for d in differences])
    assert (test.wins, test.losses, test.p, test.p_mid) == (
        turned.losses,
        turned.wins,
        turned.p,
        turned.p_mid,
    )
    assert 0 < test.p_mid <= test.p <= 1
    assert test.p >= test.smallest_p * (1 - 1e-12)
    assert test.wins + test.losses + test.ties == len(differences)


def test_alpha_is_a_probability():
    """An alpha of 5 is refused."""
    with pytest.raises(ValueError, match="alpha"):
        sign_test([1.0], alpha=5)


def test_counts_alone_have_the_same_p():
    """Counts give the p of their signs, 1 of none; a count below 0 or between integers is refused."""
    assert two_sided_p(12, 3) == (sign_test(signs(12, 3)).p, sign_test(signs(12, 3)).p_mid)
    assert two_sided_p(0, 0) == (1.0, 1.0)
    with pytest.raises(ValueError, match="a count is -1"):
        two_sided_p(-1, 4)
    with pytest.raises(TypeError):
        two_sided_p(1.5, 4)
