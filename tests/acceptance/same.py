"""What of two reports must be equal where the same rows were had in another way: all but times, ids and the driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OF_THE_RUN = ("run_id", "started", "finished", "sessions", "driver", "notes")
OF_THE_ARM = ("facts", "driver")
TIMED = ("lat/", "tps/")


def essence(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report without what may differ."""
    kept = {key: value for key, value in report.items() if key not in OF_THE_RUN}
    kept["arms"] = {name: _arm(arm) for name, arm in report["arms"].items()}
    kept["comparisons"] = {name: _untimed(figures) for name, figures in report["comparisons"].items()}
    kept["gates"] = {name: gate for name, gate in report["gates"].items() if not gate["figure"].startswith(TIMED)}
    return kept


def _arm(arm: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in arm.items() if key not in OF_THE_ARM}
    for part in ("breakdown", "by_seed"):
        kept[part] = {name: _untimed(figures) for name, figures in arm[part].items()}
    kept["concurrency"] = {name: arm["concurrency"][name] for name in ("asked", "reachable")}
    return {**kept, "figures": _untimed(arm["figures"])}


def _untimed(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: figure for name, figure in figures.items() if not name.startswith(TIMED)}
