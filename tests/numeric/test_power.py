"""Power: what can be shown, and with how many."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import chi, norm, t
from statsmodels.stats.power import TTestPower

from evalflow.numeric.power import (
    items_equivalent,
    items_needed,
    items_needed_normal,
    items_non_inferior,
    mde,
    mde_normal,
)
from evalflow.numeric.undefined import Undefined


def test_published_case(cases):
    """Sd 0.5: 200 pairs show 0.0995, and 0.1 takes 199 pairs (normal: 197), as in p20."""
    given_, expected = cases["p20"]["input"], cases["p20"]["expected"]
    sd, n, delta = given_["sd_of_differences"], given_["n"], given_["delta"]
    assert mde(sd, n) == pytest.approx(expected["mde_t"], rel=1e-4)
    assert mde_normal(sd, n) == pytest.approx(expected["mde_normal"], abs=1e-9)
    assert items_needed(sd, delta) == expected["n_needed_t"] == 199
    assert items_needed_normal(sd, delta) == expected["n_needed_normal"] == 197


@pytest.mark.parametrize(
    ("sd", "n", "alpha", "power", "delta"),
    [
        (0.5, 200, 0.05, 0.8, 0.0995320877033601931),
        (1.0, 50, 0.05, 0.3, 0.206928033722658503),
        (1.0, 30, 0.2, 0.5, 0.234857770058561679),
    ],
)
def test_mde_to_all_digits(sd, n, alpha, power, delta):
    """At that difference both sides together reject so often, by a 30-digit integral of the noncentral t (mpmath)."""
    assert mde(sd, n, alpha, power) == pytest.approx(delta, rel=1e-9)


@pytest.mark.parametrize(("n", "alpha", "power"), [(5, 0.05, 0.8), (20, 0.01, 0.9), (60, 0.05, 0.95), (400, 0.1, 0.11)])
def test_power_at_the_mde_is_the_power_asked_for(n, alpha, power):
    """Statsmodels says that the difference found has the power wanted."""
    said = TTestPower().power(mde(2.0, n, alpha, power) / 2.0, n, alpha)
    assert said == pytest.approx(power, abs=1e-8)


@given(st.floats(0.05, 3), st.sampled_from([0.01, 0.05, 0.1]), st.sampled_from([0.5, 0.8, 0.9]))
@settings(max_examples=25)
def test_items_needed_is_the_least(effect, alpha, power):
    """That many pairs show the difference, one fewer does not; the normal answer is no larger."""
    n = items_needed(1.0, effect, alpha, power)
    assert mde(1.0, n, alpha, power) <= effect * (1 + 1e-9)
    assert n == 2 or mde(1.0, n - 1, alpha, power) > effect * (1 - 1e-9)
    # the normal formula leaves out the wrong side's rejections, which at a power of 0.5 are some
    assert items_needed_normal(1.0, effect, alpha, power) <= n * (1.02 if power == 0.5 else 1)
    assert items_needed(1.0, -effect, alpha, power) == n


def test_many_pairs_are_the_normal_case():
    """At 10^12 pairs t and normal agree to 9 digits, and a millionth of an sd takes 7.8e12 pairs."""
    assert mde(0.5, 10**12, power=0.999) == pytest.approx(mde_normal(0.5, 10**12, power=0.999), rel=1e-9)
    assert items_needed(1.0, 1e-6) == pytest.approx(7.8488797e12, rel=1e-5)


def test_more_pairs_than_an_integer_of_64_bits():
    """A difference of 1e-12 sds takes 7.85e24 pairs, a margin of as much 6.18e24, and nothing breaks."""
    assert items_needed(1.0, 1e-12) == pytest.approx(7.8488797e24, rel=1e-5)
    assert items_non_inferior(1.0, 1e-12) == pytest.approx(6.1825572e24, rel=1e-5)
    assert items_equivalent(1.0, 1e-12) == pytest.approx(8.5638475e24, rel=1e-4)


def test_a_large_difference_still_takes_two_pairs():
    """One pair has no sd: the answer is never under 2."""
    assert items_needed(1.0, 1e5) == 2
    assert items_needed_normal(1.0, 1e5) == 2


@pytest.mark.parametrize("function", [mde, mde_normal])
@pytest.mark.parametrize(
    ("sd", "n", "reason"),
    [(0.5, 1, "n < 2"), (0.0, 200, "sd <= 0"), (-1.0, 200, "sd <= 0"), (math.nan, 200, "non-finite value")],
)
def test_without_spread_or_pairs_there_is_no_mde(function, sd, n, reason):
    """No spread is not a difference of 0 that could be shown."""
    with pytest.raises(Undefined) as caught:
        function(sd, n)
    assert caught.value.reason == reason


@pytest.mark.parametrize("function", [items_needed, items_needed_normal])
@pytest.mark.parametrize(
    ("sd", "delta", "reason"),
    [
        (0.0, 0.1, "sd <= 0"),
        (0.5, 0.0, "delta is 0"),
        (0.5, math.nan, "non-finite value"),
        (math.inf, 0.1, "non-finite value"),
        (1.0, 1e-200, "non-finite result"),
    ],
)
def test_no_number_of_items_shows_nothing(function, sd, delta, reason):
    """A difference of 0 takes no finite number of items."""
    with pytest.raises(Undefined) as caught:
        function(sd, delta)
    assert caught.value.reason == reason


@pytest.mark.parametrize(("alpha", "power"), [(0.0, 0.8), (0.05, 1.0), (0.05, 0.05), (0.5, 0.2), (math.nan, 0.8)])
def test_power_is_above_alpha(alpha, power):
    """A power that chance alone reaches is no question."""
    with pytest.raises(ValueError, match="give a"):
        mde(1.0, 20, alpha, power)


@pytest.mark.parametrize("function", [mde, mde_normal])
def test_pairs_are_counted_in_whole_numbers(function):
    """Ten and a half pairs are a mistake."""
    with pytest.raises(TypeError, match="integer"):
        function(0.5, 10.5)


def test_where_scipy_is_wrong_there_is_no_answer():
    """Two pairs at alpha 1e-6 lie where the noncentral t of scipy is off by 0.18: undefined, not wrong."""
    with pytest.raises(Undefined, match="alpha too small for n"):
        mde(1.0, 2, alpha=1e-6)


@pytest.mark.parametrize(("effect", "alpha", "power"), [(0.2, 0.05, 0.8), (0.5, 0.025, 0.9), (1.5, 0.1, 0.8)])
def test_items_that_show_no_worse(effect, alpha, power):
    """Statsmodels' one-sided t-test has the power at that many pairs, and not at one fewer; twice the sd takes as many
    as half the margin."""
    n = items_non_inferior(1.0, effect, alpha, power)
    assert n == items_non_inferior(2.0, 2 * effect, alpha, power)
    powers = [TTestPower().power(effect, pairs, alpha, alternative="larger") for pairs in (n - 1, n)]
    assert powers[0] < power <= powers[1]


@pytest.mark.parametrize(("effect", "alpha", "power"), [(0.2, 0.05, 0.8), (0.5, 0.025, 0.9), (1.5, 0.1, 0.8)])
def test_items_that_show_equal(effect, alpha, power):
    """Both one-sided tests reject as often as asked: by an integral of normals over the density of the sd (scipy)."""
    n = items_equivalent(1.0, effect, alpha, power)

    def chance(pairs):
        critical, scale = t.isf(alpha, pairs - 1), math.sqrt(pairs)

        def given_sd(sd):
            room = effect * scale - critical * sd
            return max(0.0, norm.cdf(room) - norm.cdf(-room)) * chi.pdf(sd * math.sqrt(pairs - 1), pairs - 1)

        return quad(given_sd, 0, effect * scale / critical, limit=200)[0] * math.sqrt(pairs - 1)

    assert chance(n - 1) < power <= chance(n)
    assert n >= items_non_inferior(1.0, effect, alpha, power)


def test_normal_sizes_of_margins():
    """Sd 1 and margin 0.1 at 5 % one-sided and power 80 %: (1.6449 + 0.8416)^2 / 0.01 = 618.3 pairs; equal within it:
    (1.6449 + 1.2816)^2 / 0.01 = 856.4. The t-tests take one or two more."""
    assert 619 <= items_non_inferior(1.0, 0.1) <= 621
    assert 857 <= items_equivalent(1.0, 0.1) <= 860


@pytest.mark.parametrize("function", [items_non_inferior, items_equivalent])
@pytest.mark.parametrize(
    ("sd", "margin", "reason"),
    [(0.0, 0.1, "sd <= 0"), (0.5, 0.0, "margin <= 0"), (0.5, -0.1, "margin <= 0"), (0.5, math.nan, "non-finite value")],
)
def test_no_number_of_items_keeps_no_margin(function, sd, margin, reason):
    """Without a spread or a margin there is no size."""
    with pytest.raises(Undefined) as caught:
        function(sd, margin)
    assert caught.value.reason == reason
