"""Percentiles: type 7, and only of enough values."""

import time

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
    assert Percentile(50).interval(mixed, np.arange(40), 0.95) == Percentile(50).interval(values, np.arange(40), 0.95)


def test_the_interval_is_two_of_the_values():
    """The median of ten lies between the 2nd and the 9th (P(Binomial(10, 1/2) < 2) = 0.011); five have none."""
    interval = Percentile(50).interval(column(10), np.arange(10), 0.95)
    assert (interval.low, interval.high, interval.method) == (2.0, 9.0, "order statistics")
    assert Percentile(50).interval(column(5), np.arange(5), 0.95) is None


def test_several_rows_of_a_cluster_are_drawn_together():
    """Twenty items under three seeds: the middle 95 % of medians of items drawn with all their rows."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=20).repeat(3) + 0.1 * rng.normal(size=60)
    interval = Percentile(50).interval(values.reshape(-1, 1), np.arange(20).repeat(3), 0.95)
    drawn = np.median(values.reshape(20, 3)[rng.integers(0, 20, (4000, 20))].reshape(4000, 60), axis=1)
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.15)
    assert (interval.method, interval.level) == ("cluster bootstrap", 0.95)
    alone = Percentile(50).interval(values.reshape(-1, 1), np.arange(60), 0.95)
    assert alone.high - alone.low < interval.high - interval.low


def test_clusters_of_unequal_size_bring_all_their_rows():
    """Six of one row and six of five: a resample's median is over the rows drawn, in whatever order they lie."""
    rng = np.random.default_rng(5)
    groups = [rng.normal(size=size) + n for n, size in enumerate([1, 5] * 6)]
    values, clusters = np.concatenate(groups), np.repeat(np.arange(12), [1, 5] * 6)
    interval = Percentile(50).interval(values.reshape(-1, 1), clusters, 0.95)
    medians = [np.median(np.concatenate([groups[g] for g in rng.integers(0, 12, 12)])) for _ in range(4000)]
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(medians, [0.025, 0.975])), abs=0.5)
    mixed = rng.permutation(len(values))
    assert Percentile(50).interval(values[mixed].reshape(-1, 1), clusters[mixed], 0.95).method == interval.method


@pytest.mark.parametrize(("percent", "needed"), [(50, 6), (95, 72)])
def test_seeds_are_no_clusters(percent, needed):
    """A p95 needs 72 clusters for an interval, as it needs 72 rows (0.95^71 > 0.025), under however many seeds."""
    assert 0.95**71 > 0.025 > 0.95**72
    for clusters, there in ((needed, True), (needed - 1, False)):
        interval = Percentile(percent).interval(column(5 * clusters), np.arange(clusters).repeat(5), 0.95)
        assert (interval is not None) is there


@pytest.mark.slow
def test_rows_of_a_cluster_that_are_alike_are_covered():
    """Simulated, 20 items under 5 seeds, correlation 0.98: 90 % or more of 150 intervals hold the median."""
    rng = np.random.default_rng(7)
    clusters = np.arange(20).repeat(5)
    covered = 0
    for _ in range(150):
        values = 0.99 * rng.normal(size=20).repeat(5) + 0.14 * rng.normal(size=100)
        interval = Percentile(50).interval(values.reshape(-1, 1), clusters, 0.95)
        covered += interval.low <= 0 <= interval.high
    assert covered >= 135


def test_many_rows_are_resampled_in_good_time():
    """10,000 rows in 9,999 clusters take under two seconds of processor time."""
    rng = np.random.default_rng(0)
    began = time.process_time()
    interval = Percentile(95).interval(rng.normal(size=(10_000, 1)), np.minimum(np.arange(10_000), 9_998), 0.95)
    assert interval.method == "cluster bootstrap"
    assert time.process_time() - began < 2
