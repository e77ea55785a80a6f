"""How an arm went in several sessions, as one account."""

from __future__ import annotations

from typing import Any

import pytest

from evalflow.runner.trace import ArmTrace, merged


def part(session: str, ended: str | None = None, **known: Any) -> ArmTrace:
    return ArmTrace(session, known.pop("order", 0), f"begun {session}", known.pop("concurrency", 1), ended, **known)


def driver(**seen: Any) -> dict[str, Any]:
    """What a driver saw of a session of 10 s and 4 requests."""
    known = {
        "loop_lag_p99_s": 0.01,
        "loop_lag_max_s": 0.02,
        "cpu_ms_per_request": 2.0,
        "in_flight_mean": 1.0,
        "in_flight_max": 1.0,
        "requests": 4.0,
        "wall_s": 10.0,
        "warm_calls": 1,
        "warm_errors": 0,
        "saturated": False,
    }
    return {**known, **seen}


LATER = driver(
    loop_lag_p99_s=0.03,
    loop_lag_max_s=0.01,
    cpu_ms_per_request=8.0,
    in_flight_mean=4.0,
    in_flight_max=4.0,
    requests=12.0,
    wall_s=20.0,
    warm_calls=2,
    warm_errors=1,
)


def together(*drivers: dict[str, Any]) -> dict[str, Any]:
    """The driver of sessions that all gave rows."""
    parts = [part(str(number), driver=seen) for number, seen in enumerate(drivers)]
    trace = merged(parts, [one.session for one in parts])
    assert trace is not None
    return dict(trace.driver)


def test_an_arm_that_no_session_came_to_has_no_account() -> None:
    """Nothing is made of nothing."""
    assert merged((), ()) is None


def test_one_session_is_told_as_it_was() -> None:
    """Nothing is computed where there is nothing to put together."""
    only = part("s", "then", driver=driver(), facts={"batch": 2})
    assert merged((only,), {"s"}) == only
    refused = part("s", "then", unavailable="no device")
    assert merged((refused,), ()) == refused


def test_sessions_add_up() -> None:
    """Counts and times are summed, of lags the largest is kept, means are weighted by what they are of."""
    assert together(driver(), LATER) == {
        "loop_lag_p99_s": 0.03,
        "loop_lag_max_s": 0.02,
        "cpu_ms_per_request": pytest.approx((4 * 2.0 + 12 * 8.0) / 16),
        "in_flight_mean": pytest.approx((10 * 1.0 + 20 * 4.0) / 30),
        "in_flight_max": 4.0,
        "requests": 16.0,
        "wall_s": 30.0,
        "warm_calls": 3,
        "warm_errors": 1,
        "saturated": False,
    }
    assert together(driver(), LATER, driver())["requests"] == 20.0


def test_what_one_session_does_not_know_is_not_known_of_all() -> None:
    """A sum or a mean over a part would be a number of something else; a largest lag is still an upper bound."""
    seen = together(driver(), driver(loop_lag_p99_s=None, cpu_ms_per_request=None, wall_s=None))
    assert (seen["cpu_ms_per_request"], seen["wall_s"]) == (None, None)
    assert (seen["loop_lag_p99_s"], seen["requests"]) == (0.01, 8.0)
    assert together(driver(loop_lag_p99_s=None), driver(loop_lag_p99_s=None))["loop_lag_p99_s"] is None
    less = driver()
    del less["warm_calls"]
    assert together(driver(), less)["warm_calls"] is None


def test_a_mean_over_no_request_is_none() -> None:
    """Nothing was asked in either session, so nothing has a weight."""
    idle = driver(requests=0.0, cpu_ms_per_request=0.0, wall_s=0.0, in_flight_mean=0.0)
    seen = together(idle, idle)
    assert (seen["cpu_ms_per_request"], seen["in_flight_mean"]) == (None, None)


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [(False, False, False), (True, False, True), (False, True, True), (None, False, None), (True, None, None)],
)
def test_a_driver_that_was_late_once_was_late(first: bool | None, second: bool | None, whole: bool | None) -> None:
    """One saturated session saturates the arm; one that does not know leaves it unknown."""
    assert together(driver(saturated=first), driver(saturated=second))["saturated"] is whole


def test_a_session_that_gave_no_row_has_no_say() -> None:
    """It was stopped before its first answer, so no time is of it."""
    parts = (part("idle", driver=driver(saturated=True)), part("s", "then", driver=driver()))
    trace = merged(parts, {"s"})
    assert trace is not None
    assert trace.driver == driver()


@pytest.mark.parametrize(
    "parts",
    [
        (part("s", "then", driver=driver()),),
        (part("killed"), part("s", "then", driver=driver())),
        (part("s", "then", driver=driver()), part("killed")),
    ],
)
def test_rows_of_a_session_without_a_word_leave_the_driver_unknown(parts: tuple[ArmTrace, ...]) -> None:
    """It was killed before it noted anything: nobody can say that it kept up."""
    trace = merged(parts, {"s", "killed"})
    assert trace is not None
    assert trace.driver == {}


def test_where_an_arm_stands_is_what_its_last_session_says() -> None:
    """Its place and its beginning are the first session's; end, facts, level and trouble the last one's."""
    first = part("s", order=2, concurrency=1, facts={"batch": 1}, unavailable="no device", driver=driver())
    last = part("t", "then", order=5, concurrency=4, facts={"batch": 4}, driver=driver())
    trace = merged((first, last), {"t"})
    assert trace is not None
    assert (trace.order, trace.started) == (2, "begun s")
    assert (trace.session, trace.ended, trace.concurrency, trace.facts) == ("t", "then", 4, {"batch": 4})
    assert trace.unavailable is None
    stopped = merged((last, part("u")), {"t"})
    assert stopped is not None
    assert stopped.ended is None


def test_sessions_with_different_seats_are_no_one_instrument() -> None:
    """Another version in the second session, or a change inside the first: no figure of both can be read."""
    one, other = ({"seat": {"identity": {"version": version}}} for version in ("1", "2"))
    inside = {**one, "instrument_fault": "the seat changed while it answered"}
    sessions = {"s1", "s2"}
    same = merged([part("s1", facts=one), part("s2", facts=one)], sessions)
    assert same is not None and "instrument_fault" not in same.facts
    changed = merged([part("s1", facts=one), part("s2", facts=other)], sessions)
    assert changed is not None and changed.facts["instrument_fault"] == "the seat changed between sessions"
    silent = {"seat": {"identity": {"version": None, "models": []}}}
    unknown = merged([part("s1", facts=one), part("s2", facts=silent)], sessions)
    assert unknown is not None and "instrument_fault" not in unknown.facts  # what was not told is no change
    before = merged([part("s1", facts=inside), part("s2", facts=one)], sessions)
    assert before is not None and before.facts["instrument_fault"] == "the seat changed while it answered"
    gone = merged([part("s1", facts=other), part("s2", facts=one)], {"s2"})  # no row is of the first
    assert gone is not None and "instrument_fault" not in gone.facts
