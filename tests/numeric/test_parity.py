"""Totals of two arms over documents: one pass and any sum of parts say the same."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalflow.numeric.cluster import cluster_se, mean_interval
from evalflow.numeric.interval import Interval
from evalflow.numeric.logits import PairedRows, paired_rows
from evalflow.numeric.parity import ParityTotals
from evalflow.numeric.undefined import Undefined

INF = math.inf


def rows_of(n_rows, seed, noise=0.3, width=12):
    """Paired rows with some disagreement."""
    rng = np.random.default_rng(seed)
    ref = rng.normal(size=(n_rows, width)) * 2
    return paired_rows(ref, ref + rng.normal(size=ref.shape) * noise, rng.integers(0, width, n_rows))


DOCUMENTS = {f"doc {n:02}": rows_of(n_rows, seed=n) for n, n_rows in enumerate([5, 40, 1, 12, 12, 3, 30, 8])}
WHOLE = PairedRows.joined(list(DOCUMENTS.values()))
NAMES = [name for name, rows in DOCUMENTS.items() for _ in range(len(rows))]


def totals_of(documents, **settings):
    found = ParityTotals(**settings)
    for name, rows in documents.items():
        found.add(name, rows)
    return found


def told(summary):
    """A summary as plain values that compare."""

    def plain(value):
        if isinstance(value, Undefined):
            return value.reason
        return {name: plain(one) for name, one in value.items()} if isinstance(value, dict) else value

    return {field.name: plain(getattr(summary, field.name)) for field in dataclasses.fields(summary)}


def test_figures_are_numpys_and_scipys_of_all_rows():
    """Means, sd, t, correlation, shares and percentiles of the rows as one column."""
    said = totals_of(DOCUMENTS).summary()
    dnll = WHOLE.nll_cand - WHOLE.nll_ref
    differs = WHOLE.argmax_ref != WHOLE.argmax_cand
    t = stats.ttest_rel(WHOLE.nll_cand, WHOLE.nll_ref)
    wilson = stats.binomtest(int(differs.sum()), len(WHOLE)).proportion_ci(method="wilson")
    expected = {
        "n": 111,
        "n_nonfinite": 0,
        "n_inf": 0,
        "n_infinite_nll": 0,
        "n_documents": 8,
        "n_disagree": int(differs.sum()),
        "disagree_rate": differs.mean(),
        "same_top": 1 - differs.mean(),
        "nll_ref_mean": WHOLE.nll_ref.mean(),
        "nll_cand_mean": WHOLE.nll_cand.mean(),
        "ppl_ref": np.exp(WHOLE.nll_ref.mean()),
        "ppl_cand": np.exp(WHOLE.nll_cand.mean()),
        "ppl_ratio": np.exp(dnll.mean()),
        "dnll_mean": dnll.mean(),
        "dnll_sd": dnll.std(ddof=1),
        "dnll_se": stats.sem(dnll),
        "t": t.statistic,
        "dnll_se_clustered": cluster_se(dnll, NAMES),
        "correlation": stats.pearsonr(WHOLE.nll_ref, WHOLE.nll_cand).statistic,
        "dp_mean": WHOLE.dp.mean(),
        "dp_rms": np.sqrt((WHOLE.dp**2).mean()),
        "kl_mean": WHOLE.kl.mean(),
        "gap_mean": WHOLE.gap.mean(),
        "gap_mean_disagree": WHOLE.gap[differs].mean(),
        "margin_disagree_mean": WHOLE.margin[differs].mean(),
        "margin_disagree_max": WHOLE.margin[differs].max(),
    }
    assert differs.sum() > 5
    for name, value in expected.items():
        assert getattr(said, name) == pytest.approx(value, rel=1e-12), name
    assert (said.disagree_interval.low, said.disagree_interval.high) == pytest.approx((wilson.low, wilson.high))
    for column, found in ((WHOLE.kl, said.kl_percentiles), (np.abs(dnll), said.dnll_abs_percentiles)):
        for percent in (50, 90, 95, 99):
            assert found[f"p{percent}"] == pytest.approx(np.percentile(column, percent), rel=1e-13)
        assert found["max"] == column.max()
        assert found["p99.9"].reason == "p99.9 needs n >= 1000, has 111"


def test_intervals_go_by_documents():
    """They are those of all rows with the document as cluster; the ratio's ends are exponentials."""
    said = totals_of(DOCUMENTS).summary(level=0.9)
    dnll = WHOLE.nll_cand - WHOLE.nll_ref
    for found, column in ((said.dnll_interval, dnll), (said.kl_interval, WHOLE.kl)):
        expected = mean_interval(column, NAMES, 0.9)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-11)
        assert (found.level, found.method) == (0.9, "clustered t")
    ratio = said.ppl_ratio_interval
    assert (ratio.low, ratio.high) == (math.exp(said.dnll_interval.low), math.exp(said.dnll_interval.high))
    assert said.disagree_clustered.method == "wilson, clustered"


@pytest.mark.parametrize("most", [1_000_000, 50])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_seven_shards_in_any_order_say_what_one_pass_says(seed, most):
    """Bit for bit, where each document is in one shard, nested or one after another."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(list(DOCUMENTS))
    shards = [totals_of({name: DOCUMENTS[name] for name in part}, most=most) for part in np.array_split(names, 7)]
    whole = told(totals_of(DOCUMENTS, most=most).summary())
    in_turn = shards[0]
    for shard in shards[1:]:
        in_turn = in_turn.merge(shard)
    nested = shards[6].merge(shards[2]).merge(shards[5].merge(shards[0].merge(shards[1]))).merge(shards[4])
    assert told(in_turn.summary()) == told(nested.merge(shards[3]).summary()) == whole


def test_a_document_in_two_shards_is_one_document():
    """Figures agree to rounding, and offsets name the row in the document."""
    first, second = ParityTotals(), ParityTotals()
    for name, rows in DOCUMENTS.items():
        half = len(rows) // 2
        first.add(name, rows[:half])
        second.add(name, rows[half:], offset=half)
    whole, halves = told(totals_of(DOCUMENTS).summary()), told(second.merge(first).summary())
    for name, value in whole.items():
        if isinstance(value, float):
            assert halves[name] == pytest.approx(value, rel=1e-12), name
    assert halves["worst"] == whole["worst"]
    assert halves["n_documents"] == 8


def test_merging_changes_neither_part():
    """Both go on saying what they said."""
    names = list(DOCUMENTS)
    one, other = (totals_of({name: DOCUMENTS[name] for name in part}) for part in (names[:3], names[3:]))
    before = told(one.summary()), told(other.summary())
    one.merge(other).add("later", rows_of(4, seed=99))
    assert (told(one.summary()), told(other.summary())) == before


def test_bit_identical_arms_are_exact():
    """No spread, no t, and an interval that is the point 0, of one document too."""
    ref = np.random.default_rng(0).normal(size=(6, 9))
    totals = ParityTotals()
    totals.add("only", paired_rows(ref, ref, [0] * 6))
    said = totals.summary()
    assert (said.dnll_mean, said.dnll_sd, said.kl_mean, said.ppl_ratio, said.disagree_rate) == (0, 0, 0, 1, 0)
    assert said.t.reason == "zero variance"
    assert said.gap_mean_disagree.reason == "no disagreement"
    assert said.dnll_interval == Interval(0.0, 0.0, 0.95, "exact")
    assert said.ppl_ratio_interval == Interval(1.0, 1.0, 0.95, "exact")
    assert said.kl_interval == Interval(0.0, 0.0, 0.95, "exact")
    assert said.disagree_interval.high > 0
    assert said.correlation == pytest.approx(1, abs=1e-15)


def test_a_spread_that_rounding_explains_is_none():
    """A candidate whose rows are the reference's plus a constant of their own has differences of some 1e-15."""
    rng = np.random.default_rng(0)
    ref = rng.normal(size=(50, 9)) * 5
    totals = ParityTotals()
    totals.add("only", paired_rows(ref, ref + rng.normal(size=(50, 1)), rng.integers(0, 9, 50)))
    said = totals.summary()
    assert (said.dnll_mean, said.dnll_sd) == (0, 0)
    assert said.t.reason == "zero variance"
    assert said.dnll_interval.method == "exact"


def test_rows_that_are_none_are_counted_and_named():
    """They are in no mean; the first of them are named with their document and offset."""
    ref = np.random.default_rng(0).normal(size=(6, 9))
    bad = ref.copy()
    bad[[1, 4], 3] = [np.nan, INF]
    totals = ParityTotals()
    totals.add("b", paired_rows(ref, bad, [0] * 6), offset=100)
    totals.add("a", paired_rows(bad[:2], ref[:2], [0] * 2))
    said = totals.summary()
    assert (said.n, said.n_nonfinite, said.dnll_mean) == (5, 3, 0)
    assert [(row.document, row.offset) for row in said.nonfinite] == [("a", 1), ("b", 101), ("b", 104)]
    assert all(math.isnan(row.kl) for row in said.nonfinite)


def test_infinite_kl_is_counted_ranked_first_and_not_averaged_away():
    """The mean is infinite, its interval has no value, and what is finite stays."""
    totals = ParityTotals()
    ref = np.zeros((40, 3))
    cand = ref + np.linspace(0, 0.1, 40)[:, None] * [1, 0, 0]
    cand[7, 2] = -INF
    totals.add("d", paired_rows(ref, cand, [0] * 40))
    said = totals.summary()
    assert (said.n, said.n_inf, said.n_infinite_nll, said.kl_mean) == (40, 1, 0, INF)
    assert said.kl_interval.reason == "infinite value"
    assert math.isfinite(said.dnll_mean)
    assert (said.worst[0].offset, said.worst[0].kl, said.worst[1].offset) == (7, INF, 39)
    assert (said.kl_percentiles["max"], math.isfinite(said.kl_percentiles["p90"])) == (INF, True)


def ruled_out(ref_at=(), cand_at=()):
    """Three documents of two rows of three equal candidates; an arm rules out some documents' first target."""
    totals = ParityTotals()
    for name in ("a", "b", "c"):
        ref, cand = np.zeros((2, 3)), np.zeros((2, 3))
        ref[0, 0], cand[0, 0] = -INF if name in ref_at else 0, -INF if name in cand_at else 0
        totals.add(name, paired_rows(ref, cand, [0, 1]))
    return totals.summary()


def test_a_target_that_the_candidate_alone_rules_out_is_infinitely_worse():
    """Its mean, the mean difference and the ratio are infinite, the other's mean is not; no spread has a value."""
    said = ruled_out(cand_at=("b",))
    assert (said.n, said.n_infinite_nll, said.nll_cand_mean, said.ppl_cand) == (6, 1, INF, INF)
    assert said.nll_ref_mean == pytest.approx(math.log(3), rel=1e-15)
    assert (said.dnll_mean, said.ppl_ratio) == (INF, INF)
    for name in ("dnll_sd", "dnll_se", "t", "dnll_se_clustered", "dnll_interval", "ppl_ratio_interval"):
        assert getattr(said, name).reason == "infinite value", name
    assert said.correlation.reason == said.dnll_abs_percentiles["p50"].reason == "infinite nll"


@pytest.mark.parametrize("cand_at", [(), ("a",), ("b",)])
def test_a_target_that_the_reference_rules_out_leaves_no_difference(cand_at):
    """Not even where the candidate does so too, here or elsewhere: no gate is to pass on minus infinity."""
    said = ruled_out(ref_at=("a",), cand_at=cand_at)
    assert said.nll_ref_mean == INF
    for name in ("dnll_mean", "dnll_sd", "t", "ppl_ratio", "dnll_interval", "ppl_ratio_interval", "correlation"):
        assert getattr(said, name).reason == "infinite nll", name


def test_no_rows_have_no_figures():
    """Counts are 0 and everything else says why it is not there."""
    for totals in (ParityTotals(), totals_of({"d": paired_rows([[np.nan]], [[1.0]], [0])})):
        said = told(totals.summary())
        assert said["n"] == said["n_disagree"] == 0
        for name in ("disagree_rate", "nll_ref_mean", "ppl_cand", "ppl_ratio", "dnll_mean", "dnll_sd", "t", "kl_mean"):
            assert said[name] == "no rows", name
        for name in ("gap_mean", "gap_mean_disagree", "dnll_interval", "kl_interval", "disagree_interval", "dp_rms"):
            assert said[name] == "no rows", name
        assert said["kl_percentiles"]["max"] == "no rows"


def test_one_row_has_means_and_no_spread():
    """sd, t and correlation ask for two; no interval pretends to be exact."""
    said = totals_of({"d": rows_of(1, seed=0)}).summary()
    assert math.isfinite(said.dnll_mean)
    for name in ("dnll_sd", "dnll_se", "t", "correlation", "dnll_interval"):
        assert getattr(said, name).reason == "n < 2", name
    assert said.dnll_se_clustered.reason == "fewer than 2 clusters"


def test_one_document_has_no_clustered_interval():
    """However many rows it has: nothing tells how documents vary."""
    said = totals_of({"d": rows_of(30, seed=0)}).summary()
    assert said.dnll_interval.reason == said.ppl_ratio_interval.reason == "fewer than 2 effective clusters"
    assert math.isfinite(said.t)


def test_worst_rows_are_the_largest_divergences():
    """As many as asked for, ties by document and offset."""
    said = totals_of(DOCUMENTS, n_worst=4).summary()
    places = [(name, at) for name, rows in DOCUMENTS.items() for at in range(len(rows))]
    order = np.argsort(-WHOLE.kl, kind="stable")[:4]
    assert [(row.document, row.offset) for row in said.worst] == [places[at] for at in order]
    assert [row.kl for row in said.worst] == WHOLE.kl[order].tolist()
    assert [row.dnll for row in said.worst] == (WHOLE.nll_cand - WHOLE.nll_ref)[order].tolist()
    same = paired_rows(np.zeros((3, 2)), np.full((3, 2), [0.0, 1.0]), [0] * 3)
    assert [(row.document, row.offset) for row in totals_of({"b": same, "a": same}, n_worst=4).summary().worst] == [
        ("a", 0), ("a", 1), ("a", 2), ("b", 0)
    ]  # fmt: skip


@given(st.lists(st.integers(0, 10), min_size=1, max_size=5), st.integers(0, 1000))
def test_memory_goes_by_documents(sizes, seed):
    """What is kept of a document does not grow with it, and its counts add up."""
    totals = ParityTotals(n_worst=2, most=8)
    for n, size in enumerate(sizes):
        totals.add(str(n), rows_of(size, seed=seed + n))
    assert sum(document.n for document in totals.documents.values()) == sum(sizes) == totals.summary().n
    assert len(totals.worst) == min(2, sum(sizes))
    assert totals.kl.exact == (sum(sizes) <= 8)
