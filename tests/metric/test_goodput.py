"""Goodput: within every limit, with failures in the denominator."""

import math

import pytest

from evalflow.metric.goodput import Goodput
from evalflow.metric.protocol import figure_names
from evalflow.record import Times
from tests.metric.by_hand import answer

STAMPED = {
    "times": Times(sent=10.0, first_token=10.25, last_token=10.75, end=11.0),
    "chunk_tokens": (1, 2, 2),
}
"""First token after 0.25 s, 0.125 s per token, 1 s in all."""


@pytest.mark.parametrize(
    ("limits", "within"),
    [
        ({"ttft_s": 0.25}, 1.0),
        ({"ttft_s": 0.24}, 0.0),
        ({"tpot_s": 0.125}, 1.0),
        ({"tpot_s": 0.12}, 0.0),
        ({"e2e_s": 1.0}, 1.0),
        ({"e2e_s": 0.99}, 0.0),
        ({"ttft_s": 0.3, "tpot_s": 0.2, "e2e_s": 2.0}, 1.0),
        ({"ttft_s": 0.3, "tpot_s": 0.2, "e2e_s": 0.5}, 0.0),
    ],
)
def test_an_answer_is_within_all_limits_or_not(limits, within):
    """A time at its limit is within it; one limit missed is enough."""
    assert Goodput(**limits).stats(answer(**STAMPED)) == (within,)


def test_time_runs_from_when_a_request_was_due():
    """A request sent a second late is a second slower."""
    late = {**STAMPED, "times": Times(scheduled=9.0, sent=10.0, first_token=10.25, last_token=10.75, end=11.0)}
    assert Goodput(ttft_s=1.25).stats(answer(**late)) == (1.0,)
    assert Goodput(ttft_s=1.0).stats(answer(**late)) == (0.0,)


def test_a_failure_is_in_the_denominator():
    """A failed request is not good, nor is one that was planned and never sent."""
    assert Goodput(e2e_s=100.0).stats(answer(None, **STAMPED)) == (0.0,)
    assert Goodput.missing == (0.0,)


def test_an_unknown_time_decides_nothing():
    """Without tokens per chunk nobody knows whether TPOT held, unless another limit was missed anyway."""
    unknown = answer(**{**STAMPED, "chunk_tokens": None})
    assert Goodput(tpot_s=1.0).stats(unknown) is None
    assert Goodput(tpot_s=1.0, ttft_s=1.0).stats(unknown) is None
    assert Goodput(tpot_s=1.0, ttft_s=0.1).stats(unknown) == (0.0,)
    assert Goodput(tpot_s=1.0, ttft_s=0.1).detail(unknown) == {"over": ["ttft_s"], "unknown": ["tpot_s"]}
    assert Goodput(e2e_s=2.0).detail(answer(**STAMPED)) == {}


@pytest.mark.parametrize("limits", [{}, {"ttft_s": 0.0}, {"tpot_s": -1.0}, {"e2e_s": math.inf}, {"e2e_s": math.nan}])
def test_limits_that_are_none_are_refused(limits):
    """At least one limit is given, and each is a time."""
    with pytest.raises(ValueError, match=r"; give "):
        Goodput(**limits)


def test_name_and_unit():
    """It is a share, and lapses with a saturated driver as every time does."""
    assert figure_names("x", Goodput(e2e_s=1.0)) == ("lat/goodput_share",)
    assert (Goodput.measured_in, Goodput.timed, Goodput.higher_is_better) == ("share", True, True)
