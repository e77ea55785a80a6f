"""Times with the failures in: a failure is the slowest of all, and no number."""

import numpy as np
import pytest

from evalflow.comparison import Measure, Paired
from evalflow.metric.adjusted import AdjustedPercentile, E2eAdjusted, TtftAdjusted
from evalflow.metric.protocol import figure_names
from evalflow.numeric.undefined import Undefined
from evalflow.record import RowError, Times
from tests.metric.by_hand import answer

STAMPED = Times(sent=10.0, first_token=10.25, end=12.0)
REFUSED = Times(sent=10.0, end=10.001)


def stack(n_answered, n_failed):
    """Answers of 1, 2, ... n s and failed requests, as their metric gives them."""
    failed = TtftAdjusted().stats(answer(None, times=REFUSED, error=RowError("http 500", "no")))
    rows = [failed] * n_failed + [(float(n), 0.0) for n in range(1, n_answered + 1)]
    return np.array(rows).reshape(-1, 2)


def test_an_answer_has_its_own_time():
    """The time of an answer is as without failures."""
    assert TtftAdjusted().stats(answer(times=STAMPED)) == (0.25, 0.0)
    assert E2eAdjusted().stats(answer(times=STAMPED)) == (2.0, 0.0)
    assert TtftAdjusted().stats(answer(times=Times(sent=1.0))) is None


def test_a_failure_is_slower_than_any_answer():
    """A request refused within a millisecond ranks behind an answer of two seconds, as does one never sent."""
    refused = E2eAdjusted().stats(answer(None, times=REFUSED))
    assert refused[0] > 2.0 and refused[1] == 1.0
    assert E2eAdjusted.missing == refused


@pytest.mark.parametrize(
    ("percent", "answered", "failed", "value"),
    [
        (50, 3, 2, 3.0),  # 1 2 3 F F: the middle one
        (50, 5, 0, 3.0),
        (95, 20, 1, 20.0),  # position 0.95 * 20 = 19, the last answer
        (50, 2, 1, 2.0),
    ],
)
def test_values_by_hand(percent, answered, failed, value):
    """Type 7 over the answers in their order and the failures after them."""
    assert AdjustedPercentile(percent).value(stack(answered, failed)) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("percent", "answered", "failed"),
    [(50, 2, 2), (50, 1, 3), (95, 19, 1), (95, 38, 2), (50, 0, 4)],
)
def test_a_percentile_that_touches_a_failure_is_undefined(percent, answered, failed):
    """Between the last answer and the first failure there is nothing to interpolate, nor beyond."""
    with pytest.raises(Undefined, match=rf"^p{percent} lies at a failed request \({failed} of {answered + failed} f"):
        AdjustedPercentile(percent).value(stack(answered, failed))


def test_it_needs_as_many_as_any_percentile():
    """p95 of 19 requests is undefined for their number, failed or not."""
    with pytest.raises(Undefined, match=r"^p95 needs n >= 20, has 19$"):
        AdjustedPercentile(95).value(stack(19, 0))


def test_an_interval_ends_before_the_failures_or_is_none():
    """The median of ten lies between the 2nd and the 9th (P(Binomial(10, 1/2) < 2) = 0.011): one may fail, two not."""
    items = np.arange(10)
    interval = AdjustedPercentile(50).interval(stack(9, 1), items, 0.95)
    assert (interval.low, interval.high) == (2.0, 9.0)
    assert AdjustedPercentile(50).interval(stack(8, 2), items, 0.95) is None
    assert AdjustedPercentile(50).interval(stack(0, 10), items, 0.95) is None


def test_clustered_rows_reach_failures_by_resampling():
    """Of 30 items under two seeds the median's interval stands with one item failing, not with fourteen."""
    items = np.arange(30).repeat(2)
    assert AdjustedPercentile(50).interval(stack(58, 2), items, 0.95).method == "cluster bootstrap"
    assert AdjustedPercentile(50).interval(stack(32, 28), items, 0.95) is None


def test_names_and_units():
    """The name says that failures are in it."""
    assert figure_names("x", TtftAdjusted()) == ("lat/ttft_adjusted_s/p50", "lat/ttft_adjusted_s/p95")
    assert figure_names("x", E2eAdjusted(percentiles=(99.0,))) == ("lat/e2e_adjusted_s/p99",)
    assert TtftAdjusted.timed and not TtftAdjusted.higher_is_better and TtftAdjusted.measured_in == "s"


def test_a_failed_request_loses_its_pair():
    """Of 8 pairs the candidate fails 2, is faster in 2 and level in 4: two up, two down, whatever it was refused in."""
    reference = {f"q{i}": (1.0, 0.0) for i in range(8)}
    failed = E2eAdjusted().stats(answer(None, times=REFUSED))
    candidate = {**reference, "q0": failed, "q1": failed, "q2": (0.9, 0.0), "q3": (0.9, 0.0)}
    p50 = AdjustedPercentile(50)
    measure = Measure(p50.value, E2eAdjusted().point, is_mean=False, is_rate=False, higher_is_better=False)
    paired = Paired("cold", "warm", ("lat/e2e_adjusted_s/p50",))
    delta = paired.compare(measure, reference, candidate, {name: name for name in reference}, seed=0)
    assert (delta.wins, delta.losses, delta.ties) == (2, 2, 4)
    assert (delta.reference_value, delta.candidate_value) == (1.0, 1.0)  # .9 .9 1 1 1 1 F F
