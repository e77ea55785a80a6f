"""The bootstrap: draws keyed by seed and resample, and its intervals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import evalflow.numeric.bootstrap as bootstrap
from evalflow.numeric.bootstrap import (
    bootstrap_clusters,
    bootstrap_mean,
    bootstrap_se,
    bootstrap_statistic,
    draws,
    given_replicates,
    mean_replicates,
    percentile_interval,
    ratio_replicates,
    resamples,
)
from evalflow.numeric.undefined import Undefined

MANY = np.random.default_rng(1).gamma(2.0, size=60)  # more distinct values than have counts drawn
MASK = (1 << 64) - 1


def mixed(word: int) -> int:
    """SplitMix64's finaliser in plain integers."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def ends(interval):
    return [interval.low, interval.high]


# --- the draws ---


def test_the_hash_is_splitmix64():
    """Started at 0 and at 1234567 it gives the outputs published with the generator's reference code."""
    golden = 0x9E3779B97F4A7C15
    words = np.array([golden, (1234567 + golden) & MASK], dtype=np.uint64)
    bootstrap._mix(words)
    assert words.tolist() == [0xE220A8397B1DCDAF, 6457827717110365317]


def test_draws_by_plain_integers():
    """Every index is the documented hash of (seed, resample, position), worked out one by one."""
    golden, n, seed = 0x9E3779B97F4A7C15, 7, 42
    half = 4
    for r, row in enumerate(resamples(n, seed, 0, 5)):
        stream = mixed((mixed((seed + golden) & MASK) + (r + 1) * golden) & MASK)
        words = [mixed((stream + (j + 1) * golden) & MASK) for j in range(half)]
        halves = [w & 0xFFFFFFFF for w in words] + [w >> 32 for w in words]
        assert row.tolist() == [(h * n) >> 32 for h in halves[:n]]


@given(
    st.integers(1, 40),
    st.integers(0, 2**64 - 1),
    st.integers(0, 10**12),
    st.integers(0, 12),
    st.integers(0, 12),
)
def test_pieces_drawn_apart_are_the_pieces_of_the_whole(n_units, seed, start, first, second):
    """Where a chunk begins and ends does not change a single index."""
    whole = resamples(n_units, seed, start, start + first + second)
    parts = [
        resamples(n_units, seed, start, start + first),
        resamples(n_units, seed, start + first, start + first + second),
    ]
    assert np.array_equal(whole, np.concatenate(parts))
    assert whole.shape == (first + second, n_units)
    assert whole.size == 0 or (whole.min() >= 0 and whole.max() < n_units)


@pytest.mark.parametrize("n_units", [2, 3, 7, 10, 64])
def test_draws_are_uniform_and_independent(n_units):
    """A chi-square test finds neither an index likelier than another nor neighbours that depend."""
    drawn = resamples(n_units, 3, 0, 200_000 // n_units)
    counts = np.bincount(drawn.ravel(), minlength=n_units)
    assert stats.chisquare(counts).pvalue > 1e-4
    half = (n_units + 1) // 2
    for a, b in [
        (drawn[:, 0], drawn[:, 1]),
        (drawn[:, 0], drawn[:, half % n_units]),
        (drawn[:-1, 0], drawn[1:, 0]),
    ]:
        pairs = np.bincount(a * n_units + b, minlength=n_units**2)
        if pairs.sum() >= 5 * pairs.size and not np.array_equal(a, b):
            assert stats.chisquare(pairs).pvalue > 1e-4


def test_neighbouring_seeds_share_no_resample():
    """Seeds 0 to 19 give 2,000 different resamples of 20 units."""
    rows = {tuple(row) for seed in range(20) for row in resamples(20, seed, 0, 100).tolist()}
    assert len(rows) == 2000


def test_tosses_are_the_same_draws_of_two():
    """Draws from 0 and 1 are the top bits of the hash that draws units."""
    tosses = draws(64, 2, 3, 0, 500)
    assert np.array_equal(tosses, resamples(64, 3, 0, 500) >= 32)
    assert tosses.mean() == pytest.approx(0.5, abs=4 * 0.5 / tosses.size**0.5)


@pytest.mark.parametrize("arguments", [(0, 0, 0, 1), (5, -1, 0, 1), (5, 2**64, 0, 1), (5, 0, 2, 1), (5, 0, -1, 1)])
def test_draws_of_nothing_are_refused(arguments):
    """No units, a seed beyond 64 bits or a range turned round is a mistake."""
    with pytest.raises(ValueError, match="give"):
        resamples(*arguments)


# --- replicates and intervals ---


@pytest.mark.parametrize("at_once", [1, 59, 1000, 1 << 20])
@pytest.mark.parametrize("weights", [None, np.arange(1.0, 61.0)])
def test_chunks_change_no_bit(monkeypatch, at_once, weights):
    """However many resamples are drawn at a time, the replicates are the same to the last bit."""
    want = mean_replicates(MANY, 5, 300, weights)
    monkeypatch.setattr(bootstrap, "_DRAWS_AT_ONCE", at_once)
    assert np.array_equal(mean_replicates(MANY, 5, 300, weights), want)


def test_the_first_replicates_do_not_depend_on_how_many():
    """Asking for more resamples adds to those that were there."""
    assert np.array_equal(mean_replicates(MANY, 5, 1000)[:200], mean_replicates(MANY, 5, 200))


def test_replicates_are_the_means_of_their_resamples():
    """Each replicate is numpy's (weighted) mean of the units with its resample's indices."""
    indices = resamples(60, 9, 0, 50)
    weights = np.linspace(1, 3, 60)
    assert mean_replicates(MANY, 9, 50) == pytest.approx(MANY[indices].mean(axis=1), rel=1e-12)
    averages = np.average(MANY[indices], axis=1, weights=weights[indices])
    assert mean_replicates(MANY, 9, 50, weights) == pytest.approx(averages, rel=1e-12)


def test_published_case_of_seven(cases):
    """Seven paired differences: the ends lie within an atom or so of the exact bootstrap law's (p16)."""
    case = cases["p16"]
    differences = np.subtract(case["input"]["treatment"], case["input"]["baseline"])
    want, slack = case["expected"]["percentile"], case["tolerance"]["abs_by_key"]["percentile"]
    for seed in range(5):
        got = ends(bootstrap_mean(differences, seed, case["input"]["n_resamples"]))
        assert all(abs(g - w) <= s + 1e-9 for g, w, s in zip(got, want, slack, strict=True))


def test_published_case_of_given_indices(cases):
    """Twenty given resamples have the percentile interval of exact fractions (p17)."""
    case = cases["p17"]
    means = np.array(case["input"]["differences"])[np.array(case["input"]["resample_indices"])].mean(axis=1)
    interval = percentile_interval(means, case["input"]["confidence"])
    assert ends(interval) == pytest.approx(case["expected"]["percentile"], abs=1e-9)
    assert (interval.method, interval.level) == ("percentile bootstrap", 0.95)


def test_published_case_of_differences_of_0_and_1(cases):
    """Ten differences of 0/1 answers, of which counts are drawn, land within one atom (p30)."""
    case = cases["p30"]
    differences = np.subtract(case["input"]["treatment"], case["input"]["baseline"])
    assert ends(bootstrap_mean(differences, 42, 5000)) == pytest.approx(case["expected"]["percentile"], abs=0.1 + 1e-9)


@pytest.mark.parametrize("n_resamples", [200, 1000, 10_000])
def test_the_bootstrap_standard_error_does_not_shrink_with_resamples(cases, n_resamples):
    """Fifty 0s and fifty 1s: the replicates' sd is 0.05 however many there are (hc14)."""
    expected = cases["hc14"]["expected"]
    replicates = mean_replicates([0, 1] * 50, 0, n_resamples)
    assert np.std(replicates, ddof=1) == pytest.approx(expected["se_close_to"], rel=expected["rtol"])
    assert np.array_equal(replicates, mean_replicates([0, 1] * 50, 0, n_resamples))


def test_few_and_many_values_have_the_same_law(monkeypatch):
    """Drawing counts of the values -1, 0, 1 and drawing units agree by a Kolmogorov-Smirnov test."""
    values = np.repeat([-1.0, 0.0, 1.0], [7, 20, 13])
    by_counts = mean_replicates(values, 1, 4000)
    monkeypatch.setattr(bootstrap, "_FEW", 0)
    by_units = mean_replicates(values, 1, 4000)
    assert not np.array_equal(by_counts, by_units)
    # the law has atoms, which makes the test stricter than its p says
    assert stats.ks_2samp(by_counts, by_units).pvalue > 1e-3
    for replicates in (by_counts, by_units):
        assert replicates.mean() == pytest.approx(0.15, abs=4 * values.std() / 40**0.5 / 4000**0.5)
        assert replicates.std() == pytest.approx(values.std() / 40**0.5, rel=0.05)


def test_many_units_agree_with_scipy_and_the_normal_law():
    """500 skewed values: near scipy's percentile interval, and near the mean -/+ 1.96 standard errors."""
    values = np.random.default_rng(2).gamma(2.0, size=500)
    said = stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method="percentile", batch=500, rng=np.random.default_rng(3)
    ).confidence_interval
    se = values.std() / 500**0.5
    got = bootstrap_mean(values, 0, 4000)
    assert ends(got) == pytest.approx([said.low, said.high], abs=0.15 * se)
    assert ends(got) == pytest.approx([values.mean() - 1.96 * se, values.mean() + 1.96 * se], abs=0.3 * se)


def test_weights_are_cluster_sizes():
    """Cluster means weighted by size estimate the mean over rows, and vary as that ratio does."""
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 9, size=80).astype(float)
    means = rng.normal(size=80) + 0.2 * sizes
    replicates = mean_replicates(means, 0, 4000, sizes)
    ratio = np.average(means, weights=sizes)
    se = np.sqrt(np.sum((sizes * (means - ratio)) ** 2)) / sizes.sum()  # linearised, ddof 0
    assert replicates.mean() == pytest.approx(ratio, abs=0.1 * se)
    assert replicates.std() == pytest.approx(se, rel=0.07)


def test_equal_weights_are_no_weights():
    """Clusters all of one size give the plain mean's interval, bit for bit."""
    assert bootstrap_mean(MANY, 3, 200, weights=[2.5] * 60) == bootstrap_mean(MANY, 3, 200)


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -0.7])
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.3]])
def test_constant_data_is_one_point(value, weights):
    """Three equal values have an interval of exactly that value."""
    assert ends(bootstrap_mean([value] * 3, 0, 500, weights=weights)) == [value, value]


def test_an_end_at_zero_is_zero():
    """Differences of -1, 0 and 1 leave no dust that a sign could be read from."""
    low = bootstrap_mean([1] * 4 + [-1] + [0] * 15, 0, level=0.95).low
    assert low * 20 == round(low * 20)


@pytest.mark.parametrize("values", [[1.0], [0.3]])
def test_one_unit_cannot_be_resampled(values):
    """The bootstrap of one unit is undefined, not a width of 0 (hc14)."""
    for function in (
        lambda: bootstrap_mean(values, 0),
        lambda: bootstrap_statistic(1, lambda indices: 0.0, 0),
    ):
        with pytest.raises(Undefined) as caught:
            function()
        assert caught.value.reason == "n < 2"


@pytest.mark.parametrize(
    ("keywords", "complaint"),
    [
        ({"weights": [1.0, 0.0, 2.0]}, "a weight is 0.0"),
        ({"weights": [1.0, 2.0]}, "2 weights for 3 values"),
        ({"n_resamples": 0}, "n_resamples is 0"),
        ({"n_resamples": 1}, "at least 2"),
        ({"level": 95}, "level is 95"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_arguments_are_checked(keywords, complaint):
    """A weight of 0 or a missing one, no resamples, a level of 95, a negative seed: each is named."""
    with pytest.raises(ValueError, match=complaint):
        bootstrap_mean([1.0, 2.0, 4.0], **{"seed": 0, **keywords})


def test_any_statistic_can_be_resampled():
    """The bootstrap of a mean as a general statistic is that of `bootstrap_mean`."""
    got = bootstrap_statistic(60, lambda indices: float(MANY[indices].mean()), 7, 400, 0.9)
    assert ends(got) == pytest.approx(ends(bootstrap_mean(MANY, 7, 400, 0.9)), rel=1e-12)
    assert got.level == 0.9


def test_a_resample_without_a_value_leaves_the_whole_without():
    """No resample is skipped: one that is undefined, or NaN, undoes the interval and says so."""

    def no_ones(indices):
        if not np.any(indices == 1):
            raise Undefined("no rows")
        return 1.0

    with pytest.raises(Undefined) as caught:
        bootstrap_statistic(5, no_ones, 0, 100)
    assert caught.value.reason == "a resample is undefined: no rows"
    with pytest.raises(Undefined) as caught:
        bootstrap_statistic(5, lambda indices: float("nan"), 0, 100)
    assert caught.value.reason == "a resample is undefined: non-finite value"


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=25), st.integers(0, 1000))
@settings(max_examples=50)
def test_the_interval_stays_in_the_range_of_the_values(values, seed):
    """No resampled mean leaves the range of the data, and a wider level is no narrower."""
    narrow, wide = bootstrap_mean(values, seed, 200, 0.8), bootstrap_mean(values, seed, 200, 0.95)
    assert min(values) <= wide.low <= narrow.low <= narrow.high <= wide.high <= max(values)


# --- standard error, ratios, clusters, draws made elsewhere ---


def test_the_standard_error_is_the_sd_of_the_replicates(cases):
    """Fifty 0s and fifty 1s: near 0.05 at any number of resamples, not divided by its root (hc14)."""
    case = cases["hc14"]
    for n_resamples in case["input"]["resamples"]:
        se = bootstrap_se([0, 1] * 50, 0, n_resamples)
        assert se == pytest.approx(case["expected"]["se_close_to"], rel=case["expected"]["rtol"])
        assert se == pytest.approx(np.std(mean_replicates([0, 1] * 50, 0, n_resamples), ddof=1), rel=1e-12)


@pytest.mark.parametrize(
    ("values", "reason"),
    [([1.0], "n < 2"), ([1.0] * 9, "zero variance"), ([], "no rows"), ([np.nan, 1], "non-finite value")],
)
def test_no_standard_error_of_0(values, reason):
    """One unit, and units all alike, have no bootstrap standard error: it would read as certainty."""
    with pytest.raises(Undefined) as caught:
        bootstrap_se(values, 0)
    assert caught.value.reason == reason


def test_one_resample_has_no_spread():
    """A standard error asks for two resamples."""
    with pytest.raises(ValueError, match="at least 2"):
        bootstrap_se([1.0, 2.0], 0, 1)


def test_constant_data_is_marked_degenerate():
    """The one point of equal values is marked as having no width, and an interval of others is not."""
    assert bootstrap_mean([0.3] * 3, 0, 500).degenerate
    assert not bootstrap_mean([0.3, 0.2, 0.1], 0, 500).degenerate


def test_a_ratio_of_sums_by_numpy():
    """Each replicate is the sum of one column over the sum of the other, on the same units; a 0 below is no matter."""
    below = np.arange(60.0)
    drawn = resamples(60, 9, 0, 50)
    want = MANY[drawn].sum(axis=1) / below[drawn].sum(axis=1)
    assert ratio_replicates(MANY, below, 9, 50) == pytest.approx(want, rel=1e-12)
    weights = below + 1
    assert ratio_replicates(MANY * weights, weights, 9, 50) == pytest.approx(
        mean_replicates(MANY, 9, 50, weights), rel=1e-12
    )


def test_a_ratio_over_nothing_is_undefined():
    """A resample whose denominators are all 0 has no ratio, and is not left out."""
    with pytest.raises(Undefined) as caught:
        ratio_replicates([1.0, 2.0], [1.0, 0.0], 0, 100)
    assert caught.value.reason == "a resample is undefined: the denominators sum to 0"
    with pytest.raises(Undefined, match="n < 2"):
        ratio_replicates([1.0], [1.0], 0)
    with pytest.raises(ValueError, match="a denominator is -1"):
        ratio_replicates([1.0, 2.0], [-1.0, 3.0], 0)
    with pytest.raises(ValueError, match="1 numerators for 2"):
        ratio_replicates([1.0], [1.0, 3.0], 0)


def test_clusters_are_drawn_whole():
    """The interval is that of the rows of the clusters drawn, gathered one resample at a time."""
    clusters = np.repeat(np.arange(12), [1, 2, 3, 4, 5, 6, 5, 7, 8, 9, 5, 5])
    members = [np.flatnonzero(clusters == g) for g in range(12)]
    rows = [np.concatenate([members[g] for g in drawn]) for drawn in resamples(12, 3, 0, 400)]
    want = np.quantile([MANY[row].mean() for row in rows], [0.025, 0.975])
    assert ends(bootstrap_clusters(MANY, clusters, 3, 400)) == pytest.approx(want.tolist(), rel=1e-12)


def test_one_cluster_cannot_be_resampled():
    """Rows of a single cluster have no interval, however many they are."""
    with pytest.raises(Undefined) as caught:
        bootstrap_clusters([1.0, 2.0, 3.0], ["a"] * 3, 0)
    assert caught.value.reason == "fewer than 2 clusters"


def test_given_draws_have_their_means(cases):
    """Indices drawn elsewhere give the means of numpy, and the published interval (p17)."""
    case = cases["p17"]["input"]
    replicates = given_replicates(case["differences"], case["resample_indices"])
    assert replicates == pytest.approx(np.array(case["differences"])[case["resample_indices"]].mean(axis=1), rel=1e-12)
    assert given_replicates([0.1] * 3, [[0, 1, 2], [2, 2, 2]]).tolist() == [0.1, 0.1]


@pytest.mark.parametrize(
    ("indices", "complaint"),
    [
        ([[0, 2]], "indices run from 0 to 2"),
        ([[0, -1]], "indices run from -1"),
        ([[0, 1], [1]], "differ in length"),
        ([[0, 1, 1]], "rows of 2 integers"),
        ([0, 1], "rows of 2 integers"),
        ([[0.5, 1.0]], "rows of 2 integers"),
        ([], "give at least 1"),
    ],
)
def test_given_draws_are_checked(indices, complaint):
    """An index that is no unit's, a ragged or a short row, and no draws are named; -1 is not the last unit."""
    with pytest.raises(ValueError, match=complaint):
        given_replicates([1.0, 2.0], indices)


def test_given_draws_of_one_unit_are_undefined():
    """One unit has no resamples that differ."""
    with pytest.raises(Undefined, match="n < 2"):
        given_replicates([1.0], [[0], [0]])
    with pytest.raises(Undefined, match="non-finite value"):
        given_replicates([1.0, np.nan], [[0, 1]])
