"""How many pairs a sign test takes."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, multinomial

from evalflow.numeric.sign_power import normal_signs_at, pairs_for_signs, sign_power, signs_at, tilted
from evalflow.numeric.undefined import Undefined

POOL = [1.0] * 12 + [-1.0] * 6 + [0.0] * 42


@pytest.mark.parametrize(("n", "up", "down", "alpha"), [(12, 0.5, 0.1, 0.05), (25, 0.3, 0.2, 0.1), (9, 1.0, 0.0, 0.05)])
def test_power_is_the_sum_over_all_outcomes(n, up, down, alpha):
    """Every outcome's chance (scipy's multinomial) where scipy's binomial test rejects it."""
    total = 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            if wins + losses and binomtest(wins, wins + losses).pvalue <= alpha:
                total += multinomial.pmf([wins, losses, n - wins - losses], n, [up, down, 1 - up - down])
    assert sign_power(n, up, down, alpha) == pytest.approx(total, abs=1e-12)


def test_six_that_all_go_one_way_are_the_least():
    """At 0.05 six pairs all up reject, five never do."""
    assert pairs_for_signs(1.0, 0.0) == 6
    assert sign_power(5, 1.0, 0.0) == 0.0


def test_so_many_pairs_have_the_power():
    """The number found has it, one fewer has not; both directions take the same."""
    n = pairs_for_signs(0.2, 0.1)
    assert sign_power(n - 1, 0.2, 0.1) < 0.8 <= sign_power(n, 0.2, 0.1)
    assert pairs_for_signs(0.1, 0.2) == n
    # Connor's normal formula: (1.96 sqrt(0.3) + 0.8416 sqrt(0.3 - 0.01))^2 / 0.01 = 233.1; the exact test takes more
    assert 234 <= n <= 255


def test_many_pairs_are_the_normal_case():
    """At a difference of 0.002 the exact test takes Connor's number to a part in a hundred: 588,700."""
    formula = (1.959964 * math.sqrt(0.3) + 0.841621 * math.sqrt(0.3 - 4e-6)) ** 2 / 4e-6
    assert pairs_for_signs(0.151, 0.149) == pytest.approx(formula, rel=0.003)
    assert pairs_for_signs(0.1501, 0.1499) == pytest.approx(100 * formula, rel=1e-4)


def test_the_shares_at_the_mean_that_is_there():
    """At the pool's own mean nothing moves."""
    assert signs_at(POOL, 0.1) == pytest.approx((0.2, 0.1), abs=1e-9)


@pytest.mark.parametrize("delta", [0.02, 0.3, -0.3, 0.9])
def test_the_shares_have_the_mean_asked_for(delta):
    """Ups less downs is the difference; up is where the pool's mean lies, whatever the sign; the odds move together."""
    up, down = signs_at(POOL, delta)
    assert up - down == pytest.approx(abs(delta), abs=1e-9)
    level = 1 - up - down
    # tilting multiplies ups and divides downs by one factor, so that their product over the square of the level stays
    assert up * down / level**2 == pytest.approx(12 * 6 / 42**2, rel=1e-6)
    assert signs_at([-value for value in POOL], delta) == pytest.approx((up, down))


def test_more_than_any_pair_differs_by_has_all_pairs_up():
    """A mean of 0.9 of differences of a half cannot be: every pair is then up."""
    assert signs_at([0.5, -0.5, 0.0], 0.9) == (1.0, 0.0)


def test_a_pilot_that_only_went_up_still_has_level_pairs():
    """Of differences of 1/2 alone a mean of 0.1 has one pair in five up, and none down."""
    assert signs_at([0.5, 0.5, 0.5], 0.1) == pytest.approx((0.2, 0.0), abs=1e-9)


def test_a_tilt_moves_every_value():
    """Of 1/3, 1/3 and 1 with a mean of 5/9 a smaller mean has more of the small ones, and a level pair none had."""
    values, chances = tilted([1 / 3, 1 / 3, 1.0], 0.3)
    assert values == pytest.approx([0, 1 / 3, 1])
    assert (float(chances.sum()), float(values @ chances)) == pytest.approx((1.0, 0.3))
    # chances over the pool's counts (1, 2, 1) grow by one factor per unit of difference
    growth = np.log(chances / np.array([1, 2, 1]))
    assert (growth[1] - growth[0]) * 3 == pytest.approx(growth[2] - growth[0])


def test_normal_differences():
    """One sd above 0 has 84.13 % up; a sign test of them takes about pi / 2 times the pairs of a t-test."""
    assert normal_signs_at(2.0, 2.0) == pytest.approx((0.8413447, 0.1586553), abs=1e-6)
    n = pairs_for_signs(*normal_signs_at(1.0, 0.1))
    assert n / ((1.959964 + 0.841621) ** 2 / 0.01) == pytest.approx(math.pi / 2, rel=0.03)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: signs_at([0.0, 0.0], 0.1), "zero variance"),
        (lambda: signs_at([1.0, 1.0], 0.0), "delta is 0"),
        (lambda: signs_at([], 0.1), "no rows"),
        (lambda: signs_at([1.0], math.nan), "non-finite value"),
        (lambda: normal_signs_at(0.0, 0.1), "sd <= 0"),
        (lambda: pairs_for_signs(0.2, 0.2), "no direction"),
        (lambda: pairs_for_signs(math.nan, 0.2), "non-finite value"),
    ],
)
def test_without_a_direction_there_is_no_size(call, reason):
    """Undefined, and why."""
    with pytest.raises(Undefined) as caught:
        call()
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("up", "down", "alpha", "power"),
    [(0.8, 0.3, 0.05, 0.8), (-0.1, 0.2, 0.05, 0.8), (0.2, 0.1, 0.8, 0.8), (0.2, 0.1, 0, 0.8)],
)
def test_what_is_no_share_or_no_power_is_refused(up, down, alpha, power):
    """Shares of more than one whole, and a power that chance alone has."""
    with pytest.raises(ValueError, match="give"):
        pairs_for_signs(up, down, alpha, power)


@pytest.mark.slow
def test_simulated_power():
    """Of 4,000 runs of the size found, 80 % reject, give or take two standard errors."""
    n = pairs_for_signs(0.25, 0.1)
    draws = np.random.default_rng(5).multinomial(n, [0.25, 0.1, 0.65], size=4000)
    rejected = [binomtest(int(up), int(up + down)).pvalue <= 0.05 for up, down, _ in draws if up + down]
    assert sum(rejected) / 4000 == pytest.approx(0.8, abs=0.013)
