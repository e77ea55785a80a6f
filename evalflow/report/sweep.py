"""A sweep told as one: its jobs, and a grid of their figures, each a mean over the jobs that differ in seed alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from evalflow.errors import WORST_FIRST, ExitCode, worst
from evalflow.record import SCHEMA_VERSION
from evalflow.report.sweep_grid import DIFFER, RESULT, SEED, all_greedy, columns, grid_of


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
    grid = grid_of(jobs, reports)
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
        "notes": [*_notes(told, axes, reports, grid, parallel), *failures(told)],
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


def word_of(job: Mapping[str, Any]) -> str:
    """What came of a job in a word or two: its verdict, or why it has none."""
    if job["exit_code"] == ExitCode.INTERRUPTED:
        return "interrupted"
    return str(job["verdict"] or ("not run" if job["state"] == "not run" else "could not run"))


def severity(job: Mapping[str, Any]) -> int:
    """Where a job stands among many: the worst first, and last those of which there is nothing to tell."""
    return len(WORST_FIRST) if job["state"] == "not run" else WORST_FIRST.index(ExitCode(code_of(job, False)))


def _notes(
    jobs: Sequence[Mapping[str, Any]],
    axes: Mapping[str, Sequence[str]],
    reports: Mapping[int, Mapping[str, Any]],
    grid: Sequence[Mapping[str, Any]],
    parallel: bool,
) -> list[str]:
    """What a reader must know of the sweep as a whole."""
    not_run = sum(job["state"] == "not run" for job in jobs)
    places = [[reports[n]["instrument"]["environment"] for n in c.seeds if n in reports] for c in columns(jobs)]
    moved = any(place != taken[0] for taken in places for place in taken)
    still = len(axes.get(SEED, ())) > 1 and bool(reports) and all(all_greedy(report) for report in reports.values())
    mixed = any(cell["reason"] == DIFFER for line in grid for cell in line["cells"])
    parts = dict.fromkeys(reports[n]["part"] for n in sorted(reports) if reports[n]["part"])
    notes = {
        "no job has a report": not reports,
        "jobs ran at once on this machine: their times are of a shared machine": parallel,
        "seed is swept but every arm is greedy: no answer can vary": still,
        f"{DIFFER}: a mean over them says nothing": mixed,
        "jobs of one mean ran in different environments: their times are not of one machine": moved,
        f"jobs took a part of their dataset: {', '.join(parts)}": bool(parts),
        f"not run: {not_run} of {len(jobs)} jobs": not_run > 0,
    }
    return [note for note, holds in notes.items() if holds]


def failures(jobs: Sequence[Mapping[str, Any]]) -> list[str]:
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
