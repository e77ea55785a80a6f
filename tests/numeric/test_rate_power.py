"""How many items a rate takes to clear a threshold."""

import math

import pytest
from scipy.stats import binom, binomtest

from evalflow.numeric.rate_power import items_to_clear
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
