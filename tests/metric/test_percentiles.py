"""Percentiles: type 7, and only of enough values."""

import numpy as np
import pytest

from evalflow.metric.percentiles import Percentile
from evalflow.numeric.undefined import Undefined


def column(n):
    return np.arange(1.0, n + 1).reshape(-1, 1)


@pytest.mark.parametrize(
    ("percent", "n", "value"),
    [
        (50, 1, 1.0),
        (50, 4, 2.5),
        (95, 20, 19.05),
        (95, 21, 20.0),
        (99, 101, 100.0),
        (90, 11, 10.0),
        (99.9, 1001, 1000.0),
    ],
)
def test_values_by_hand(percent, n, value):
    """Of 1..n the percentile lies at 1 + (n - 1) p / 100 (type 7), never beyond the largest."""
    assert Percentile(percent).value(column(n)) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(("percent", "needed"), [(95, 20), (99, 100), (99.9, 1000), (90, 10)])
def test_a_percentile_needs_its_count(percent, needed):
    """p95 is defined from 20 values on, p99 from 100, p99.9 from 1,000; below it says what it needs and has."""
    assert Percentile(percent).value(column(needed)) > needed * (percent - 1) / 100
    with pytest.raises(Undefined, match=rf"^p{percent:g} needs n >= {needed}, has {needed - 1}$"):
        Percentile(percent).value(column(needed - 1))


def test_the_order_of_the_values_is_nothing():
    """Shuffled values have the same percentile and interval."""
    values = column(40)
    mixed = np.random.default_rng(0).permutation(values)
    assert Percentile(95).value(mixed) == Percentile(95).value(values)
    assert Percentile(50).interval(mixed, None, 0.95) == Percentile(50).interval(values, None, 0.95)


def test_the_interval_is_two_of_the_values():
    """The median of ten lies between the 2nd and the 9th (P(Binomial(10, 1/2) < 2) = 0.011); five have none."""
    interval = Percentile(50).interval(column(10), None, 0.95)
    assert (interval.low, interval.high, interval.method) == (2.0, 9.0, "order statistics")
    assert Percentile(50).interval(column(5), None, 0.95) is None
