"""Errors, cut answers and coverage: what no run may hide."""

import pytest

from evalflow.metric.cache_hit_share import CacheHitShare
from evalflow.metric.exact_match import ExactMatch
from evalflow.metric.health import Coverage, ErrorShare, TruncatedShare, health
from evalflow.metric.latency import Ttft
from evalflow.metric.protocol import figure_names
from evalflow.metric.seed_sd import SeedSd
from tests.metric.by_hand import answer


@pytest.mark.parametrize(
    ("status", "score"), [("error", 1.0), ("ok", 0.0), ("empty", 0.0), ("truncated", 0.0), ("unscored", 0.0)]
)
def test_an_error_is_an_error_row(status, score):
    """Only an error row counts as an error; an empty or cut answer is an answer."""
    assert ErrorShare().stats(answer("" if status == "empty" else "x", status=status)) == (score,)


@pytest.mark.parametrize(("finish", "score"), [("length", (1.0,)), ("stop", (0.0,)), (None, None)])
def test_a_cut_answer_is_one_that_ended_by_length(finish, score):
    """A model that does not say why it stopped is excluded, not uncut."""
    assert TruncatedShare().stats(answer(finish_reason=finish)) == score


@pytest.mark.parametrize(
    ("draft", "stats", "score"),
    [
        ("x", {"exact": (0.0,), "other": (1.0,)}, 1.0),
        ("x", {"exact": (0.0,), "other": None}, 0.0),
        ("x", {"exact": (0.0,), "other": (1.0,), "ttft": None}, 1.0),
        ("", {"exact": (0.0,), "other": (0.0,)}, 1.0),
        (None, {"exact": None}, 0.0),
        (None, {}, 0.0),
    ],
)
def test_a_row_is_covered_when_every_quality_metric_scored_it(draft, stats, score):
    """One of them that excludes the row, or an error, uncovers it; a wrong answer or an unknown time does not."""
    assert Coverage(of=("exact", "other")).stats(answer(draft, stats=stats)) == (score,)


def test_coverage_is_of_the_metrics_that_name_no_figure():
    """What a seat does not report (cached tokens, times) is no hole in the answers' scoring."""
    metrics = {"exact": ExactMatch(), "hit": CacheHitShare(), "ttft": Ttft(), "sd": SeedSd(of="exact")}
    assert health(metrics)["coverage"] == Coverage(of=("exact",))


def test_every_run_reports_three():
    """The names are fixed, coverage is read first and more of it is better."""
    names = [name for key, metric in health({}).items() for name in figure_names(key, metric)]
    assert names == ["n/coverage", "n/error_share", "n/truncated_share"]
    assert [metric.higher_is_better for metric in health({}).values()] == [True, False, False]
