"""Means over positions of which only each text's sum and count are kept, against the same rows written out."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from evalflow.numeric.cluster import mean_interval
from evalflow.numeric.ratio import ratio, ratio_interval, share_interval
from evalflow.numeric.undefined import Undefined

TEXTS = st.lists(
    st.tuples(st.lists(st.floats(-50, 50), min_size=1, max_size=6), st.integers(0, 7)), min_size=2, max_size=20
)
"""Texts: the values of their positions, and the cluster of each."""
SHARES = st.lists(
    st.tuples(st.lists(st.integers(0, 1), min_size=1, max_size=6), st.integers(0, 7)), min_size=2, max_size=20
)


def summed(texts: list[tuple[list[float], int]]) -> tuple[list[float], list[float], list[int]]:
    """What is kept: sums, counts and clusters by text."""
    return [math.fsum(v) for v, _ in texts], [float(len(v)) for v, _ in texts], [c for _, c in texts]


def expanded(texts: list[tuple[list[float], int]]) -> tuple[np.ndarray, list[int]]:
    """What it was made of: every value with its cluster."""
    return np.array([x for v, _ in texts for x in v]), [c for v, c in texts for _ in v]


def ends(interval: object) -> tuple[float, float]:
    return interval.low, interval.high  # type: ignore[attr-defined]


def enough(texts: list[tuple[list[float], int]]) -> bool:
    """Whether the clusters come to two effective ones, Kish's."""
    sizes = np.bincount(expanded(texts)[1])
    return bool(sizes.sum() ** 2 / (sizes**2).sum() >= 2)


def test_by_hand() -> None:
    """Sums 3, 5 and 4 over 2, 4 and 2 positions: 12 / 8, each position weighing the same; not the mean of means."""
    assert ratio([3, 5, 4], [2, 4, 2]) == 1.5
    assert ratio([3, 0, 4], [2, 0, 2]) == 1.75


def test_no_order_can_move_it() -> None:
    """Sums are correctly rounded: 1e16 + 1 - 1e16 is 1 in any order."""
    for sums in ([1e16, 1.0, -1e16], [1.0, 1e16, -1e16], [1e16, -1e16, 1.0]):
        assert ratio(sums, [1, 1, 1]) == 1 / 3


@pytest.mark.parametrize(
    ("sums", "counts", "reason"),
    [
        ([], [], "no rows"),
        ([0.0], [0.0], "nothing counted"),
        ([1.0, 2.0], [0.0, 0.0], "nothing counted"),
        ([math.nan, 1.0], [1.0, 1.0], "non-finite value"),
        ([math.inf, 1.0], [1.0, 1.0], "non-finite value"),
        ([1.0, 1.0], [math.nan, 1.0], "non-finite value"),
    ],
)
def test_what_has_no_ratio(sums: list[float], counts: list[float], reason: str) -> None:
    """Nothing counted is no 0, and a NaN is not passed over; the intervals say the same."""
    clusters = list(range(len(sums)))
    for function in (
        lambda: ratio(sums, counts),
        lambda: ratio_interval(sums, counts, clusters),
        lambda: share_interval(sums, counts, clusters),
    ):
        with pytest.raises(Undefined) as undefined:
            function()
        assert undefined.value.reason == reason


@settings(deadline=None)
@given(st.integers(2, 12), st.integers(1, 4), st.integers(1, 3), st.integers(0, 999))
def test_equal_clusters_have_statsmodels_robust_error(groups: int, texts: int, length: int, seed: int) -> None:
    """The interval is that of a regression of the written-out rows on a constant, CR1 and t of G - 1."""
    values = np.random.default_rng(seed).normal(size=(groups, texts, length)) + np.arange(groups)[:, None, None] % 3
    sums, counts = values.sum(2).ravel(), np.full(groups * texts, float(length))
    clusters = np.repeat(np.arange(groups), texts)
    rows, of = values.ravel(), np.repeat(np.arange(groups), texts * length)
    fit = sm.OLS(rows, np.ones(rows.size)).fit(cov_type="cluster", cov_kwds={"groups": of, "use_correction": False})
    se = float(fit.bse[0]) * math.sqrt(groups / (groups - 1))
    reach = float(stats.t.ppf(0.975, groups - 1)) * se
    found = ratio_interval(sums, counts, clusters)
    assert (found.level, found.method) == (0.95, "clustered t")
    assert ends(found) == pytest.approx((rows.mean() - reach, rows.mean() + reach), rel=1e-7, abs=1e-7)


@settings(deadline=None)
@given(TEXTS, st.sampled_from([0.8, 0.95, 0.99]))
def test_unequal_clusters_have_the_interval_of_their_rows(texts: list[tuple[list[float], int]], level: float) -> None:
    """Whatever their sizes: sums and counts say as much as the rows themselves."""
    assume(enough(texts))
    rows, of = expanded(texts)
    wanted = mean_interval(rows, of, level)
    found = ratio_interval(*summed(texts), level)
    assert ends(found) == pytest.approx(ends(wanted), rel=1e-7, abs=1e-7)
    assert found.level == level


@settings(deadline=None)
@given(TEXTS, st.randoms(use_true_random=False))
def test_order_moves_nothing(texts: list[tuple[list[float], int]], random: object) -> None:
    """Neither of texts nor of the names that clusters go by."""
    assume(enough(texts))
    shuffled = list(texts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = ratio_interval(*summed(texts))
    sums, counts, clusters = summed(shuffled)
    again = ratio_interval(sums, counts, [("c", -c) for c in clusters])
    assert ends(again) == pytest.approx(ends(found), rel=1e-9, abs=1e-9)
    assert ratio(sums, counts) == ratio(*summed(texts)[:2])


@settings(deadline=None)
@given(TEXTS)
def test_texts_of_one_cluster_may_be_merged(texts: list[tuple[list[float], int]]) -> None:
    """A shard that kept one sum per cluster says the same as one that kept its texts."""
    assume(enough(texts))
    sums, counts, clusters = summed(texts)
    names = sorted(set(clusters))
    merged = [
        [math.fsum(x for x, c in zip(column, clusters, strict=True) if c == name) for name in names]
        for column in (sums, counts)
    ]
    found, again = ratio_interval(sums, counts, clusters), ratio_interval(*merged, names)
    assert ends(again) == pytest.approx(ends(found), rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(TEXTS, st.floats(0.01, 100), st.floats(-10, 10))
def test_it_scales_and_shifts_with_the_values(texts: list[tuple[list[float], int]], by: float, to: float) -> None:
    """Nats may become bits, and a constant added to every position moves both ends by it."""
    assume(enough(texts))
    low, high = ends(ratio_interval(*summed(texts)))
    moved = [([by * x + to for x in v], c) for v, c in texts]
    found = ends(ratio_interval(*summed(moved)))
    assert found == pytest.approx((by * low + to, by * high + to), rel=1e-6, abs=1e-6)


def test_texts_without_a_position_weigh_nothing() -> None:
    """They are no clusters either."""
    found = ratio_interval([3, 5, 0, 4], [2, 4, 0, 2], ["a", "b", "c", "d"])
    assert ends(found) == ends(ratio_interval([3, 5, 4], [2, 4, 2], ["a", "b", "d"]))


@pytest.mark.parametrize(("counts", "clusters"), [([4, 4], [0, 0]), ([4, 0], [0, 1]), ([40, 1], [0, 1])])
def test_too_few_effective_clusters_have_no_interval(counts: list[float], clusters: list[int]) -> None:
    """One cluster, one that counts anything, or one beside which the other is nothing."""
    with pytest.raises(Undefined) as undefined:
        ratio_interval([1.0, 2.0], counts, clusters)
    assert undefined.value.reason == "fewer than 2 effective clusters"


def test_two_clusters_of_one_size_have_one() -> None:
    """Exactly two effective ones are enough: means 1 and 3, se 1, t(1) = 12.706."""
    found = ratio_interval([4.0, 12.0], [4, 4], "ab")
    reach = float(stats.t.ppf(0.975, 1))
    assert ends(found) == pytest.approx((2 - reach, 2 + reach), rel=1e-12)


@pytest.mark.parametrize("function", [ratio_interval, share_interval])
def test_settings_that_make_no_sense(function: object) -> None:
    """A cluster for every sum, and a level inside (0, 1)."""
    with pytest.raises(ValueError, match="2 clusters for 3 values"):
        function([1, 1, 0], [2, 2, 2], [0, 1])  # type: ignore[operator]
    with pytest.raises(ValueError, match="level"):
        function([1, 1, 0], [2, 2, 2], [0, 1, 2], 95)  # type: ignore[operator]


@pytest.mark.parametrize(("k", "n"), [(0, 40), (40, 40), (0, 1), (1, 1)])
def test_what_shows_no_dependence_has_plain_wilson(k: int, n: int) -> None:
    """None or all: nothing tells how texts depend, and the interval is statsmodels'."""
    texts = 4 if n > 1 else 1
    sums, counts = [k / texts] * texts, [n / texts] * texts
    found = share_interval(sums, counts, list(range(texts)))
    assert found.method == "wilson"
    assert ends(found) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-12)


def design(sums: list[float], counts: list[float]) -> tuple[float, float]:
    """The independent positions that have the clustered error, worked out in fractions; and the effective clusters.

    Source: p (1 - p) / se^2, se the larger of CR1 at Kish's number and of clusters that vary alike.
    """
    s, n = [Fraction(x) for x in sums], [Fraction(x) for x in counts]
    total, p = sum(n), sum(s) / sum(n)
    effective = total**2 / sum(x * x for x in n)
    rests = [a - p * b for a, b in zip(s, n, strict=True)]
    robust = sum(r * r for r in rests) * effective / (effective - 1) / total**2
    alike = sum(r * r / b for r, b in zip(rests, n, strict=True)) / (total * (effective - 1))
    variance = max(robust, alike)
    size = total if variance == 0 else min(total, p * (1 - p) / variance)
    return float(size), float(effective)


@pytest.mark.parametrize(
    ("sums", "counts"),
    [
        ([1, 2, 0, 5], [10, 10, 10, 10]),
        ([9, 8, 10, 5], [10, 10, 10, 10]),
        ([1, 20, 0, 5, 1], [10, 60, 10, 10, 30]),
        ([2, 2, 2, 2], [10, 10, 10, 10]),
        ([3, 3, 3], [10, 10, 10]),
    ],
)
def test_a_share_has_wilson_on_the_positions_that_it_is_worth(sums: list[float], counts: list[float]) -> None:
    """With the t quantile, for the error is an estimate; texts that agree are worth their positions, and no more."""
    size, effective = design(sums, counts)
    p, c = sum(sums) / sum(counts), float(stats.t.ppf(0.975, effective - 1))
    middle = (p + c * c / (2 * size)) / (1 + c * c / size)
    reach = c * math.sqrt(p * (1 - p) / size + c * c / (4 * size * size)) / (1 + c * c / size)
    found = share_interval(sums, counts, list(range(len(sums))))
    assert found.method == "wilson, clustered"
    assert ends(found) == pytest.approx((middle - reach, middle + reach), abs=1e-12)
    assert size <= sum(counts)


@settings(deadline=None)
@given(SHARES)
def test_a_share_and_its_complement_have_mirrored_intervals(texts: list[tuple[list[int], int]]) -> None:
    """Inside 0 and 1, around the share; never of no width."""
    assume(enough(texts))  # type: ignore[arg-type]
    sums, counts, clusters = summed(texts)  # type: ignore[arg-type]
    low, high = ends(share_interval(sums, counts, clusters))
    assert 0 <= low <= ratio(sums, counts) <= high <= 1
    assert high > low
    others = [n - s for s, n in zip(sums, counts, strict=True)]
    assume(ratio(sums, counts) != 0.5)  # there both have as good a claim to be the rarer
    assert ends(share_interval(others, counts, clusters)) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@settings(deadline=None)
@given(SHARES)
def test_clusters_never_make_a_share_surer_than_independent_positions(texts: list[tuple[list[int], int]]) -> None:
    """Its interval holds plain Wilson's on the positions, statsmodels'."""
    assume(enough(texts))  # type: ignore[arg-type]
    sums, counts, clusters = summed(texts)  # type: ignore[arg-type]
    low, high = ends(share_interval(sums, counts, clusters))
    plain = proportion_confint(sum(sums), sum(counts), method="wilson")
    assert low <= plain[0] + 1e-9 and high >= plain[1] - 1e-9


def test_a_share_of_too_few_clusters_has_none() -> None:
    """Where two texts of one cluster disagree, nothing tells how clusters vary; of none in them plain Wilson does."""
    with pytest.raises(Undefined) as undefined:
        share_interval([1.0, 2.0, 1.0], [50, 50, 1], ["a", "a", "b"])
    assert undefined.value.reason == "fewer than 2 effective clusters"
    assert share_interval([0.0, 0.0], [50, 50], ["a", "a"]).method == "wilson"


def test_all_that_lies_in_one_text_is_about_one_event() -> None:
    """A hundred positions of one text among 24 are one text of 24, and not a hundred of 2,400 positions."""
    found = share_interval([100.0] + [0.0] * 23, [100.0] * 24, range(24))
    low, high = proportion_confint(1, 24, method="wilson")
    assert (found.low, found.high) == pytest.approx((low, high), rel=0.15)
    alone = share_interval([1.0] + [0.0] * 23, [100.0] * 24, range(24))
    assert alone.high == pytest.approx(proportion_confint(1, 2400, method="wilson")[1], rel=0.15)
