"""Shares: Wilson's interval by hand, wider where items depend on one another."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from evalflow.metric.exact_match import ExactMatch


def stack(successes, n):
    return np.array([[1.0]] * successes + [[0.0]] * (n - successes))


def alone(n):
    return np.array([f"i{i}" for i in range(n)], dtype=object)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(0, 25, 0.0, 0.133192), (0, 5000, 0.0, 0.000768), (25, 25, 0.866808, 1.0), (19, 20, 0.763869, 0.991119)],
)
def test_the_interval_has_width_at_the_edges(successes, n, low, high):
    """No right answer in 25 and in 5,000 are not equally certain (published case hc01)."""
    interval = ExactMatch().interval(stack(successes, n), alone(n), 0.95)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-5)
    assert interval.method == "wilson"
    assert ExactMatch().value(stack(successes, n)) == successes / n


def test_the_interval_is_statsmodels_at_another_level():
    """At 90 % it is statsmodels' Wilson interval too."""
    interval = ExactMatch().interval(stack(42, 60), alone(60), 0.9)
    assert (interval.low, interval.high) == pytest.approx(proportion_confint(42, 60, 0.1, "wilson"), abs=1e-12)


def test_dependent_items_widen_the_interval():
    """Three equal answers a word are worth one: the clustered interval is wider, and covers what 20 words would."""
    by_word = np.repeat([1.0] * 14 + [0.0] * 6, 3).reshape(-1, 1)
    words = np.repeat([f"w{i}" for i in range(20)], 3).astype(object)
    apart = ExactMatch().interval(by_word, alone(60), 0.95)
    together = ExactMatch().interval(by_word, words, 0.95)
    low, high = proportion_confint(14, 20, 0.05, "wilson")
    assert together.low < apart.low < 0.7 < apart.high < together.high
    # the t quantile of 19 degrees of freedom and CR1 make it a little wider than Wilson of the 20 words
    assert together.low < low < together.low + 0.03
    assert together.high - 0.02 < high < together.high
    assert together.method == "wilson, clustered"


def test_items_all_right_in_clusters_count_as_their_clusters():
    """60 right answers over 20 words exclude no more than 20 right answers would."""
    words = np.repeat([f"w{i}" for i in range(20)], 3).astype(object)
    interval = ExactMatch().interval(stack(60, 60), words, 0.95)
    assert (interval.low, interval.high) == pytest.approx(proportion_confint(20, 20, 0.05, "wilson"), abs=1e-12)
