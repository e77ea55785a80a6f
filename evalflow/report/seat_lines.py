"""What the arms of seats really were, in a line each, and the driver's own error beside their times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def seat_lines(report: Mapping[str, Any]) -> list[str]:
    """A line per arm that asked a seat, and one on the driver's calibration; none where no arm did."""
    seats = {name: arm for name, arm in report["arms"].items() if "seat" in arm["facts"]}
    if not seats:
        return []
    lines = [f"{name}: {'; '.join(_arm(arm))}" for name, arm in seats.items()]
    most = max(arm["concurrency"]["in_flight_max"] or 1 for arm in seats.values())
    return [*lines, calibration_line(report["calibration"], most)]


def calibration_line(calibration: Mapping[str, Any] | None, in_flight: float) -> str:
    """The driver's own error at the measured concurrency that is nearest to `in_flight`, or that there is none."""
    if calibration is None:
        return "driver: not calibrated here; evalflow calibrate measures its own error"
    level = min(calibration["levels"], key=lambda one: abs(one["concurrency"] - in_flight))
    error = f"{_ms(level['ttft_error_p50_s'])} p50, {_ms(level['ttft_error_p95_s'])} p95"
    where = f"{level['concurrency']} in flight on a stub"
    return f"driver: its own error of TTFT, {where}, is {error} ({calibration['taken'][:10]})"


def _arm(arm: Mapping[str, Any]) -> list[str]:
    return [said for said in (_load(arm), _cache(arm), _connections(arm), _driver(arm)) if said]


def _load(arm: Mapping[str, Any]) -> str:
    in_flight, conditions = arm["concurrency"], arm["conditions"]
    if conditions["rate"] is not None:
        asked = f"{conditions['rate']:g} requests/s ({conditions['arrivals']})"
    else:
        asked = f"{in_flight['asked']:.0f} at a time"
        if in_flight["reachable"] < in_flight["asked"]:
            asked += f", {in_flight['reachable']:.0f} within reach"
    if in_flight["in_flight_mean"] is None:
        return asked
    return f"{asked}, in flight {in_flight['in_flight_mean']:.2f} on average, {in_flight['in_flight_max']:.0f} at most"


def _cache(arm: Mapping[str, Any]) -> str:
    outcome = {"held": "cache as claimed", "broken": "CACHE NOT AS CLAIMED", "cannot_say": "cache: cannot say"}
    return f"{outcome[arm['claims']['cache']]} ({arm['claims']['cache_why']})"


def _connections(arm: Mapping[str, Any]) -> str:
    opened = arm["facts"].get("connections_opened")
    return "" if opened is None else f"{opened} connection{'' if opened == 1 else 's'} opened"


def _driver(arm: Mapping[str, Any]) -> str:
    lag, cpu = arm["driver"].get("loop_lag_p99_s"), arm["driver"].get("cpu_ms_per_request")
    parts = [] if lag is None else [f"lag p99 {1000 * lag:.1f} ms"]
    parts += [] if cpu is None else [f"{cpu:.2f} ms CPU a request"]
    return f"driver {', '.join(parts)}" if parts else ""


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:+.1f} ms"
