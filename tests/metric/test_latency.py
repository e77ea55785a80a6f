"""Times of single requests: from when to when, and when not."""

import math

import pytest

from evalflow.metric.latency import DispatchDelay, E2e, FirstVisible, Ttft
from evalflow.metric.protocol import figure_names
from evalflow.record import Times
from tests.metric.by_hand import answer

STAMPED = Times(sent=10.0, first_token=10.25, end=12.0)


def test_times_run_from_sending():
    """First token and end are counted from sending (s)."""
    assert Ttft().stats(answer(times=STAMPED)) == (0.25,)
    assert E2e().stats(answer(times=STAMPED)) == (2.0,)


def test_a_scheduled_request_is_timed_from_when_it_was_due():
    """A request sent late by the driver has waited since its intended time."""
    late = Times(scheduled=9.0, sent=10.0, first_token=10.25, end=12.0)
    assert Ttft().stats(answer(times=late)) == (1.25,)
    assert E2e().stats(answer(times=late)) == (3.0,)


@pytest.mark.parametrize("metric", [Ttft(), E2e()], ids=["ttft", "e2e"])
@pytest.mark.parametrize("times", [Times(), Times(sent=1.0), Times(first_token=2.0, end=3.0)])
def test_an_absent_stamp_is_no_time(metric, times):
    """Without both ends there is no time, and it is not 0."""
    assert metric.stats(answer(times=times)) is None


def test_an_error_has_no_time():
    """A failed request is excluded although its stamps are there."""
    assert E2e().stats(answer(None, times=STAMPED)) is None
    assert Ttft().stats(answer(None, times=STAMPED)) is None


def test_an_empty_answer_has_a_time():
    """An answer without text still took its time."""
    assert E2e().stats(answer("", status="empty", times=STAMPED)) == (2.0,)


def test_names_and_units():
    """Percentiles are named after their metric, in seconds, lower is better, and lapse with a saturated driver."""
    assert figure_names("anything", Ttft()) == ("lat/ttft_s/p50", "lat/ttft_s/p95")
    assert figure_names("anything", E2e(percentiles=(99.9,))) == ("lat/e2e_s/p99.9",)
    for kind in (Ttft, E2e):
        assert (kind.measured_in, kind.higher_is_better, kind.timed, kind.averages_seeds) == ("s", False, True, False)


@pytest.mark.parametrize("percentiles", [(), (0.0,), (100.0,), (50.0, -1.0), (math.nan,)])
def test_percentiles_that_are_none_are_refused(percentiles):
    """A percentile lies between 0 and 100, and there is at least one."""
    for kind in (Ttft, E2e):
        with pytest.raises(ValueError, match="give numbers between 0 and 100"):
            kind(percentiles=percentiles)


def test_reasoning_comes_before_what_is_visible():
    """The first token may be one of reasoning; the first that a reader sees has a time of its own."""
    thought = Times(sent=10.0, first_token=10.25, first_visible=11.5, end=12.0)
    assert Ttft().stats(answer(times=thought)) == (0.25,)
    assert FirstVisible().stats(answer(times=thought)) == (1.5,)
    assert FirstVisible().stats(answer(times=STAMPED)) is None


def test_dispatch_delay_is_the_drivers_own():
    """A request due at 9 and sent at 10 was a second late, whether it then failed or not; a closed loop has no due."""
    late = Times(scheduled=9.0, sent=10.0, end=12.0)
    assert DispatchDelay().stats(answer(times=late)) == (1.0,)
    assert DispatchDelay().stats(answer(None, times=late)) == (1.0,)
    assert DispatchDelay().stats(answer(times=STAMPED)) is None
    assert DispatchDelay().stats(answer(times=Times(scheduled=11.0, sent=10.0))) is None
    assert figure_names("x", DispatchDelay()) == ("lat/dispatch_delay_s/p50", "lat/dispatch_delay_s/p95")
