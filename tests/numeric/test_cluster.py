"""Cluster means, the robust standard error, and the interval on them."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from evalflow.numeric.cluster import (
    cluster_codes,
    cluster_means,
    cluster_se,
    cluster_units,
    count_clusters,
    effective_clusters,
    interval_se,
    mean_interval,
)
from evalflow.numeric.critical import t_critical
from evalflow.numeric.moments import mean
from evalflow.numeric.undefined import Undefined

ROWS = st.lists(st.tuples(st.floats(-100, 100), st.integers(0, 8)), min_size=2, max_size=40)


def test_published_case(cases):
    """Ten rows in four clusters have the CR0 and CR1 of two implementations (p18)."""
    given_, expected = cases["p18"]["input"], cases["p18"]["expected"]
    values, clusters = given_["values"], given_["clusters"]
    assert cluster_se(values, clusters) == pytest.approx(expected["se_cluster_cr1"], abs=1e-12)
    assert cluster_se(values, clusters, correction=False) == pytest.approx(expected["se_cluster_cr0"], abs=1e-12)
    assert cluster_se(values, range(10)) == pytest.approx(expected["se_naive"], abs=1e-12)
    assert len(cluster_means(values, clusters)[0]) == expected["n_clusters"]


@given(ROWS)
def test_agrees_with_statsmodels(rows):
    """Any rows have the robust standard error of a regression on a constant (CR1: times its factor)."""
    values, clusters = np.array([v for v, _ in rows]), np.array([c for _, c in rows])
    n_clusters = len(set(clusters.tolist()))
    assume(n_clusters >= 2)
    fit = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}
    )
    assert cluster_se(values, clusters, correction=False) == pytest.approx(float(fit.bse[0]), rel=1e-6, abs=1e-9)
    ratio = (n_clusters / (n_clusters - 1)) ** 0.5
    assert cluster_se(values, clusters) == pytest.approx(ratio * float(fit.bse[0]), rel=1e-6, abs=1e-9)


def test_means_come_in_order_of_first_appearance():
    """Names of any hashable kind keep the order in which they were met, not their sorted one."""
    names, means = cluster_means([1.0, 2.0, 3.0, 5.0, 7.0], ["z", ("a", 1), "z", None, ("a", 1)])
    assert names == ["z", ("a", 1), None]
    assert means.tolist() == [2.0, 4.5, 5.0]


def test_arrays_and_lists_name_clusters_alike():
    """A numpy array of names gives plain Python names and the same codes as a list."""
    names, codes = cluster_codes(np.array([3, 1, 3]), 3)
    assert (names, codes.tolist()) == ([3, 1], [0, 1, 0])
    assert cluster_codes(["b", "a", "b"], 3)[1].tolist() == codes.tolist()


def test_equal_values_keep_their_mean():
    """Three times 0.1 in a cluster average to 0.1, and have standard error 0."""
    _, means = cluster_means([0.1] * 6, list("aaabbb"))
    assert means.tolist() == [0.1, 0.1]
    assert cluster_se([0.1] * 6, list("aaabbb")) == 0.0


@pytest.mark.parametrize("function", [cluster_se, mean_interval])
@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0, 4.0]])
def test_one_cluster_has_no_standard_error(function, values):
    """Rows of one cluster alone do not say how clusters vary."""
    with pytest.raises(Undefined) as caught:
        function(values, ["only"] * len(values))
    assert caught.value.reason == "fewer than 2 clusters"


@pytest.mark.parametrize("function", [cluster_means, cluster_se, mean_interval])
def test_every_value_has_a_cluster(function):
    """Two names for three values are refused."""
    with pytest.raises(ValueError, match="2 clusters for 3 values"):
        function([1.0, 2.0, 3.0], ["a", "b"])


def test_singletons_have_students_interval(cases):
    """60 paired differences, one per cluster: scipy's t interval, and hc12's figures."""
    table, expected = cases["hc12"]["input"], cases["hc12"]["expected"]
    differences = np.repeat([0, 1, -1], [table["both_right"] + table["both_wrong"], table["a_right_b_wrong"], 3])
    interval = mean_interval(differences, range(60))
    said = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx((said.low, said.high), abs=1e-12)
    assert [interval.low, interval.high] == pytest.approx(expected["paired_t_ci95"], abs=1e-6)
    assert cluster_se(differences, range(60)) == pytest.approx(expected["paired_se"], abs=1e-6)
    assert (interval.method, interval.level) == ("t", 0.95)


def test_clustered_interval_reaches_t_standard_errors():
    """Five pairs with sums 2, 2, 1, 1, 0 of 10: 0.6 -/+ t(4 degrees of freedom) * sqrt(5/4 * 2.8) / 10."""
    interval = mean_interval([1, 1, 1, 1, 1, 0, 1, 0, 0, 0], list("aabbccddee"), level=0.9)
    reach = stats.t.isf(0.05, 4) * 3.5**0.5 / 10
    assert (interval.low, interval.high) == pytest.approx((0.6 - reach, 0.6 + reach), abs=1e-12)
    assert interval.method == "clustered t"


def test_unequal_clusters_count_by_their_weight():
    """p18's rows, of sizes 2, 4, 3 and 1: 10/3 effective clusters.

    Their residual sums are -0.2, 1.6, -1.8 and 0.4, whose squares sum to 6: CR1 at G_eff is
    sqrt(6 * (10/3) / (7/3)) / 10, with t of 7/3 degrees. It is larger than if all means varied alike:
    the squares over 2, 4, 3 and 1 sum to 1.9, and sqrt(1.9 / (10 * 7/3)) is less.
    """
    interval = mean_interval([1, 0, 1, 1, 1, 1, 0, 0, 0, 1], list("aabbbbcccd"), level=0.9)
    se = (6 * (10 / 3) / (7 / 3)) ** 0.5 / 10
    assert se > (1.9 / (10 * 7 / 3)) ** 0.5
    reach = stats.t.isf(0.05, 7 / 3) * se
    assert (interval.low, interval.high) == pytest.approx((0.6 - reach, 0.6 + reach), abs=1e-12)
    assert interval.method == "clustered t"


def test_identical_differences_are_one_point():
    """Where every difference is the same the interval is that difference, without rounding."""
    interval = mean_interval([0.1] * 10, range(10))
    assert (interval.low, interval.high) == (0.1, 0.1)


@given(ROWS, st.integers(2, 4))
def test_copies_of_all_rows_do_not_make_it_surer(rows, copies):
    """Repeating every row inside its cluster leaves the standard error as it was."""
    values, clusters = [v for v, _ in rows], [c for _, c in rows]
    assume(len(set(clusters)) >= 2)
    once = cluster_se(values, clusters)
    assert cluster_se(values * copies, clusters * copies) == pytest.approx(once, rel=1e-9, abs=1e-9)


def test_small_clusters_speak_for_large_ones_that_agree():
    """Two of 3 rows, all 1, and two single 0: 64 / 20 effective clusters, residual sums 3/4, 3/4, -3/4 and -3/4.

    The squares over 3, 3, 1 and 1 sum to 1.5: sqrt(1.5 / (8 * 2.2)), above CR1 at G_eff, sqrt(2.25 * 3.2 / 2.2) / 8.
    """
    se, effective = interval_se([1, 1, 1, 1, 1, 1, 0, 0], list("aaabbbcd"))
    assert effective == 3.2
    assert se == pytest.approx((1.5 / (8 * 2.2)) ** 0.5, rel=1e-12)
    assert se > (2.25 * 3.2 / 2.2) ** 0.5 / 8


def test_effective_clusters_by_hand():
    """Equal sizes count one each, exactly; one of 40 among 59 single rows makes 99^2 / 1659."""
    assert effective_clusters([n // 3 for n in range(21)]) == 7.0
    assert effective_clusters(range(49)) == 49.0
    assert effective_clusters([0] * 40 + list(range(1, 60))) == pytest.approx(99**2 / 1659, rel=1e-15)
    with pytest.raises(Undefined, match="no rows"):
        effective_clusters([])


def test_one_cluster_that_outweighs_the_rest_has_no_interval():
    """One of 40 rows among 9 single ones is 1.5 effective clusters: it has CR1, and no interval."""
    values, clusters = [1, 0] * 20 + [1, 0, 1] * 3, [0] * 40 + list(range(1, 10))
    assert cluster_se(values, clusters) > 0
    with pytest.raises(Undefined) as caught:
        mean_interval(values, clusters)
    assert caught.value.reason == "fewer than 2 effective clusters"


@given(st.lists(st.floats(-100, 100), min_size=6, max_size=30), st.integers(1, 3))
def test_clusters_of_one_size_keep_cr1_and_its_degrees_of_freedom(values, size):
    """Balanced clusters have t(G - 1) times CR1, to the last digit."""
    n_clusters = len(values) // size
    rows, clusters = values[: n_clusters * size], [n // size for n in range(n_clusters * size)]
    se, effective = interval_se(rows, clusters)
    assert (se, effective) == (cluster_se(rows, clusters), n_clusters)
    reach = t_critical(0.95, n_clusters - 1) * se
    interval = mean_interval(rows, clusters)
    assert interval.high == mean(rows) + reach


@pytest.mark.parametrize("sizes", [[40] + [1] * 59, [20] * 12 + [1] * 48], ids=["one of 40", "a fifth of 20"])
@pytest.mark.parametrize("within", [0.5, 0.9])
def test_unequal_clusters_are_covered(sizes, within):
    """Simulated, 60 clusters around a true mean of 0: 95 % intervals hold it in 93 % or more of 300 samples."""
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(60), sizes)
    covered = 0
    for _ in range(300):
        shared = rng.normal(size=60)[clusters] * within**0.5
        interval = mean_interval(shared + rng.normal(size=clusters.size) * (1 - within) ** 0.5, clusters)
        covered += interval.low <= 0 <= interval.high
    assert covered >= 0.93 * 300


def test_units_of_a_resampling_are_clusters_with_their_sizes():
    """Means weighted by sizes give the mean over rows; of one cluster there is nothing to draw."""
    means, sizes = cluster_units([1.0, 2.0, 6.0, 3.0], ["a", "b", "a", "a"])
    assert (means.tolist(), sizes.tolist()) == ([10 / 3, 2.0], [3.0, 1.0])
    assert (count_clusters(["a", "b", "a"]), count_clusters([])) == (2, 0)
    with pytest.raises(Undefined, match="fewer than 2 clusters"):
        cluster_units([1.0, 2.0], [0, 0])
