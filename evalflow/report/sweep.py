"""A sweep told as one: its jobs, and a grid of their figures, each a mean over the jobs that differ in seed alone."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalflow.errors import ExitCode, worst
from evalflow.record import SCHEMA_VERSION

SEED = "seed"
"""The axis that a mean is taken over; every other one is a side of the grid."""
DIFFER = "jobs differ in dataset or metrics"
RESULT = ("mean", "low", "high", "method", "reason", "note")
NO_REPORT = "the job has no report"
NO_SUCH = "the job has no such figure"
SAME = "no variation"
POSSIBLE = {"share": (0.0, 1.0), "s": (0.0, math.inf), "bytes": (0.0, math.inf), "tokens/s": (0.0, math.inf)}
"""What a figure of a unit can be at all; an interval over jobs ends there."""


@dataclass(frozen=True)
class _Line:
    """What one line of the grid reads in a report: a figure of an arm, or the delta of a comparison."""

    part: Literal["arms", "comparisons"]
    name: str
    figure: str

    @property
    def label(self) -> str:
        return self.figure if self.part == "arms" else f"delta {self.figure}"

    def read(self, report: Mapping[str, Any] | None) -> _Reading:
        """The number in one job's report, or why there is none."""
        if report is None:
            return _Reading(reason=NO_REPORT)
        whole = report[self.part].get(self.name, {})
        entry = (whole.get("figures", {}) if self.part == "arms" else whole).get(self.figure)
        if entry is None:
            return _Reading(reason=NO_SUCH)
        value = entry["value" if self.part == "arms" else "delta"]
        if value is None:
            return _Reading(reason=entry["reason"])
        if (entry["n_sessions"] or 1) > 1:
            return _Reading(reason=f"taken in {entry['n_sessions']} sessions")
        missing = entry["n_total"] - entry["n_scored"] if self.part == "arms" else len(entry["unpaired"])
        # a report does not say which arms a comparison has; and no decoding decides which rows fail
        greedy = whole["conditions"]["greedy"] if self.part == "arms" else _all_greedy(report)
        greedy = greedy and not self.figure.startswith("n/")
        return _Reading(value, entry["low"], entry["high"], entry["method"], missing=missing, greedy=greedy)

    def unit(self, reports: Iterable[Mapping[str, Any]]) -> str:
        """The figure's unit; a delta has that of its figure."""
        arms = (a for r in reports for name, a in r["arms"].items() if self.part != "arms" or name == self.name)
        units = (arm["figures"][self.figure]["unit"] for arm in arms if self.figure in arm["figures"])
        return next((unit for unit in units if unit), "")

    def possible(self, unit: str) -> tuple[float, float]:
        """What the number can be at all."""
        low, high = POSSIBLE.get(unit, (-math.inf, math.inf))
        return (low, high) if self.part == "arms" else (low - high, high - low)


@dataclass(frozen=True)
class _Reading:
    """One job's number with its own interval; without a number, the reason. `missing` counts rows, or pairs."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    method: str | None = None
    reason: str | None = None
    missing: int = 0
    greedy: bool = False


@dataclass(frozen=True)
class _Column:
    """A cell's place in every line of the grid, and the jobs that fall into it with the seed of each."""

    at: Mapping[str, str]
    seeds: Mapping[int, str | None]


def summarise(
    sweep_id: str,
    overrides: Sequence[str],
    jobs: Sequence[Mapping[str, Any]],
    reports: Mapping[int, Mapping[str, Any]],
    *,
    started: str,
    finished: str | None = None,
    parallel: bool = False,
    interrupted: bool = False,
) -> dict[str, Any]:
    """The summary of a sweep, as plain JSON values.

    `jobs` (at least one) tell number, overrides, swept values, state, verdict, exit code, run, and why it failed;
    `reports` hold a report by the number of its job. A job that was not run counts as interrupted where the sweep
    was, else as incomplete. The experiment is the one that the reports name; of several, all.
    """
    told = [_told(job, reports.get(job["job"])) for job in jobs]
    axes: dict[str, list[str]] = {}
    for axis, value in (swept for job in jobs for swept in job["swept"].items()):
        axes[axis] = list(dict.fromkeys([*axes.get(axis, ()), value]))
    code = worst([code_of(job, interrupted) for job in jobs])
    verdicts = {ExitCode.PASS: "pass", ExitCode.FAIL: "fail", ExitCode.UNREADABLE: "unreadable"}
    grid = _grid(_columns(jobs), reports)
    return {
        "schema_version": SCHEMA_VERSION,
        "sweep_id": sweep_id,
        "experiment": ", ".join(_experiments(jobs, reports)),
        "overrides": list(overrides),
        "verdict": verdicts.get(code, "incomplete"),
        "exit_code": int(code),
        "started": started,
        "finished": finished,
        "parallel": parallel,
        "axes": axes,
        "jobs": told,
        "grid": grid,
        "notes": [*_notes(told, axes, reports, grid, parallel), *_failures(told)],
    }


def summary_csv(summary: Mapping[str, Any]) -> str:
    """The grid as CSV, one line per cell; an axis is a column, an undefined number is empty."""
    axes = [axis for axis in summary["axes"] if axis != SEED]
    numbers = ("n_jobs", "n_defined", *RESULT)
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["arm", "figure", "unit", *axes, *numbers])
    for line in summary["grid"]:
        for cell in line["cells"]:
            at = [cell["at"].get(axis) for axis in axes]
            writer.writerow([line["arm"], line["figure"], line["unit"], *at, *(cell[key] for key in numbers)])
    # a word of a command line that was no UTF-8 cannot be written as it is
    return out.getvalue().encode("utf-8", "backslashreplace").decode("utf-8")


def _told(job: Mapping[str, Any], report: Mapping[str, Any] | None) -> dict[str, Any]:
    """A job with what its report says of it: the gates that decided against it, and why it is worth less."""
    deciding = {} if report is None else {n: g["outcome"] for n, g in report["gates"].items() if not g["report_only"]}
    sorts = {"failed": "fail", "unreadable": "unreadable"}
    gates = {said: [name for name, came in deciding.items() if came == sort] for said, sort in sorts.items()}
    return {**job, "said": job["said"] or (report and "; ".join(report["reasons"])) or None, "gates": gates}


def _experiments(jobs: Sequence[Mapping[str, Any]], reports: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """The names in the reports; where there is none, those that were asked for."""
    asked = (word.partition("=")[2] for job in jobs for word in job["overrides"] if word.startswith("experiment="))
    return list(dict.fromkeys(reports[n]["experiment"] for n in sorted(reports)) or dict.fromkeys(asked))


def code_of(job: Mapping[str, Any], interrupted: bool) -> int:
    """What a job counts as. A process that was killed has a code of its own, or none."""
    if job["state"] == "not run":
        return ExitCode.INTERRUPTED if interrupted else ExitCode.INCOMPLETE
    return job["exit_code"] if job["exit_code"] in set(ExitCode) else ExitCode.INCOMPLETE


def _columns(jobs: Sequence[Mapping[str, Any]]) -> list[_Column]:
    """Jobs that share every swept value but the seed fall into one column."""
    found: dict[tuple[tuple[str, str], ...], dict[int, str | None]] = {}
    for job in jobs:
        at = tuple((axis, value) for axis, value in job["swept"].items() if axis != SEED)
        found.setdefault(at, {})[job["job"]] = job["swept"].get(SEED)
    return [_Column(dict(at), seeds) for at, seeds in found.items()]


def _grid(columns: Sequence[_Column], reports: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    ordered = [reports[number] for number in sorted(reports)]
    grid = []
    for line in _lines(ordered):
        unit = line.unit(ordered)
        cells = [_cell(line, column, unit, reports) for column in columns]
        grid.append({"arm": line.name, "figure": line.label, "unit": unit, "cells": cells})
    return grid


def _lines(reports: Sequence[Mapping[str, Any]]) -> list[_Line]:
    """Every arm's quality and what a gate or a comparison reads, then every comparison; in the reports' order."""
    read = {gate["figure"] for report in reports for gate in report["gates"].values()}
    read |= {figure for report in reports for deltas in report["comparisons"].values() for figure in deltas}
    arms: dict[str, dict[str, None]] = {}
    for report in reports:
        for name, arm in report["arms"].items():
            arms.setdefault(name, {}).update(dict.fromkeys(arm["figures"]))
    of_arms = [
        _Line("arms", name, figure)
        for name, figures in arms.items()
        for figure in figures
        if figure in read or figure.startswith("quality/")
    ]
    deltas = (_Line("comparisons", n, f) for report in reports for n, ds in report["comparisons"].items() for f in ds)
    return [*of_arms, *dict.fromkeys(deltas)]


def _cell(line: _Line, column: _Column, unit: str, reports: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    readings = {job: line.read(reports.get(job)) for job in column.seeds}
    defined = {job: reading for job, reading in readings.items() if reading.value is not None}
    counts = {"at": dict(column.at), "jobs": list(readings), "n_jobs": len(readings), "n_defined": len(defined)}
    cell: dict[str, Any] = {**counts, **dict.fromkeys(RESULT)}
    if len(defined) < len(readings):
        undefined = Counter(reading.reason for reading in readings.values() if reading.value is None)
        cell["reason"] = undefined.most_common(1)[0][0]
    if not defined:
        return cell
    if len({reports[job]["instrument"]["quality_hash"] for job in defined}) > 1:
        return {**cell, "reason": DIFFER}
    missing = sorted({reading.missing for reading in defined.values()})
    lost = f"{' to '.join(str(n) for n in dict.fromkeys((missing[0], missing[-1])))} missing" if missing[-1] else None
    if len(defined) == 1:
        (only,) = defined.values()
        ends = {"mean": only.value, "low": only.low, "high": only.high, "method": only.method}
        return {**cell, **ends, "note": lost}
    seeds = {column.seeds[job] for job in defined} - {None}
    over = f"{len(defined)} {'seeds' if len(seeds) == len(defined) else 'jobs'}"
    found = _mean([r.value for r in defined.values() if r.value is not None], over, *line.possible(unit))
    if found["note"] == SAME and all(reading.greedy for reading in defined.values()):
        found["note"] = f"{SAME} by design"
    note = "; ".join(said for said in (found["note"], lost) if said) or None
    return {**cell, **found, "reason": found["reason"] or cell["reason"], "note": note}


def _mean(values: Sequence[float], over: str, lowest: float, highest: float) -> dict[str, Any]:
    """The mean of at least two jobs' numbers, with Student's t interval, cut at what is possible, where they vary."""
    from evalflow.numeric.cluster import mean_interval
    from evalflow.numeric.moments import mean
    from evalflow.numeric.undefined import Undefined

    found: dict[str, Any] = dict.fromkeys(RESULT)
    try:
        found["mean"] = mean(values)
        if len(set(values)) == 1:
            return {**found, "note": SAME}
        interval = mean_interval(values, range(len(values)))
    except Undefined as undefined:
        return {**found, ("reason" if found["mean"] is None else "note"): undefined.reason}
    low, high = max(lowest, interval.low), min(highest, interval.high)
    return {**found, "low": float(low), "high": float(high), "method": f"t over {over}"}


def _all_greedy(report: Mapping[str, Any]) -> bool:
    return all(arm["conditions"]["greedy"] for arm in report["arms"].values())


def _notes(
    jobs: Sequence[Mapping[str, Any]],
    axes: Mapping[str, Sequence[str]],
    reports: Mapping[int, Mapping[str, Any]],
    grid: Sequence[Mapping[str, Any]],
    parallel: bool,
) -> list[str]:
    """What a reader must know of the sweep as a whole."""
    not_run = sum(job["state"] == "not run" for job in jobs)
    places = [[reports[n]["instrument"]["environment"] for n in c.seeds if n in reports] for c in _columns(jobs)]
    moved = any(place != taken[0] for taken in places for place in taken)
    still = len(axes.get(SEED, ())) > 1 and bool(reports) and all(_all_greedy(report) for report in reports.values())
    mixed = any(cell["reason"] == DIFFER for line in grid for cell in line["cells"])
    parts = dict.fromkeys(reports[n]["part"] for n in sorted(reports) if reports[n]["part"])
    notes = {
        "no job has a report": not reports,
        "jobs ran at once on this machine: their times are of a shared machine": parallel,
        "seed is swept but every arm is greedy: nothing can vary": still,
        f"{DIFFER}: a mean over them says nothing": mixed,
        "jobs of one mean ran in different environments: their times are not of one machine": moved,
        f"jobs took a part of their dataset: {', '.join(parts)}": bool(parts),
        f"not run: {not_run} of {len(jobs)} jobs": not_run > 0,
    }
    return [note for note, holds in notes.items() if holds]


def _failures(jobs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every job that failed, by its number and what the sweep gave it, and why."""
    told = []
    for job in jobs:
        if job["state"] == "failed":
            swept = " ".join(f"{axis}={value}" for axis, value in job["swept"].items())
            how = "could not run" if job["verdict"] is None else "did not complete"
            how = "was interrupted" if job["exit_code"] == ExitCode.INTERRUPTED else how
            said = " ".join(job["said"].split()) if job["said"] else "no reason was given"
            told.append(f"job {job['job']}{f' ({swept})' if swept else ''} {how}: {said}")
    return told
