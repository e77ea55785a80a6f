"""A prepared view of MLflow's runs page: our columns, the newest run first.

The format is MLflow's own and undocumented (looked at with 3.17.2): a version that does not know it shows its
default columns and says that the shared view cannot be loaded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalflow.tracking.entry import Entry
from evalflow.tracking.key import safe_key
from evalflow.tracking.sweep_entry import grid_keys
from evalflow.tracking.sweep_note import ranked

VIEW_KEY = "evalflow"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW_KEY}"
# where `evalflow ui` listens unless told otherwise
UI_ADDRESS = "http://127.0.0.1:5000"
MOST_METRICS = 12
MOST_PARAMS = 12
FIRST_COLUMNS = ("attributes.`Run Name`", "runDateAndNestInfo")
SWEPT = "sweep."
COUNTS = ("n/jobs_failed", "n/jobs_incomplete", "n/gates_failed", "n/gates_unreadable")
PREFIXES = ("quality/", "n/gates_failed", "n/gates_unreadable", "delta/", "gate/", "lat/", "tps/", "cache/")


def view_state(entries: Sequence[Entry], report: Mapping[str, Any]) -> str:
    """The columns for these entries: what tells runs apart, what was decided on, then the other quality."""
    params = list(dict.fromkeys(key for entry in entries for key in entry.params))
    metrics = dict.fromkeys(key for entry in entries for key in entry.metrics)
    wanted = [key for key in dict.fromkeys([*_decisive(report), *_by_prefix(metrics)]) if key in metrics]
    return _state(wanted, params)


def sweep_view_state(entry: Entry, summary: Mapping[str, Any]) -> str:
    """The columns after a sweep: what was decided on in its jobs, how many jobs and gates missed, what was swept."""
    keys = list(dict.fromkeys(safe_key(key) for key in grid_keys(ranked(summary["grid"]))))
    telling = [key for key in keys if key.startswith(("quality/", "delta/"))][: MOST_METRICS - len(COUNTS)]
    return _state(list(dict.fromkeys([*telling, *COUNTS, *keys])), [*entry.params, "arm", "seed"])


def _state(metrics: Sequence[str], params: Sequence[str]) -> str:
    # the name already says arm and seed, so the numbers come first; for swept values it has seldom room
    swept = [key for key in params if key.startswith(SWEPT)][:MOST_PARAMS]
    others = [key for key in params if not key.startswith(SWEPT)][: MOST_PARAMS - len(swept)]
    widths = {f"params.`{key}`": _width(key) for key in swept}
    widths |= {f"metrics.`{key}`": _width(key) for key in metrics[:MOST_METRICS]}
    widths |= {f"params.`{key}`": _width(key) for key in others}
    return json.dumps(
        {
            "selectedColumns": list(widths),
            "columnOrder": [*FIRST_COLUMNS, *widths],
            "columnWidths": widths,
            "orderByKey": "attributes.start_time",
            "orderByAsc": False,
            "hideEmptyCharts": True,
            "runsHiddenMode": "FIRST_20_RUNS",
        }
    )


def view_link(server: str | None, experiment_id: str) -> str:
    """The address of the prepared view; `server` is None where the store is opened with `evalflow ui`."""
    return f"{server or UI_ADDRESS}/#/experiments/{experiment_id}/runs?viewStateShareKey={VIEW_KEY}"


def _decisive(report: Mapping[str, Any]) -> list[str]:
    """The figures that a comparison or a gate reads, as metric keys."""
    compared = [figure for figures in report["comparisons"].values() for figure in figures]
    gated = [gate["figure"] for gate in report["gates"].values()]
    return [safe_key(figure) for figure in dict.fromkeys([*compared, *gated])]


def _width(name: str) -> int:
    """Pixels that show a column's whole name."""
    return 40 + 7 * len(name)


def _by_prefix(metrics: Iterable[str]) -> list[str]:
    return [key for prefix in PREFIXES for key in metrics if key.startswith(prefix)]
