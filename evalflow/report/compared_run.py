"""A finished, scored run read back to be compared, with nothing computed again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from evalflow.errors import StoredRunError
from evalflow.record import Figure
from evalflow.report.stored_report import load_report, scored_rows
from evalflow.runner.check import owners
from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.score import as_scored
from evalflow.runner.session import stored_plan
from evalflow.runner.stored_run import load_run
from evalflow.runner.units import PER_ROW

INSTRUMENT = {
    "schema_version",
    "metrics",
    "serving",
    "environment",
    "conditions",
    "seats",
    "seed",
    "judging_hash",
    "hash",
}
"""What of an instrument is held against another's."""
FIGURE = {one.name for one in fields(Figure)}


def load_compared(folder: Path, label: str, allow: Sequence[str] = ()) -> ComparedRun:
    """The run in a folder, called `label`, with its report and its scores as they were kept.

    Raises:
        StoredRunError: it did not finish, is damaged, or was not scored as it stands.
        ConfigError: its metrics cannot be built.
    """
    stored = load_run(folder)
    if stored.state["state"] != "finished":
        raise StoredRunError(f"{folder}: the run did not finish; go on with it (resume={stored.run_id})")
    report, rows = load_report(folder), scored_rows(stored)
    plan = stored_plan(stored, allow)
    run = ComparedRun(label, stored, report, as_scored(plan, rows, stored.probes, stored.traces))
    if not _is_of(run):
        raise StoredRunError(f"{folder}: its report or scores lack an arm or a metric; evalflow score {folder}")
    return run


def _is_of(run: ComparedRun) -> bool:
    """Whether report and scores have all arms, metrics and figures that the plan asks for."""
    plan, arms, told = run.plan, run.report["arms"], run.instrument
    scored = {key for key, metric in plan.metrics.items() if metric.grain in PER_ROW}
    return (
        told.keys() >= INSTRUMENT
        and plan.metrics.keys() <= told["metrics"].keys()
        and all(name in arms and _has(arms[name]["figures"], owners(plan.metrics)) for name in plan.arms)
        and all(arm.conditions().keys() <= told["conditions"].get(name, {}).keys() for name, arm in plan.arms.items())
        and all(scored <= row.stats.keys() for row in run.scores.rows)
    )


def _has(figures: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Whether every one of the figures is there, and is one."""
    return all(name in figures and figures[name].keys() >= FIGURE for name in names)
