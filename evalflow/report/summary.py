"""A run's load in one line of JSON, for scripts that read no tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

PERCENTILES = {
    "ttft_p50": "lat/ttft_s/p50",
    "ttft_p95": "lat/ttft_s/p95",
    "itl_p50": "lat/tpot_s/p50",
    "itl_p95": "lat/tpot_s/p95",
    "e2e_p50": "lat/e2e_s/p50",
    "e2e_p95": "lat/e2e_s/p95",
}
"""Times (ms) by name; `itl` is the time per output token, (last - first) / (n - k), k of them in the first chunk."""


def summary_lines(report: Mapping[str, Any]) -> list[str]:
    """A line per arm: requests, those without an answer, times (ms), requests per second; null where undefined."""
    return [json.dumps(_summary(name, arm, report)) for name, arm in report["arms"].items()]


def _summary(name: str, arm: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    figures = arm["figures"]
    errors = figures["n/error_share"]
    planned = errors["n_total"]
    failed = errors["n_total"] - errors["n_scored"] + round((errors["value"] or 0.0) * errors["n_scored"])
    times = {key: _scaled(figures.get(figure), 1000.0) for key, figure in PERCENTILES.items()}
    return {
        "arm": name,
        "n": planned,
        "incomplete": failed,
        **times,
        "rps": _scaled(figures.get("tps/requests"), 1.0),
        "tokens_per_s": _scaled(figures.get("tps/system"), 1.0),
        "cpu_ms_per_req": arm["driver"].get("cpu_ms_per_request"),
        "connections": arm["facts"].get("connections_opened"),
        "verdict": report["verdict"],
        "run": report["run_id"],
    }


def _scaled(figure: Mapping[str, Any] | None, by: float) -> float | None:
    return None if figure is None or figure["value"] is None else round(by * figure["value"], 4)
