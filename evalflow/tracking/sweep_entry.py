"""A sweep as the one flat run that stands for it, above the runs of its jobs."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from evalflow.runner.sweep_record import axis_labels
from evalflow.tracking.entry import (
    GIT_TAG,
    ORIGIN_TAG,
    PRIVATE,
    PRIVATE_TAG,
    SOURCE,
    Entry,
    as_params,
    as_tags,
    delta_names,
    milliseconds,
    numbers,
    rounded,
)
from evalflow.tracking.finished_sweep import FinishedSweep
from evalflow.tracking.key import safe_key, short_text
from evalflow.tracking.sweep_note import DELTA, SUMMARY, outcome, own_notes, ranked, sweep_note
from evalflow.withheld import private_sweep

FILES = ("sweep.json", SUMMARY, "summary.csv")
PAGE = "sweep.html"
STEP = "step"
INTERVALS = ("quality/", "delta/")
"""Groups of figures whose intervals are series too."""


def sweep_entry(sweep: FinishedSweep, private: bool, git: str | None) -> Entry:
    """The entry of a sweep. It lasts as long as the sweep, and begins when that ended, to be listed above its jobs.

    Private: what a job could not run for may quote an answer, so the files stay out and a summary without it goes in.
    """
    summary = _without_texts(sweep.summary) if private else sweep.summary
    counts = Counter(map(outcome, summary["jobs"]))
    metrics, _ = numbers(_means(summary))
    series = _over_steps(summary)
    if series:
        metrics = {"n/undefined": metrics["n/undefined"]}
    page = sweep.page(private)
    tags = {
        "evalflow.role": "sweep",
        "evalflow.experiment": summary["experiment"],
        "evalflow.sweep_id": sweep.sweep_id,
        ORIGIN_TAG: sweep.origin,
        "evalflow.verdict": summary["verdict"],
        "evalflow.schema_version": str(summary["schema_version"]),
        "mlflow.note.content": sweep_note(summary),
        **SOURCE,
        **({GIT_TAG: git} if git else {}),
        **({PRIVATE_TAG: PRIVATE} if private else {}),
        **_lacking(summary),
    }
    start = milliseconds(summary["finished"] or datetime.now(UTC).isoformat())
    return Entry(
        name=short_text(f"sweep: {summary['verdict']}"),
        tags=as_tags(tags),
        params=as_params({f"sweep.{key}": ",".join(values) for key, values in summary["axes"].items()}),
        metrics={
            **metrics,
            "n/jobs": float(len(summary["jobs"])),
            "n/jobs_passed": float(counts["pass"]),
            "n/jobs_failed": float(counts["fail"]),
            "n/jobs_unreadable": float(counts["unreadable"]),
            "n/jobs_incomplete": float(counts["incomplete"]),
        },
        texts={
            **({SUMMARY: json.dumps(summary, indent=1) + "\n"} if private else {}),
            **({} if page is None else {PAGE: page}),
        },
        files=() if private else tuple(path for name in FILES if (path := sweep.folder / name).is_file()),
        start_ms=start,
        end_ms=start + max(0, start - milliseconds(summary["started"])),
        status="FAILED" if counts["incomplete"] else "FINISHED",
        series=series,
    )


def grid_keys(grid: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names that the grid's figures have in the runs of the jobs, one per line of the grid."""
    deltas: dict[str, list[str]] = {}
    for row in grid:
        if row["figure"].startswith(DELTA):
            deltas.setdefault(row["arm"], []).append(row["figure"].removeprefix(DELTA))
    named = {comparison: delta_names(comparison, figures) for comparison, figures in deltas.items()}
    return [
        named[row["arm"]][row["figure"].removeprefix(DELTA)] if row["figure"].startswith(DELTA) else row["figure"]
        for row in grid
    ]


def _means(summary: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """`quality/exact long` -> its mean; where there are several cells, each after the values that it is at."""
    found = {}
    for name, cells in _named(summary):
        for cell in cells:
            labels = axis_labels(cell["at"])
            at = "".join(f" {labels[axis]} {value}" for axis, value in cell["at"].items())
            where = at if len(cells) > 1 else ""
            found[f"{name}{where}"] = {"value": cell["mean"], "reason": cell["reason"]}
    return found


def _over_steps(summary: Mapping[str, Any]) -> dict[str, dict[int, float]]:
    """Where training steps were swept: each line's means by step, which MLflow draws as a curve; and their intervals.

    The ends of an interval have a group of their own, of a name behind `quality` (groups are sorted): a chart for each
    end before those of the means would bury them. Counts of rows have none.
    """
    if not all(value.isascii() and value.isdecimal() for value in summary["axes"].get(STEP, [""])):
        return {}
    found: dict[str, dict[int, float]] = {}
    for name, cells in _named(summary):
        for cell in cells:
            others = {axis: value for axis, value in cell["at"].items() if axis != STEP}
            labels = axis_labels(others)
            whole = name + "".join(f" {labels[axis]} {value}" for axis, value in others.items())
            told = {whole: cell["mean"]}
            if name.startswith(INTERVALS):
                told |= {f"range/{whole.replace('/', '.')} {end}": cell[end] for end in ("low", "high")}
            for key, value in told.items():
                if value is not None and math.isfinite(value):
                    found.setdefault(safe_key(key), {})[int(cell["at"][STEP])] = rounded(value)
    return found


def _lacking(summary: Mapping[str, Any]) -> dict[str, str]:
    """A tag per line without any number. A tag per cell would bury the other tags; the description tells them all."""
    return {
        f"evalflow.undefined.{name}": "; ".join(dict.fromkeys(str(cell["reason"]) for cell in cells))
        for name, cells in _named(summary)
        if all(cell["mean"] is None for cell in cells)
    }


def _named(summary: Mapping[str, Any]) -> list[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Each line's cells under the name of its metrics."""
    grid = ranked(summary["grid"])
    return [
        (key if row["figure"].startswith(DELTA) else f"{key} {row['arm']}", row["cells"])
        for row, key in zip(grid, grid_keys(grid), strict=True)
    ]


def _without_texts(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A summary without what jobs could not run for, nor the texts that were swept or set."""
    told = private_sweep(summary)
    return {**told, "jobs": [{**job, "said": None} for job in told["jobs"]], "notes": own_notes(summary)}
