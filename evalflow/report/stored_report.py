"""A report read back from its folder, and the rows as they were scored for it: nothing is computed again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from evalflow.record import Row
from evalflow.report.build import schema
from evalflow.report.shape import misshapen
from evalflow.runner.stored_run import StoredRun, peek, session_ends
from evalflow.stored_file import check_fields, lines_of, object_of, parsed, unusable
from evalflow.stored_record import check_schema

SCORED: Mapping[str, Any] = {
    "arm": str,
    "seed": int,
    "item_id": str,
    "status": str,
    "stats": Mapping[str, tuple[float, ...] | None],
    "detail": Mapping[str, Mapping[str, Any]],
}
"""What each line of scores.jsonl must hold, and of which type."""
Verdict = Literal["pass", "fail", "unreadable", "incomplete"]
SUMMARY: Mapping[str, Any] = {
    "sweep_id": str,
    "experiment": str,
    "overrides": tuple[str, ...],
    "verdict": Verdict,
    "exit_code": int,
    "started": str,
    "finished": str | None,
    "parallel": bool,
    "axes": Mapping[str, tuple[str, ...]],
    "jobs": tuple[Mapping[str, Any], ...],
    "grid": tuple[Mapping[str, Any], ...],
    "notes": tuple[str, ...],
}
"""What a sweep's summary.json must hold beside its schema version, and of which type."""
JOB: Mapping[str, Any] = {
    "job": int,
    "overrides": tuple[str, ...],
    "swept": Mapping[str, str],
    "state": Literal["finished", "failed", "not run"],
    "verdict": Verdict | None,
    "exit_code": int | None,
    "run_id": str | None,
    "folder": str | None,
    "said": str | None,
    "skipped": bool,
    "seconds": float | None,
    "gates": Mapping[str, tuple[str, ...]],
}
"""The same of each of its jobs."""
LINE: Mapping[str, Any] = {"arm": str, "figure": str, "unit": str, "cells": tuple[Mapping[str, Any], ...]}
"""The same of each line of its grid."""
CELL: Mapping[str, Any] = {
    "at": Mapping[str, str],
    "jobs": tuple[int, ...],
    "n_jobs": int,
    "n_defined": int,
    "mean": float | None,
    "low": float | None,
    "high": float | None,
    "method": str | None,
    "reason": str | None,
    "note": str | None,
}
"""The same of each cell of a line."""
SWEEP_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}(-\d+)?")


def load_report(folder: Path) -> dict[str, Any]:
    """The content of a run's report.json, which must be of this run and of every session that worked on it.

    Raises:
        StoredRunError: there is none, it is of an unknown schema version or another run, damaged, or older than rows.
    """
    path, todo = folder / "report.json", _again(folder)
    report = object_of(path, todo)
    check_schema(report.get("schema_version"), str(path))
    absent = [key for key in schema()["required"] if key not in report]
    if absent:
        raise unusable(path, f"it has no {', '.join(absent)}", todo)
    wrong = misshapen(report, schema()) or _no_time(report, *report["sessions"])
    if wrong is not None:
        raise unusable(path, f"not what this evalflow wrote ({wrong})", todo)
    state = peek(folder)
    if state is None:
        return report  # whoever loads the run says what is wrong with it
    if report["run_id"] != state["run_id"]:
        raise unusable(path, f"it is of run {report['run_id']!r:.60}, not of {state['run_id']}", todo)
    # a session that began since then has rows that the report does not know
    if session_ends(report["sessions"]) != session_ends(state["sessions"]):
        raise unusable(path, "the run went on after it was written", todo)
    return report


def scored_rows(run: StoredRun) -> list[Row]:
    """The run's rows with the statistics and details that its report was made from, in the report's order.

    Raises:
        StoredRunError: scores.jsonl is not there, damaged, or of other rows.
    """
    path, todo = run.folder / "scores.jsonl", _again(run.folder)
    rows = {row.key: row for row in run.rows}
    items = {item.id: item for item in run.items}
    scored: dict[tuple[str, int, str], Row] = {}
    for where, line in lines_of(path, todo):
        told = parsed(line, where, todo)
        check_fields(told, SCORED, where, todo)
        key = (told["arm"], told["seed"], told["item_id"])
        row, item = rows.get(key), items.get(told["item_id"])
        if row is None or item is None or row.status != told["status"] or key in scored:
            said = f"arm {key[0]!r:.60}, seed {key[1]}, item {key[2]!r:.60}"
            raise unusable(where, f"the run has no such row, or another ({said})", todo)
        scored[key] = replace(
            row,
            kind=item.kind,
            cluster=item.cluster,
            prefix_group=item.prefix_group,
            stats={name: None if stats is None else tuple(stats) for name, stats in told["stats"].items()},
            detail=told["detail"],
        )
    if len(scored) < len(rows):
        raise unusable(path, f"{len(rows) - len(scored)} of {len(rows)} rows have no scores", todo)
    return list(scored.values())


def load_summary(folder: Path) -> dict[str, Any]:
    """The content of a sweep's summary.json.

    Raises:
        StoredRunError: there is none, it is of an unknown schema version or damaged.
    """
    path, todo = folder / "summary.json", "run the sweep again: what is finished of it stays"
    summary = object_of(path, todo)
    check_schema(summary.get("schema_version"), str(path))
    check_fields(summary, SUMMARY, path, todo)
    for job in summary["jobs"]:
        check_fields(job, JOB, f"{path}: a job", todo)
    for line in summary["grid"]:
        check_fields(line, LINE, f"{path}: the grid", todo)
        for cell in line["cells"]:
            check_fields(cell, CELL, f"{path}: {line['arm']!r:.60}, {line['figure']!r:.60}", todo)
    wrong = _no_time(summary)
    if wrong is not None:
        raise unusable(path, f"not what this evalflow wrote ({wrong})", todo)
    if not SWEEP_ID.fullmatch(summary["sweep_id"]):
        raise unusable(path, f"sweep_id is {summary['sweep_id']!r:.60}, no id of a sweep", todo)
    return summary


def _no_time(*parts: Mapping[str, Any]) -> str | None:
    """The first time of a start or an end that is none, in words."""
    for part in parts:
        for name in ("started", "finished"):
            if part[name] is not None and not _is_time(part[name]):
                return f"{name} is {part[name]!r:.60}"
    return None


def _is_time(text: str) -> bool:
    """Whether it is a moment that others can be subtracted from."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _again(folder: Path) -> str:
    return f"evalflow score {folder} writes it anew"
