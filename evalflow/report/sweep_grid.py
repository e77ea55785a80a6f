"""The grid of a sweep: a line per figure of an arm, a cell per mean over the jobs that differ in seed alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

SEED = "seed"
"""The axis that a mean is taken over; every other one is a side of the grid."""
DIFFER = "jobs differ in dataset or metrics"
RESULT = ("mean", "low", "high", "method", "reason", "note")
NO_REPORT = "the job has no report"
NO_SUCH = "the job has no such figure"
SAME = "no variation"
DELTA = "delta "
"""How a comparison's figure begins in the grid."""
POSSIBLE = {"share": (0.0, 1.0), **dict.fromkeys(("s", "bytes", "tokens/s", "requests/s"), (0.0, math.inf))}
"""What a figure of a unit can be at all; an interval over jobs ends there."""


@dataclass(frozen=True)
class Line:
    """What one line of the grid reads in a report: a figure of an arm, or the delta of a comparison."""

    part: Literal["arms", "comparisons"]
    name: str
    figure: str

    @classmethod
    def told(cls, row: Mapping[str, Any]) -> Line:
        """The line that a row of a summary's grid is of."""
        name, figure = str(row["arm"]), str(row["figure"])
        return (
            cls("comparisons", name, figure.removeprefix(DELTA))
            if figure.startswith(DELTA)
            else cls("arms", name, figure)
        )

    @property
    def label(self) -> str:
        """What the line is called beside its arm or comparison."""
        return self.figure if self.part == "arms" else f"{DELTA}{self.figure}"

    def read(self, report: Mapping[str, Any] | None) -> Reading:
        """The number in one job's report, or why there is none."""
        if report is None:
            return Reading(reason=NO_REPORT)
        whole = report[self.part].get(self.name, {})
        entry = (whole.get("figures", {}) if self.part == "arms" else whole).get(self.figure)
        if entry is None:
            return Reading(reason=NO_SUCH)
        value = entry["value" if self.part == "arms" else "delta"]
        if value is None:
            return Reading(reason=entry["reason"])
        if (entry["n_sessions"] or 1) > 1:
            return Reading(reason=f"taken in {entry['n_sessions']} sessions")
        missing = entry["n_total"] - entry["n_scored"] if self.part == "arms" else len(entry["unpaired"])
        # a report does not say which arms a comparison has; and no decoding decides which rows fail
        greedy = whole["conditions"]["greedy"] if self.part == "arms" else all_greedy(report)
        greedy = greedy and not self.figure.startswith("n/")
        return Reading(value, entry["low"], entry["high"], entry["method"], missing=missing, greedy=greedy)

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
class Reading:
    """One job's number with its own interval; without a number, the reason. `missing` counts rows, or pairs."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    method: str | None = None
    reason: str | None = None
    missing: int = 0
    greedy: bool = False


@dataclass(frozen=True)
class Column:
    """A cell's place in every line of the grid, and the jobs that fall into it with the seed of each."""

    at: Mapping[str, str]
    seeds: Mapping[int, str | None]


def columns(jobs: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Jobs that share every swept value but the seed fall into one column."""
    found: dict[tuple[tuple[str, str], ...], dict[int, str | None]] = {}
    for job in jobs:
        at = tuple((axis, value) for axis, value in job["swept"].items() if axis != SEED)
        found.setdefault(at, {})[job["job"]] = job["swept"].get(SEED)
    return [Column(dict(at), seeds) for at, seeds in found.items()]


def grid_of(jobs: Sequence[Mapping[str, Any]], reports: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A line for each figure that the reports (by the numbers of their jobs) read or compare, a cell per column."""
    places = columns(jobs)
    ordered = [reports[number] for number in sorted(reports)]
    grid = []
    for line in lines_of(ordered):
        unit = line.unit(ordered)
        cells = [cell_of(line, column, unit, reports) for column in places]
        grid.append({"arm": line.name, "figure": line.label, "unit": unit, "cells": cells})
    return grid


def lines_of(reports: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Every arm's quality and what a gate or a comparison reads, then every comparison; in the reports' order."""
    read = {gate["figure"] for report in reports for gate in report["gates"].values()}
    read |= {figure for report in reports for deltas in report["comparisons"].values() for figure in deltas}
    arms: dict[str, dict[str, None]] = {}
    for report in reports:
        for name, arm in report["arms"].items():
            arms.setdefault(name, {}).update(dict.fromkeys(arm["figures"]))
    of_arms = [
        Line("arms", name, figure)
        for name, figures in arms.items()
        for figure in figures
        if figure in read or figure.startswith("quality/")
    ]
    deltas = (Line("comparisons", n, f) for report in reports for n, ds in report["comparisons"].items() for f in ds)
    return [*of_arms, *dict.fromkeys(deltas)]


def cell_of(line: Line, column: Column, unit: str, reports: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """The mean of a line over the jobs of a column, with how it came about; where there is none, the reason."""
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


def all_greedy(report: Mapping[str, Any]) -> bool:
    """Whether nothing in the run was drawn by chance."""
    return all(arm["conditions"]["greedy"] for arm in report["arms"].values())


def merged(grid: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The grid, where counts of rows (`n/...`) that are the same for every arm take one line, at the end."""
    n_arms = len({line["arm"] for line in grid if not line["figure"].startswith(DELTA)})
    whole: dict[str, Mapping[str, Any]] = {}
    for figure in dict.fromkeys(line["figure"] for line in grid if line["figure"].startswith("n/")):
        first, *others = (line for line in grid if line["figure"] == figure)
        if 1 < n_arms == 1 + len(others) and all(line["cells"] == first["cells"] for line in others):
            whole[figure] = {**first, "arm": "every arm"}
    return [*(line for line in grid if line["figure"] not in whole), *whole.values()]
