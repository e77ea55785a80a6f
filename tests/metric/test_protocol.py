"""What a metric gets for free: a mean, its interval, its name and one unit's own number."""

from dataclasses import dataclass

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats as scipy_stats

from evalflow.metric.protocol import Metric, figure_names
from tests.metric.by_hand import answer


@dataclass(frozen=True)
class Length(Metric):
    def stats(self, unit):
        return (float(len(unit.row.draft)), 9.0)


VALUES = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])


def test_the_value_is_the_mean_of_the_first_statistic():
    """31 over 8 values is 3.875, whatever stands in the other columns; a unit's own number is its first too."""
    stack = np.column_stack([VALUES, np.full(8, 100.0)])
    assert Length().value(stack) == 3.875
    assert Length().point(Length().stats(answer("four"))) == 4.0


def test_the_interval_is_students_where_items_are_independent():
    """scipy's t interval, where every item is a cluster of its own."""
    interval = Length().interval(VALUES.reshape(-1, 1), np.array(list("abcdefgh"), dtype=object), 0.9)
    low, high = scipy_stats.t.interval(0.9, 7, VALUES.mean(), scipy_stats.sem(VALUES))
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-12)


def test_the_interval_knows_of_clusters():
    """With pairs of items depending on one another it rests on statsmodels' CR1 standard error, t with G - 1."""
    groups = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    fit = sm.OLS(VALUES, np.ones(8)).fit()
    # CR1 here is G / (G - 1) alone; statsmodels' use_correction multiplies by (N - 1) / (N - K) = 1 as well
    se = fit.get_robustcov_results("cluster", groups=groups, use_correction=True).bse[0]
    interval = Length().interval(VALUES.reshape(-1, 1), groups.astype(object), 0.95)
    reach = scipy_stats.t.ppf(0.975, 3) * se
    assert (interval.low, interval.high) == pytest.approx((3.875 - reach, 3.875 + reach), rel=1e-10)


def test_a_quality_metric_is_named_by_its_key():
    """Its one figure is quality/<key>, and nothing is said of why."""
    assert figure_names("length", Length()) == ("quality/length",)
    assert Length().detail(answer("x")) == {}


def test_values_that_are_all_equal_have_no_interval():
    """No spread is no certainty: an interval without width is none."""
    assert Length().interval(np.full((8, 1), 4.0), np.array(list("abcdefgh"), dtype=object), 0.95) is None
