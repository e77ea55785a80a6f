"""A prepared view of MLflow's runs page: our columns, the newest run first.

The format is MLflow's own and undocumented (looked at with 3.17.2): a version that does not know it shows its
default columns and says that the shared view cannot be loaded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalflow.runner.sweep_record import axis_labels
from evalflow.tracking.charts import chart_state
from evalflow.tracking.entry import Entry
from evalflow.tracking.key import safe_key
from evalflow.tracking.links import runs_page
from evalflow.tracking.sweep_entry import grid_keys
from evalflow.tracking.sweep_note import ranked

VIEW_KEY = "evalflow"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW_KEY}"
# where `evalflow ui` listens unless told otherwise
UI_ADDRESS = "http://127.0.0.1:5000"
# a tag of an experiment holds 5,000 characters
LONGEST_STATE = 4900
MOST_METRICS = 12
MOST_PARAMS = 12
NAME_COLUMN = "attributes.`Run Name`"
CREATED_COLUMN = "runDateAndNestInfo"
CREATED_WIDTH = 135
# MLflow sets a coloured mark before a name
MARK_WIDTH = 60
NAME_LETTER_WIDTH = 6
WIDEST_NAME = 340
SWEPT = "sweep."
LONGEST_VERDICT = "report: unreadable"
COUNTS = ("n/jobs_failed", "n/jobs_incomplete", "n/gates_failed", "n/gates_unreadable")
PREFIXES = ("quality/", "n/gates_failed", "n/gates_unreadable", "delta/", "gate/", "lat/", "tps/", "cache/")


def view_state(entries: Sequence[Entry], report: Mapping[str, Any]) -> str:
    """The columns for these entries: what tells runs apart, what was decided on, then the other quality."""
    params = list(dict.fromkeys(key for entry in entries for key in entry.params))
    metrics = dict.fromkeys(key for entry in entries for key in entry.metrics)
    wanted = [key for key in dict.fromkeys([*_decisive(report), *_by_prefix(metrics)]) if key in metrics]
    return _state(wanted, params, max(len(entry.name) for entry in entries), metrics, _numeric(entries[-1].params))


def sweep_view_state(entry: Entry, summary: Mapping[str, Any]) -> str:
    """The columns after a sweep: what was decided on in its jobs, how many jobs and gates missed, what was swept.

    The counts are of the sweep's and the reports' rows alone, so that the figures of the arms stand before them.
    """
    grid = ranked(summary["grid"])
    keys = list(dict.fromkeys(safe_key(key) for key in grid_keys(grid)))
    wanted = list(dict.fromkeys([*keys[: MOST_METRICS - len(COUNTS)], *COUNTS]))
    settings = max((_settings(job["swept"]) for job in summary["jobs"]), key=len, default="")
    longest = max(len(LONGEST_VERDICT), *(len(f"{row['arm']} s0") for row in grid), 0) + len(settings)
    metrics = [*keys, *entry.metrics, "gate/"]
    return _state(wanted, [*entry.params, "arm", "seed"], longest, metrics, _numeric(entry.params))


def _settings(swept: Mapping[str, str]) -> str:
    labels = axis_labels(swept)
    return "".join(f" {labels[key]}={value}" for key, value in swept.items())


def _state(
    metrics: Sequence[str], params: Sequence[str], longest_name: int, all_metrics: Iterable[str], axes: Sequence[str]
) -> str:
    name_width = MARK_WIDTH + NAME_LETTER_WIDTH * longest_name
    swept = [key for key in params if key.startswith(SWEPT)][:MOST_PARAMS]
    others = [key for key in params if not key.startswith(SWEPT)][: MOST_PARAMS - len(swept)]
    # a name says arm, seed and what was swept, so the numbers come next to it, unless it is too long to be seen
    before = swept if name_width > WIDEST_NAME else []
    after = [*(key for key in swept if key not in before), *others]
    widths = {f"params.`{key}`": _width(len(key)) for key in before}
    widths |= {f"metrics.`{key}`": _width(len(key)) for key in metrics[:MOST_METRICS]}
    widths |= {f"params.`{key}`": _width(len(key)) for key in after}
    first = {NAME_COLUMN: min(name_width, WIDEST_NAME), CREATED_COLUMN: CREATED_WIDTH}
    state = {
        "selectedColumns": list(widths),
        "columnOrder": [*first, *widths],
        "columnWidths": {**first, **widths},
        "orderByKey": "attributes.start_time",
        "orderByAsc": False,
        "hideEmptyCharts": True,
        "runsHiddenMode": "FIRST_20_RUNS",
    }
    left = LONGEST_STATE - len(json.dumps(state))
    return json.dumps({**state, **chart_state(metrics, _groups(all_metrics), axes, left)})


def _groups(metrics: Iterable[str]) -> list[str]:
    """What MLflow makes sections of, in the order of the columns."""
    listed = list(metrics)
    keys = dict.fromkeys([*_by_prefix(listed), *listed])
    return list(dict.fromkeys(key.rpartition("/")[0] for key in keys if "/" in key))


def _numeric(params: Mapping[str, str]) -> list[str]:
    """The swept params whose every value is a number."""
    return [key for key, values in params.items() if key.startswith(SWEPT) and all(map(_is_number, values.split(",")))]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def view_link(server: str | None, experiment_id: str) -> str:
    """The address of the prepared view; `server` is None where the store is opened with `evalflow ui`."""
    return f"{server or UI_ADDRESS}/{runs_page(experiment_id, f'viewStateShareKey={VIEW_KEY}')}"


def _decisive(report: Mapping[str, Any]) -> list[str]:
    """The figures that a comparison or a gate reads, as metric keys."""
    compared = [figure for figures in report["comparisons"].values() for figure in figures]
    gated = [gate["figure"] for gate in report["gates"].values()]
    return [safe_key(figure) for figure in dict.fromkeys([*compared, *gated])]


def _width(characters: int) -> int:
    """Pixels that show a column's whole name."""
    return 40 + 7 * characters


def _by_prefix(metrics: Iterable[str]) -> list[str]:
    return [key for prefix in PREFIXES for key in metrics if key.startswith(prefix)]
