"""The BCa interval, its acceleration in closed form."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from evalflow.numeric.bca import (
    acceleration,
    bca_clusters,
    bca_interval,
    bca_mean,
    bca_ratio,
    bias,
    ratio_acceleration,
)
from evalflow.numeric.bootstrap import mean_replicates, percentile_interval
from evalflow.numeric.undefined import Undefined

SKEWED = np.random.default_rng(1).gamma(0.7, size=40)
LENGTHS = np.random.default_rng(2).integers(1, 30, size=40).astype(float)
EDITS = np.random.default_rng(3).binomial(LENGTHS.astype(int), 0.1).astype(float)


def ends(interval):
    return [interval.low, interval.high]


def reason(function, *arguments):
    with pytest.raises(Undefined) as caught:
        function(*arguments)
    return caught.value.reason


def jackknife(figure, n):
    """The acceleration by leaving each unit out in fact."""
    left_out = np.array([figure(np.delete(np.arange(n), i)) for i in range(n)])
    u = left_out.mean() - left_out
    return (u**3).sum() / (6 * (u**2).sum() ** 1.5)


# --- the acceleration ---


@given(st.lists(st.floats(-50, 50), min_size=3, max_size=20))
def test_the_acceleration_of_a_mean_is_the_jackknifes(values):
    """No unit is left out, and the number is that of leaving each out."""
    assume(np.ptp(values) > 1e-3)
    column = np.array(values)
    want = jackknife(lambda kept: column[kept].mean(), len(values))
    assert acceleration(values) == pytest.approx(want, rel=1e-6, abs=1e-9)


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 30)), min_size=4, max_size=20),
)
def test_the_acceleration_of_a_ratio_is_the_jackknifes(units):
    """Edits over lengths, some of them 0: one pass gives what leaving each unit out gives."""
    above, below = np.array(units, dtype=float).T
    assume(below.sum() > below.max())
    assume(np.abs(above * below.sum() - below * above.sum()).max() > 1e-6)
    want = jackknife(lambda kept: above[kept].sum() / below[kept].sum(), len(units))
    assert ratio_acceleration(above, below) == pytest.approx(want, rel=1e-6, abs=1e-9)


def test_the_acceleration_is_what_scipy_uses():
    """A sixth of the skewness over the root of n, for scipy's skewness."""
    assert acceleration(SKEWED) == pytest.approx(stats.skew(SKEWED) / (6 * 40**0.5), rel=1e-12)
    assert acceleration(1e200 * SKEWED) == pytest.approx(acceleration(SKEWED), rel=1e-12)
    assert acceleration(1e-200 * SKEWED) == pytest.approx(acceleration(SKEWED), rel=1e-12)
    assert ratio_acceleration(SKEWED, np.ones(40)) == pytest.approx(acceleration(SKEWED), rel=1e-9)


def test_without_spread_there_is_no_acceleration():
    """Equal values, one value, and units of one ratio have none; nor does a denominator held by one unit."""
    assert reason(acceleration, [0.1] * 3) == "zero variance"
    assert reason(acceleration, [0.1]) == "n < 2"
    assert reason(acceleration, []) == "no rows"
    assert reason(acceleration, [1.0, float("nan")]) == "non-finite value"
    assert reason(ratio_acceleration, 0.1 * LENGTHS, LENGTHS) == "zero variance"
    assert reason(ratio_acceleration, [1.0], [2.0]) == "n < 2"
    assert reason(ratio_acceleration, [1.0, 0.0], [2.0, 0.0]) == "one unit holds the whole denominator"
    with pytest.raises(ValueError, match="2 numerators for 3 denominators"):
        ratio_acceleration([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="a denominator is -1"):
        ratio_acceleration([1.0, 2.0], [1.0, -1.0])


# --- the bias ---


def test_the_bias_counts_ties_half():
    """Of four replicates one below and two level, half lie below: z0 is 0; of one below and one level, 3/8."""
    assert bias([1.0, 2.0, 2.0, 3.0], 2.0) == 0.0
    assert bias([1.0, 2.0, 3.0, 4.0], 2.0) == pytest.approx(stats.norm.ppf(3 / 8), rel=1e-12)


def test_a_tie_may_round():
    """0.1 + 0.2 is level with 0.3."""
    assert bias([0.1, 0.1 + 0.2, 0.3, 0.5], 0.3) == 0.0


def test_the_bias_of_seven_differences_is_near_the_exact_laws(cases):
    """Over all 823,543 resamples z0 is 0.0554 with ties counted half; 10,000 drawn come near (p16)."""
    case = cases["p16"]
    hundredths = np.round(100 * np.subtract(case["input"]["treatment"], case["input"]["baseline"])).astype(int)
    law = np.array([0])
    for _ in range(7):
        law = np.add.outer(law, hundredths).ravel()
    seen = hundredths.sum()
    exact = stats.norm.ppf(np.mean(law < seen) + np.mean(law == seen) / 2)
    assert exact == pytest.approx(case["expected"]["bca_z0_exact"], abs=1e-12)
    replicates = mean_replicates(hundredths / 100, 0, 10_000)
    assert bias(replicates, hundredths.mean() / 100) == pytest.approx(exact, abs=0.06)


def test_replicates_on_one_side_have_no_bias():
    """Where no replicate reaches the estimate there is no finite z0."""
    assert reason(bias, [1.0, 2.0], 3.0) == "all replicates on one side"
    assert reason(bias, [1.0, 2.0], 0.0) == "all replicates on one side"
    assert reason(bias, [], 0.0) == "no rows"
    assert reason(bias, [1.0], float("nan")) == "non-finite value"


# --- the interval ---


def test_published_case_of_seven(cases):
    """Seven paired differences: the ends lie within the stated atoms of the exact law's (p16)."""
    case = cases["p16"]
    differences = np.subtract(case["input"]["treatment"], case["input"]["baseline"])
    want, slack = case["expected"]["bca"], case["tolerance"]["abs_by_key"]["bca"]
    assert acceleration(differences) == pytest.approx(case["expected"]["bca_acceleration"], abs=1e-9)
    for seed in range(5):
        got = ends(bca_mean(differences, seed, case["input"]["n_resamples"]))
        assert all(abs(g - w) <= s + 1e-9 for g, w, s in zip(got, want, slack, strict=True))


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_skewed_values_agree_with_scipy(level):
    """Forty skewed values: the ends are scipy's, but for what the draws differ by."""
    said = stats.bootstrap(
        (SKEWED,), np.mean, n_resamples=20_000, confidence_level=level, batch=500, rng=np.random.default_rng(3)
    ).confidence_interval
    se = SKEWED.std() / 40**0.5
    interval = bca_mean(SKEWED, 0, 20_000, level)
    assert ends(interval) == pytest.approx([said.low, said.high], abs=0.1 * se)
    assert (interval.method, interval.level) == ("BCa bootstrap", level)
    plain = percentile_interval(mean_replicates(SKEWED, 0, 20_000), level)
    assert interval.low > plain.low
    assert interval.high > plain.high


def test_on_the_same_replicates_the_ends_are_scipys_formula():
    """Given replicates, z0 and a, the ends are the quantiles that scipy's own formula names."""
    replicates = mean_replicates(SKEWED, 4, 3000)
    z0, a = bias(replicates, SKEWED.mean()), acceleration(SKEWED)
    z = stats.norm.ppf([0.025, 0.975])
    shares = stats.norm.cdf(z0 + (z0 + z) / (1 - a * (z0 + z)))
    want = np.quantile(replicates, shares)
    assert ends(bca_interval(replicates, SKEWED.mean(), a)) == pytest.approx(want.tolist(), rel=1e-9)


def test_without_bias_and_acceleration_it_is_the_percentile_interval():
    """Replicates symmetric about the estimate and a of 0 change nothing."""
    replicates = np.linspace(-1, 1, 2001)
    assert ends(bca_interval(replicates, 0.0, 0.0)) == pytest.approx(ends(percentile_interval(replicates)), abs=1e-9)


def test_a_ratio_of_sums_agrees_with_scipy():
    """Edits over lengths: the ends are scipy's for the paired statistic, but for what the draws differ by."""

    def rate(above, below, axis=-1):
        return above.sum(axis=axis) / below.sum(axis=axis)

    said = stats.bootstrap(
        (EDITS, LENGTHS), rate, paired=True, n_resamples=20_000, batch=500, rng=np.random.default_rng(3)
    )
    interval = bca_ratio(EDITS, LENGTHS, 0, 20_000)
    assert ends(interval) == pytest.approx(said.confidence_interval, abs=0.1 * said.standard_error)


def test_clusters_are_drawn_whole():
    """The mean over rows, its clusters drawn whole, is the ratio of their totals to their sizes."""
    clusters = np.repeat(np.arange(12), [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 4])
    values = SKEWED + 0.3 * clusters
    totals, sizes = np.bincount(clusters, weights=values), np.bincount(clusters).astype(float)
    want = bca_ratio(totals, sizes, 5, 2000)
    assert ends(bca_clusters(values, clusters, 5, 2000)) == pytest.approx(ends(want), rel=1e-12)
    assert reason(bca_clusters, [1.0, 2.0], ["a", "a"], 0) == "fewer than 2 clusters"


def test_constant_and_single_values_have_no_bca():
    """Without spread, and of one unit, there is nothing to correct."""
    assert reason(bca_mean, [0.1] * 3, 0) == "zero variance"
    assert reason(bca_mean, [0.1], 0) == "n < 2"
    assert reason(bca_mean, [1.0, float("nan")], 0) == "non-finite value"
    assert reason(bca_ratio, 0.1 * LENGTHS, LENGTHS, 0) == "zero variance"
    assert reason(bca_interval, [1.0, 1.0], 1.0, 0.1) == "zero variance"


def test_an_acceleration_that_folds_the_scale_is_refused():
    """Where 1 - a (z0 + z) is not above 0 the formula is no order of quantiles any more."""
    replicates = np.linspace(-1, 1, 2001)
    assert reason(bca_interval, replicates, 0.0, 0.6) == "acceleration too large"
    assert reason(bca_interval, replicates, 0.0, -0.6) == "acceleration too large"
    with pytest.raises(ValueError, match="at least 2"):
        bca_interval([1.0], 1.0, 0.0)
    with pytest.raises(ValueError, match="level"):
        bca_interval(replicates, 0.0, 0.0, 95)


@given(st.lists(st.floats(-1e3, 1e3), min_size=9, max_size=25), st.integers(0, 1000))
@settings(max_examples=40)
def test_it_stays_in_the_range_and_turns_with_the_arms(values, seed):
    """No end leaves the range of the data, and swapped arms have the interval turned round."""
    assume(len(set(np.abs(values))) > 8)
    interval = bca_mean(values, seed, 300)
    assert min(values) <= interval.low <= interval.high <= max(values)
    turned = bca_mean([-v for v in values], seed, 300)
    assert ends(turned) == pytest.approx([-interval.high, -interval.low], rel=1e-6, abs=1e-6)


def test_every_pair_of_two_values_is_exact():
    """Of two values the resamples are three numbers, and the corrected interval is among them."""
    atoms = {np.mean(pair) for pair in product((0.0, 1.0), repeat=2)}
    assert set(ends(bca_mean([0.0, 1.0], 0, 2000))) <= atoms
