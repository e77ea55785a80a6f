"""Sweeps written by hand: reports with a few figures each, and the summary that they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from evalflow.report.sweep import summarise

SWEEP_ID = "20261130-101112-abcdef"
METRICS = {
    "exact": {"figure": "quality/exact", "grain": "row", "unit": "share", "higher_is_better": True, "is_rate": True},
    "cer": {"figure": "quality/cer", "grain": "row", "unit": "", "higher_is_better": False, "is_rate": False},
}


def figure(value: float | None, half: float | None = None, unit: str = "share", **changes: Any) -> dict[str, Any]:
    """A figure with an interval of `half` on either side."""
    ends = (None, None) if value is None or half is None else (value - half, value + half)
    return {
        "value": value,
        "unit": unit,
        "low": ends[0],
        "high": ends[1],
        "method": None if half is None else "wilson",
        "n_total": 60,
        "n_scored": 60,
        "reason": None if value is not None else "the driver was saturated",
        "n_sessions": 1,
        **changes,
    }


def report(figures: Mapping[str, Any], arm: str = "long", **changes: Any) -> dict[str, Any]:
    """A report of one arm with these figures; more arms by `arms`."""
    arms = {arm: {"conditions": {"greedy": False}, "figures": dict(figures)}}
    return {
        "experiment": "four",
        "part": None,
        "instrument": {"quality_hash": "q", "environment": {"machine": "m"}},
        "arms": arms,
        "comparisons": {},
        "gates": {},
        "reasons": [],
        "limits": ["four questions show little"],
        "asked": {"metrics": METRICS},
        **changes,
    }


def job(number: int, swept: Mapping[str, str], **changes: Any) -> dict[str, Any]:
    return {
        "job": number,
        "overrides": [f"{axis}={value}" for axis, value in swept.items()],
        "swept": dict(swept),
        "state": "finished",
        "verdict": "pass",
        "exit_code": 0,
        "run_id": f"20261130-10150{number % 10}-aaaaaa",
        "folder": f"outputs/four/20261130-10150{number % 10}-aaaaaa",
        "said": None,
        "skipped": False,
        "seconds": 2.0,
        "gates": {"failed": [], "unreadable": []},
        **changes,
    }


def jobs(**axes: Sequence[str]) -> list[dict[str, Any]]:
    """A job for each combination, the last axis varying fastest."""
    return [job(place, dict(zip(axes, values, strict=True))) for place, values in enumerate(product(*axes.values()))]


def summary(told: Sequence[Mapping[str, Any]], reports: Mapping[int, Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    moments = {"started": "2026-11-30T10:11:12+00:00", "finished": "2026-11-30T10:12:12+00:00"}
    return summarise(SWEEP_ID, ["-m"], told, reports, **{**moments, **more})


def steps(values: Mapping[str, float | None], half: float | None = 0.1) -> tuple[list[dict[str, Any]], dict[int, Any]]:
    """The jobs of a sweep over training steps, and the report of each."""
    reports = {place: report({"quality/exact": figure(value, half)}) for place, value in enumerate(values.values())}
    return jobs(step=list(values)), reports
