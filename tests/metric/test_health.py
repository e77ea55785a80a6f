"""Errors, cut answers and coverage: what no run may hide."""

import pytest

from evalflow.metric.health import HEALTH, Coverage, ErrorShare, TruncatedShare
from evalflow.metric.protocol import figure_names
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
        ("", {"exact": (0.0,)}, 1.0),
        (None, {"exact": None}, 0.0),
        (None, {}, 0.0),
    ],
)
def test_a_row_is_covered_when_everything_scored_it(draft, stats, score):
    """One metric that excludes the row, or an error, uncovers it; a wrong or empty answer does not."""
    assert Coverage().stats(answer(draft, stats=stats)) == (score,)


def test_every_run_reports_three():
    """The names are fixed, coverage is read first and more of it is better."""
    names = [name for key, metric in HEALTH.items() for name in figure_names(key, metric)]
    assert names == ["n/coverage", "n/error_share", "n/truncated_share"]
    assert [metric.higher_is_better for metric in HEALTH.values()] == [True, False, False]
