"""How many items a rate takes to clear a threshold."""

import math

import pytest
from scipy.stats import binom, binomtest

from evalflow.numeric.rate_power import items_for_count, items_to_bound, items_to_clear
from evalflow.numeric.undefined import Undefined


def clears(rate: float, floor: float, n: int) -> float:
    """The chance that scipy's Wilson interval of n items lies at or over the floor."""
    return sum(
        binom.pmf(right, n, rate)
        for right in range(n + 1)
        if binomtest(right, n).proportion_ci(0.95, "wilson").low >= floor - 1e-12
    )


@pytest.mark.parametrize(("rate", "floor", "power"), [(0.8, 0.6, 0.8), (0.97, 0.9, 0.9), (0.3, 0.1, 0.8)])
def test_so_many_items_clear_it(rate, floor, power):
    """From that number on the chance is there, and one item fewer lacks it."""
    n = items_to_clear(rate, floor, power=power)
    assert clears(rate, floor, n - 1) < power
    assert all(clears(rate, floor, n + more) >= power for more in range(12))


def test_all_right_clears_a_floor_by_its_own_size():
    """Wilson's low end of n of n is n / (n + 3.8415): 35 items reach 0.9, and 34 do not."""
    assert items_to_clear(1.0, 0.9) == 35


def test_a_rate_close_to_the_floor_goes_by_the_formula():
    """((1.96 sqrt(0.24) + 0.8416 sqrt(0.601 * 0.399)) / 0.001)^2 items, beyond what is summed."""
    formula = ((1.959964 * math.sqrt(0.24) + 0.841621 * math.sqrt(0.601 * 0.399)) / 0.001) ** 2
    assert items_to_clear(0.601, 0.6) == pytest.approx(formula, rel=1e-5)


@pytest.mark.parametrize("rate", [0.6, 0.5, 0.0])
def test_a_rate_that_is_not_above_the_floor_never_clears_it(rate):
    """No number of items is the answer."""
    with pytest.raises(Undefined, match="not above the floor"):
        items_to_clear(rate, 0.6)


@pytest.mark.parametrize(
    ("rate", "floor", "level", "power"), [(1.1, 0.6, 0.95, 0.8), (0.8, 0.0, 0.95, 0.8), (0.8, 0.6, 1, 0.8)]
)
def test_what_is_no_rate_is_refused(rate, floor, level, power):
    """A mistake of the caller's."""
    with pytest.raises(ValueError, match="give"):
        items_to_clear(rate, floor, level, power)


@pytest.mark.parametrize(("rate", "bound", "alpha", "power"), [(0.025, 0.1, 0.05, 0.8), (0.2, 0.4, 0.025, 0.9)])
def test_so_many_items_bound_it(rate, bound, alpha, power):
    """From that number on scipy's one-sided exact upper bound is under the bound as often as asked."""

    def chance(n):
        ends = [binomtest(x, n, alternative="less").proportion_ci(1 - alpha).high for x in range(n + 1)]
        return sum(binom.pmf(x, n, rate) for x, end in enumerate(ends) if end < bound)

    n = items_to_bound(rate, bound, alpha, power)
    assert chance(n - 1) < power
    assert all(chance(n + more) >= power for more in range(8))


def test_none_found_is_the_rule_of_three():
    """1 - 0.05^(1/n) is under 0.1 from 29 items on: 28.4 in reals."""
    assert items_to_bound(0.0, 0.1) == math.ceil(math.log(0.05) / math.log(0.9)) == 29


def test_so_many_items_hold_the_count():
    """Of 26 items with a rate of 0.3 six or more are found with a chance of 0.8, of one fewer they are not."""
    n = items_for_count(0.3, 6)
    assert binom.sf(5, n - 1, 0.3) < 0.8 <= binom.sf(5, n, 0.3)
    assert items_for_count(1.0, 6) == 6


def test_what_never_comes_is_no_size():
    """A rate at the bound, a rate of 0, and what is no rate."""
    with pytest.raises(Undefined, match="not under the bound"):
        items_to_bound(0.1, 0.1)
    with pytest.raises(Undefined, match="no rate"):
        items_for_count(0.0, 6)
    for call in (lambda: items_to_bound(-0.1, 0.1), lambda: items_to_bound(0.1, 1.0), lambda: items_for_count(1.1, 6)):
        with pytest.raises(ValueError, match="give"):
            call()
