"""How much answers vary over seeds, by hand."""

import statistics

import numpy as np
import pytest

from evalflow.metric.protocol import Metric, Repeats, figure_names
from evalflow.metric.stability import (
    DistinctOutputs,
    IdenticalPairs,
    PairwiseDisagreement,
    PairwiseErrorRate,
    RunErrorRate,
)
from evalflow.numeric.text_profile import TextProfile
from evalflow.numeric.undefined import Undefined
from evalflow.record import Item
from tests.metric.by_hand import row

APART, SAME, DISTINCT = PairwiseDisagreement(), IdenticalPairs(), DistinctOutputs()
PAIRWISE, RUNS = PairwiseErrorRate(), RunErrorRate()
OVER_PAIRS = (APART, SAME, DISTINCT, PAIRWISE)


def repeats(*texts, target="target"):
    return Repeats(Item("i", "p", target), tuple(None if text is None else row(text) for text in texts))


def value(metric: Metric, *units: Repeats, suffix: str = "") -> float:
    return metric.readings()[suffix].value(np.array([metric.stats(unit) for unit in units], dtype=float))


def test_disagreement_is_of_sets_of_words():
    """{a, b} and {b, c} share one of three: 2/3; the order and number of words do not matter."""
    assert APART.stats(repeats("a b", "b c")) == pytest.approx((2 / 3, 2 / 3))
    assert APART.stats(repeats("a b", "b a a")) == (0.0, 0.0)
    # pairs at 0, 1 and 1
    assert APART.stats(repeats("a", "a", "b")) == pytest.approx((2 / 3, 1.0))


def test_the_mean_is_over_pairs_then_items_and_the_largest_is_of_any_pair():
    """Items of mean 2/3 and 0, their largest 1 and 0."""
    units = (repeats("a", "a", "b"), repeats("c", "c", "c"))
    assert value(APART, *units) == pytest.approx(1 / 3)
    assert value(APART, *units, suffix="max") == 1.0
    assert figure_names("d", APART) == ("stability/pairwise_disagreement", "stability/pairwise_disagreement/max")


def test_identical_pairs_are_texts_not_sets():
    """Of three answers one pair of three is the same; composed and decomposed spellings are one text by default."""
    units = (repeats("a b", "b a", "a b"), repeats("x", "x", "x"))
    assert value(SAME, *units) == pytest.approx(2 / 3)
    assert SAME.stats(repeats("é", "e\u0301")) == (1.0,)
    assert IdenticalPairs(profile=TextProfile(form=None)).stats(repeats("é", "e\u0301")) == (0.0,)
    assert (SAME.higher_is_better, SAME.measured_in) == (True, "share")


def test_identical_pairs_keep_an_interval_at_1():
    """Wilson's of 60 of 60: nothing varied, and that is not known to the last digit."""
    interval = SAME.interval(np.ones((60, 1)), np.arange(60).astype(object), 0.95)
    assert (interval.low, interval.high) == (pytest.approx(0.9398, abs=1e-4), 1.0)


def test_distinct_outputs_are_counted():
    """Two and one: 1.5 on average."""
    assert value(DISTINCT, repeats("a", "b", "a"), repeats("c", "c", "c")) == 1.5


def test_the_error_rate_between_answers_sees_order_and_counts():
    """ab and ba: two edits of two either way, where Jaccard of words sees two words; of one pair 2 e / (|a| + |b|)."""
    assert PAIRWISE.stats(repeats("ab", "ba")) == (1.0,)
    assert PAIRWISE.stats(repeats("abc", "a")) == (1.0,)
    assert PAIRWISE.stats(repeats("", "a")) == (2.0,)
    assert PairwiseErrorRate(unit="word").stats(repeats("a b", "a c")) == (0.5,)


@pytest.mark.parametrize("metric", [*OVER_PAIRS, RUNS], ids=lambda one: type(one).__name__)
def test_an_item_that_lacks_a_seed_is_excluded(metric):
    """A row that is not there, and one in error; an empty answer is one."""
    assert metric.stats(repeats("a", None)) is None
    assert metric.stats(Repeats(Item("i", "p", "t"), (row("a"), row(None)))) is None
    assert metric.stats(repeats("a", "")) is not None
    assert metric.grain == "item"


@pytest.mark.parametrize("metric", OVER_PAIRS, ids=lambda one: type(one).__name__)
def test_one_seed_has_no_pairs(metric):
    """Undefined with that reason, as of each seed by itself."""
    for suffix in metric.readings():
        with pytest.raises(Undefined, match=r"^one seed$"):
            value(metric, repeats("a"), repeats("b"), suffix=suffix)


def test_each_run_has_an_error_rate_over_all_items():
    """Targets of 4 and 6; the first run errs in 1 + 3, the second in 0 + 1: .4 and .1."""
    first = repeats("abcx", "abcd", target="abcd")
    second = repeats("sitting", "kittex", target="kitten")
    assert (RUNS.stats(first), RUNS.stats(second)) == ((4.0, 1.0, 0.0), (6.0, 3.0, 1.0))
    assert value(RUNS, first, second) == pytest.approx(0.25)
    spread = statistics.stdev([0.4, 0.1])
    assert value(RUNS, first, second, suffix="sd") == pytest.approx(spread)
    assert value(RUNS, first, second, suffix="cv") == pytest.approx(spread / 0.25)
    assert figure_names("r", RUNS) == ("stability/run_cer", "stability/run_cer/sd", "stability/run_cer/cv")


def test_runs_without_an_error_are_saturated():
    """The mean is 0; that no spread shows says nothing of one."""
    units = (repeats("ab", "ab", target="ab"),)
    assert value(RUNS, *units) == 0.0
    for suffix in ("sd", "cv"):
        with pytest.raises(Undefined, match=r"^saturated$"):
            value(RUNS, *units, suffix=suffix)


def test_one_run_has_a_rate_and_no_spread():
    """As of each seed by itself."""
    assert value(RUNS, repeats("ax", target="ab")) == 0.5
    with pytest.raises(Undefined, match=r"^one seed$"):
        value(RUNS, repeats("ax", target="ab"), suffix="sd")


def test_equal_runs_with_errors_have_a_real_0():
    """A seed that changes nothing."""
    assert value(RUNS, repeats("ax", "ax", target="ab"), suffix="sd") == 0.0


def test_means_have_a_t_interval_over_items_and_maxima_and_spreads_none():
    """None too where nothing varies."""
    clusters = np.arange(3).astype(object)
    assert DISTINCT.interval(np.array([[1.0], [2.0], [3.0]]), clusters, 0.95).method == "t"
    assert DISTINCT.interval(np.ones((3, 1)), clusters, 0.95) is None
    stack = np.array([[4.0, 1.0, 0.0], [6.0, 3.0, 1.0], [5.0, 0.0, 0.0]])
    assert all(reading.interval(stack, clusters, 0.95) is None for reading in RUNS.readings().values())
    assert APART.readings()["max"].interval(stack, clusters, 0.95) is None


@pytest.mark.parametrize("metric", [PairwiseErrorRate, RunErrorRate])
def test_a_unit_that_does_not_exist_is_refused(metric):
    """On building."""
    with pytest.raises(ValueError, match="unit is 'line'; choose grapheme"):
        metric(unit="line")
