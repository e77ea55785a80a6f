"""Throughput: sums over the window from the first sending to the last end."""

import numpy as np
import pytest

from evalflow.metric.protocol import figure_names
from evalflow.metric.throughput import RequestRate, SystemTps
from evalflow.numeric.undefined import Undefined
from evalflow.record import Times
from tests.metric.by_hand import answer

ANSWERED = answer(times=Times(sent=10.0, end=12.0), tokens_out=30)
LATER = answer(times=Times(scheduled=10.0, sent=11.0, end=14.0), tokens_out=20)
FAILED = answer(None, times=Times(sent=13.0, end=20.0), tokens_out=7)


def figure(metric, *answers):
    return metric.value(np.array([metric.stats(one) for one in answers]))


def test_tokens_over_the_whole_window():
    """50 tokens between 10 s and 14 s are 12.5 per second; two answers, 0.5."""
    assert figure(SystemTps(), ANSWERED, LATER) == pytest.approx(12.5)
    assert figure(RequestRate(), ANSWERED, LATER) == pytest.approx(0.5)


def test_a_failure_takes_its_time_and_gives_nothing():
    """A request that failed after 20 s stretches the window to 10 s; its tokens reached nobody."""
    assert figure(SystemTps(), ANSWERED, LATER, FAILED) == pytest.approx(5.0)
    assert figure(RequestRate(), ANSWERED, LATER, FAILED) == pytest.approx(0.2)


def test_unknown_tokens_are_not_none():
    """Where an answer's tokens are not known the sum is not either, but answers can be counted."""
    unknown = answer(times=Times(sent=10.0, end=12.0))
    with pytest.raises(Undefined, match=r"^the tokens of 1 of 2 requests are not known$"):
        figure(SystemTps(), ANSWERED, unknown)
    assert figure(RequestRate(), ANSWERED, unknown) == pytest.approx(1.0)


def test_no_window_has_no_rate():
    """Requests that took no time have no rate; a row without its stamps is left out."""
    with pytest.raises(Undefined, match=r"^the requests took no time$"):
        figure(RequestRate(), answer(times=Times(sent=1.0, end=1.0)))
    for times in (Times(), Times(sent=1.0), Times(end=1.0), Times(sent=2.0, end=1.0)):
        assert RequestRate().stats(answer(times=times)) is None


def test_one_window_is_one_measurement():
    """It has no interval, and no request is worse than another under it."""
    stack = np.array([SystemTps().stats(ANSWERED), SystemTps().stats(LATER)])
    assert SystemTps().interval(stack, np.array(["a", "b"], dtype=object), 0.95) is None
    assert SystemTps().point((30.0, 10.0, 12.0)) == SystemTps().point((0.0, 10.0, 12.0))


def test_names_and_units():
    """Per second, higher is better, and none where the driver was saturated."""
    assert figure_names("x", SystemTps()) == ("tps/system",)
    assert figure_names("x", RequestRate()) == ("tps/requests",)
    assert (SystemTps.measured_in, RequestRate.measured_in) == ("tokens/s", "requests/s")
    assert SystemTps.timed and RequestRate.timed
