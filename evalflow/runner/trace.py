"""How an arm went, session by session, and the one account that they add up to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ArmTrace:
    """One session's work on an arm: what the driver saw, what the model said about itself, why it could not run.

    `ended` is None where the session stopped before the arm's last answer; `driver` is then what was last noted.
    `cut_short` is why, where the session ended it by itself: a budget that was spent.
    """

    session: str
    order: int
    started: str
    concurrency: int
    ended: str | None = None
    driver: Mapping[str, float | bool | None] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    unavailable: str | None = None
    cut_short: str | None = None


Traces = Mapping[str, tuple[ArmTrace, ...]]
"""Arm -> its sessions, oldest first."""

SUMMED = ("wall_s", "warm_calls", "warm_errors", "requests")
LARGEST = ("loop_lag_p99_s", "loop_lag_max_s", "in_flight_max")
WEIGHTS = {"cpu_ms_per_request": "requests", "in_flight_mean": "wall_s"}


def merged(parts: Sequence[ArmTrace], answered_in: Collection[str]) -> ArmTrace | None:
    """One trace for all sessions of an arm; None where there is none.

    `answered_in` are the sessions that its rows come from. One of them without a trace leaves the driver unknown:
    nobody can say that it kept up. Lags are the largest of any session's, an upper bound.
    """
    if not parts:
        return None
    last = parts[-1]
    drivers = [part.driver for part in parts if part.session in answered_in]
    if not set(answered_in) <= {part.session for part in parts} or not all(drivers):
        driver: Mapping[str, float | bool | None] = {}
    else:
        driver = _together(drivers)
    return ArmTrace(
        session=last.session,
        order=parts[0].order,
        started=parts[0].started,
        concurrency=last.concurrency,
        ended=last.ended,
        driver=driver,
        facts={**last.facts, **_fault([part.facts for part in parts if part.session in answered_in])},
        unavailable=last.unavailable,
        cut_short=last.cut_short,
    )


def _fault(facts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Why the sessions were not one instrument: one of them was none, or the seat was another in between."""
    told = next((str(one["instrument_fault"]) for one in facts if "instrument_fault" in one), None)
    seats = [one["seat"] for one in facts if isinstance(one.get("seat"), Mapping)]  # facts may be of anybody's model
    identities = [seat["identity"] for seat in seats if "identity" in seat]
    if told is None and any(_differ(identity, identities[0]) for identity in identities):
        told = "the seat changed between sessions"
    return {} if told is None else {"instrument_fault": told}


def _differ(one: Any, other: Any) -> bool:
    """Whether two accounts contradict each other; what one of them does not tell is unknown."""
    if not one or not other:
        return False
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return any(_differ(one[key], other[key]) for key in one.keys() & other.keys())
    return bool(one != other)


def _together(drivers: Sequence[Mapping[str, float | bool | None]]) -> dict[str, float | bool | None]:
    if len(drivers) < 2:
        return dict(drivers[0]) if drivers else {}
    whole: dict[str, float | bool | None] = {}
    for key in dict.fromkeys(key for driver in drivers for key in driver):
        values = [driver.get(key) for driver in drivers]
        known = [float(value) for value in values if value is not None]
        if key == "saturated":
            whole[key] = None if None in values else any(values)
        elif not known or (key not in LARGEST and len(known) < len(values)):
            whole[key] = None
        elif key in LARGEST:
            whole[key] = max(known)
        elif key in SUMMED:
            whole[key] = sum(known)
        elif key in WEIGHTS:
            weights = [float(driver.get(WEIGHTS[key]) or 0.0) for driver in drivers]
            total = sum(weights)
            whole[key] = sum(w * v for w, v in zip(weights, known, strict=True)) / total if total else None
    return whole
