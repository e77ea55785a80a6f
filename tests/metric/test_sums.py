"""One sum over another, and the bootstrap of figures made of sums."""

import numpy as np
import pytest
from scipy import stats

from evalflow.metric.sums import SumRatio, SumShare, bootstrap_of_sums, jackknife_of_rows
from evalflow.numeric.undefined import Undefined

STACK = np.array([[1.0, 10.0], [3.0, 20.0], [0.0, 10.0], [2.0, 40.0]])
APART = np.array(["a", "b", "c", "d"], dtype=object)


def test_the_ratio_is_of_sums():
    """6 of 80, not the mean of the rows' own ratios; any two columns may be chosen."""
    assert SumRatio().value(STACK) == 0.075
    assert SumRatio(1, 0).value(STACK) == pytest.approx(80 / 6, rel=1e-15)


def test_an_error_rate_is_not_below_0():
    """The t interval is cut there; its other end stays."""
    few = np.array([[0.0, 10.0], [0.0, 10.0], [0.0, 10.0], [4.0, 10.0]])
    interval = SumRatio().interval(few, APART, 0.95)
    # rates 0, 0, 0, .4: mean .1, se .1
    assert interval.low == 0.0
    assert interval.high == pytest.approx(0.1 + stats.t.ppf(0.975, 3) * 0.1, rel=1e-12)


def test_what_does_not_vary_has_no_interval():
    """No errors anywhere, or the same rate everywhere, says nothing of how sure that is."""
    assert SumRatio().interval(np.array([[0.0, 10.0], [0.0, 10.0]]), APART[:2], 0.95) is None
    assert SumRatio().interval(np.array([[1.0, 10.0], [1.0, 10.0]]), APART[:2], 0.95) is None


def test_a_correlation_is_left_out_of_by_fishers_z():
    """Worked out with numpy: pseudo-values n z - (n - 1) z without one cluster, a t interval of them, read back."""
    generator = np.random.default_rng(3)
    x = generator.normal(size=30)
    pairs = np.column_stack([x, x + generator.normal(size=30)])
    clusters = np.array([f"c{i // 2}" for i in range(30)], dtype=object)

    def correlation(stack):
        return float(np.corrcoef(stack.T)[0, 1])

    whole = np.arctanh(correlation(pairs))
    without = [np.arctanh(correlation(np.delete(pairs, [2 * g, 2 * g + 1], axis=0))) for g in range(15)]
    half = stats.t.ppf(0.975, 14) * stats.sem([15 * whole - 14 * one for one in without])
    interval = jackknife_of_rows(pairs, clusters, correlation, 0.95)
    assert (interval.low, interval.high) == pytest.approx((np.tanh(whole - half), np.tanh(whole + half)), rel=1e-12)


def test_what_is_1_has_no_z():
    """A correlation of 1, with or without one unit, has none; nor has one unit anything to leave out."""
    line = np.column_stack([np.arange(5.0), np.arange(5.0)])
    names = np.array(list("abcde"), dtype=object)
    assert jackknife_of_rows(line, names, lambda stack: float(np.corrcoef(stack.T)[0, 1]), 0.95) is None
    with pytest.raises(Undefined, match="fewer than 2 clusters"):
        jackknife_of_rows(line, np.array(["a"] * 5, dtype=object), lambda _: 0.5, 0.95)


def test_a_share_keeps_its_width_at_1():
    """Wilson's interval of 30 of 30, where nothing tells how dependent they are."""
    interval = SumShare().interval(np.array([[10.0, 10.0], [20.0, 20.0]]), APART[:2], 0.95)
    expected = stats.binomtest(30, 30).proportion_ci(0.95, "wilson")
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), rel=1e-12)


def test_the_bootstrap_draws_whole_clusters():
    """Its ends are near scipy's of the same ratio over clusters; two rows of one cluster are one draw."""
    generator = np.random.default_rng(0)
    stack = np.column_stack([generator.poisson(3, 40), generator.poisson(50, 40)]).astype(float)
    clusters = np.repeat(np.arange(20), 2).astype(object)
    interval = bootstrap_of_sums(stack, clusters, lambda sums: sums[0] / sums[1], 0.95)
    by_cluster = stack.reshape(20, 2, 2).sum(axis=1)
    peer = stats.bootstrap(
        (by_cluster[:, 0], by_cluster[:, 1]),
        lambda a, b, axis: a.sum(axis=axis) / b.sum(axis=axis),
        paired=True,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert (interval.low, interval.high) == pytest.approx((peer.low, peer.high), rel=0.02)
    assert interval.method == "document bootstrap"


def test_a_bootstrap_without_a_value_or_a_spread_is_none():
    """One cluster is refused, a resample without a value too; resamples all alike have no width to show."""
    with pytest.raises(Undefined, match="fewer than 2 clusters"):
        bootstrap_of_sums(STACK, np.array(["a"] * 4, dtype=object), lambda sums: 1.0, 0.95)

    def undefined(sums):
        raise Undefined("no pairs")

    with pytest.raises(Undefined, match="a resample is undefined: no pairs"):
        bootstrap_of_sums(STACK, APART, undefined, 0.95)
    assert bootstrap_of_sums(STACK, APART, lambda sums: 1.0, 0.95) is None
