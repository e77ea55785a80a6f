"""Every interval covers, and every test errs, about as often as it says; those that do not are known."""

import numpy as np
import pytest
from scipy.stats import binom

from evalflow.numeric.proportion import clopper_pearson, normal_interval, wilson
from tests.numeric.coverage_table import COVERED, REJECTED, Line, markdown, table

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    return table()


def shares(lines, kind, method, setting=""):
    """The share of each line of a method whose setting holds a text; never none."""
    found = [line.share for line in lines if line.kind == kind and line.method == method and setting in line.setting]
    assert found, (method, setting)
    return np.array(found)


@pytest.mark.parametrize("n", [10, 25, 60, 200])
def test_rates_are_covered_on_average_and_exactly_at_least(n):
    """Over rates from 0.01 to 0.99 Wilson covers 95 % on average, the exact one never less, the textbook's less."""
    grid = np.linspace(0.01, 0.99, 197)
    pmf = binom.pmf(np.arange(n + 1), n, grid[:, np.newaxis])
    covered = {}
    for make in (wilson, clopper_pearson, normal_interval):
        low, high = np.array([(one.low, one.high) for one in (make(k, n) for k in range(n + 1))]).T
        covered[make] = (pmf * ((low <= grid[:, np.newaxis]) & (grid[:, np.newaxis] <= high))).sum(axis=1)
    assert 0.94 <= covered[wilson].mean() <= 0.965
    assert covered[wilson].min() >= 0.83
    assert covered[clopper_pearson].min() >= 0.95
    assert covered[normal_interval].mean() < covered[wilson].mean() - 0.01
    assert covered[normal_interval].min() < 0.5 or n > 60


def test_published_coverage_at_rate_097(lines):
    """At n 60 and rate 0.97: normal 83.7 %, bootstrap of 0/1 83.0 %, Wilson 96.6 %, Clopper-Pearson 99.1 %."""
    for method, want in (
        ("normal (on request)", 0.837),
        ("percentile bootstrap of 0/1", 0.830),
        ("Wilson", 0.966),
        ("Clopper-Pearson", 0.991),
    ):
        assert shares(lines, COVERED, method, "n 60, rate 0.97") == pytest.approx(want, abs=0.0006)


def test_rates_are_covered(lines):
    """Wilson covers 93 % and more at every rate shown, Clopper-Pearson 95 %."""
    assert shares(lines, COVERED, "Wilson").min() >= 0.93
    assert shares(lines, COVERED, "Wilson").mean() >= 0.95
    assert shares(lines, COVERED, "Clopper-Pearson").min() >= 0.95
    assert shares(lines, COVERED, "Wilson, clustered").min() >= 0.91
    assert shares(lines, COVERED, "Wilson, as if rows were independent").max() <= 0.9


def test_means_are_covered(lines):
    """t covers normal differences at any n; the bootstrap needs some 100, and skewed ones need as many."""
    assert np.abs(shares(lines, COVERED, "t", "normal") - 0.95).max() <= 0.02
    for method in ("t", "percentile bootstrap", "BCa bootstrap"):
        assert shares(lines, COVERED, method, "n 100").min() >= 0.93
        assert shares(lines, COVERED, method, "n 30").min() >= 0.90
        assert shares(lines, COVERED, method, "n 10").min() >= 0.85
    assert (shares(lines, COVERED, "BCa bootstrap", "exponential") >= 0.87).all()


def test_clusters_are_covered(lines):
    """The clustered t covers with ten clusters too; the bootstrap needs more; rows taken as independent never do."""
    assert shares(lines, COVERED, "clustered t").min() >= 0.93
    for method in ("clustered percentile bootstrap", "clustered BCa bootstrap"):
        assert shares(lines, COVERED, method, "60 clusters").min() >= 0.91
        assert shares(lines, COVERED, method, "10 clusters").min() >= 0.86
    assert shares(lines, COVERED, "t, as if rows were independent").max() <= 0.85


def test_quantiles_are_covered(lines):
    """Order statistics cover at least what they say, but for the simulation's error."""
    assert shares(lines, COVERED, "order statistics").min() >= 0.935


def test_tokens_of_a_document_are_no_independent_evidence(lines):
    """A t-test over 20,000 tokens of 100 documents finds a difference that is not there in half of all samples."""
    assert 0.43 <= shares(lines, REJECTED, "paired t over tokens") <= 0.6
    assert 0.03 <= shares(lines, REJECTED, "clustered t over documents") <= 0.085


@pytest.mark.parametrize(
    ("method", "setting", "least", "most"),
    [
        ("paired t", "normal", 0.035, 0.065),
        ("sign-flip permutation", "normal", 0.035, 0.065),
        ("sign test, exact", "", 0.0, 0.05),
        ("sign test, mid-p", "", 0.03, 0.055),
        ("McNemar, exact", "", 0.0, 0.05),
        ("McNemar, mid-p", "", 0.03, 0.055),
        ("Wilcoxon", "normal", 0.03, 0.07),
        ("Wilcoxon", "scores", 0.0, 0.07),
        ("Wilcoxon, Pratt's zeros", "scores", 0.0, 0.07),
        ("equivalence (two one-sided t)", "at the margin", 0.03, 0.065),
        ("non-inferiority", "at the margin", 0.03, 0.065),
    ],
)
def test_nothing_is_found_where_nothing_is(lines, method, setting, least, most):
    """At 0.05 each test errs in about 5 % of samples; those with few outcomes, or exact ones, in fewer."""
    found = shares(lines, REJECTED, method, setting)
    assert found.min() >= least
    assert found.max() <= most


def test_the_table_is_printed_whole(lines):
    """Each line is a row of one of the two tables, with its share and its error."""
    text = markdown(lines)
    assert text.count("\n| ") >= len(lines) + 3
    assert "| Wilson | n 60, rate 0.97 | 96.6 % |  | exact |  |" in text
    assert all(0 <= line.share <= 1 for line in lines)
