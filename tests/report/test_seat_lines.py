"""What the report says of the arms of seats."""

from __future__ import annotations

from typing import Any

import pytest

from evalflow.report.seat_lines import calibration_line, seat_lines

LEVEL = {"concurrency": 6, "ttft_error_p50_s": 0.00104, "ttft_error_p95_s": -0.0002}


def arm(**changes: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "facts": {"seat": {}, "connections_opened": 6},
        "conditions": {"rate": None, "arrivals": None},
        "concurrency": {"asked": 6.0, "reachable": 2.0, "in_flight_mean": 1.85, "in_flight_max": 2.0},
        "claims": {"cache": "held", "cache_why": "9 of 9 rows"},
        "driver": {"loop_lag_p99_s": 0.0041, "cpu_ms_per_request": 0.47},
    }
    return {**told, **changes}


def lines(**changes: Any) -> list[str]:
    return seat_lines({"arms": {"warm": arm(**changes), "local": {"facts": {}}}, "calibration": None})


def test_an_arm_of_a_seat_has_a_line_and_others_none() -> None:
    """Load asked, within reach and in flight; the cache's claim; connections; the driver's own cost."""
    assert lines()[0] == (
        "warm: 6 at a time, 2 within reach, in flight 1.85 on average, 2 at most; cache as claimed (9 of 9 rows); "
        "6 connections opened; driver lag p99 4.1 ms, 0.47 ms CPU a request"
    )
    assert len(lines()) == 2
    assert seat_lines({"arms": {"local": {"facts": {}}}, "calibration": None}) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"claims": {"cache": "broken", "cache_why": "1 of 9"}}, "CACHE NOT AS CLAIMED (1 of 9)"),
        ({"claims": {"cache": "cannot_say", "cache_why": "none of 9"}}, "cache: cannot say (none of 9)"),
        ({"conditions": {"rate": 20.0, "arrivals": "poisson"}}, "warm: 20 requests/s (poisson)"),
        ({"facts": {"seat": {}, "connections_opened": 1}}, "1 connection opened"),
    ],
)
def test_a_line_says_what_differs(changes: dict[str, Any], said: str) -> None:
    """Broken claims, unknown ones, open loops, one connection."""
    assert said in lines(**changes)[0]


def test_what_is_not_known_is_left_out() -> None:
    """An arm that never answered has no driver, no connections and nothing in flight."""
    unknown = {"asked": 6.0, "reachable": 6.0, "in_flight_mean": None, "in_flight_max": None}
    line = lines(concurrency=unknown, driver={}, facts={"seat": {}})[0]
    assert line == "warm: 6 at a time; cache as claimed (9 of 9 rows)"


def test_the_drivers_own_error_stands_beside_the_times() -> None:
    """At the nearest concurrency that was measured, in ms and signed; where none was, how to do so."""
    levels = [{**LEVEL, "concurrency": 1, "ttft_error_p50_s": 0.5}, LEVEL]
    told = calibration_line({"levels": levels, "taken": "2026-11-30T04:00:00+00:00"}, 5.0)
    assert told == "driver: its own error of TTFT, 6 in flight on a stub, is +1.0 ms p50, -0.2 ms p95 (2026-11-30)"
    assert "evalflow calibrate" in calibration_line(None, 5.0)
