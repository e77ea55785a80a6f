"""The whole of a sweep in tables: its jobs a line each, then the grid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evalflow.report.console import STYLE, number, printable
from evalflow.report.sweep import severity, word_of
from evalflow.report.sweep_grid import NO_REPORT, NO_SUCH, merged

JOB_LINES, GRID_LINES, NOTE_LINES = 40, 80, 20
"""The most that is printed of each; what is left out is counted."""


def print_sweep(summary: Mapping[str, Any], console: Console) -> None:
    """Jobs a line each, the grid, and notes; of very many jobs the worst, and the rest is counted."""
    summary = printable(summary)
    jobs, grid = summary["jobs"], merged(summary["grid"])
    console.print(sweep_heading(summary))
    ordered = jobs if len(jobs) <= JOB_LINES else sorted(jobs, key=severity)
    console.print(_jobs_table(ordered[:JOB_LINES], list(summary["axes"])))
    if left := Counter(word_of(job) for job in ordered[JOB_LINES:]):
        kinds = ", ".join(f"{n} {verdict}" for verdict, n in left.items())
        console.print(Text(f"  {left.total()} more jobs are left out: {kinds}\n"))
    if grid:
        _print_grid(grid, console)
    notes = [f"  note: {note}\n" for note in summary["notes"]]
    if len(notes) > NOTE_LINES:
        notes[NOTE_LINES:] = [f"  {len(notes) - NOTE_LINES} more notes are left out\n"]
    if notes:
        console.print(Text("".join(notes)))


def sweep_heading(summary: Mapping[str, Any]) -> Text:
    """What was swept over, and how many jobs that made."""
    n = len(summary["jobs"])
    over = ", ".join(f"{axis} ({len(values)})" for axis, values in summary["axes"].items())
    count = f"{n} job{'s' * (n != 1)}{f' over {over}' if over else ''}"
    heading = [summary["experiment"], f"sweep {summary['sweep_id']}", count]
    return Text(" · ".join(part for part in heading if part), style="bold")


def print_sweep_verdict(summary: Mapping[str, Any], console: Console) -> None:
    """The last line of a sweep."""
    verdict = Text("Sweep: ").append(summary["verdict"], style=STYLE[summary["verdict"]])
    console.print(verdict.append(f" (exit code {summary['exit_code']})"))


def _jobs_table(jobs: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> Table:
    """A line per job; a column that no job has anything for is left out."""
    lines = [[Text(cell) for cell in job_cells(job, axes)] for job in jobs]
    headings = ["job", *axes, "verdict", "exit code", "gates", "why", "run", "seconds"]
    kept = [place for place, name in enumerate(headings) if name in axes or any(line[place] for line in lines)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place in kept:
        right = place == 0 or headings[place] in ("exit code", "seconds")
        table.add_column(Text(headings[place]), justify="right" if right else "left", overflow="fold")
    styles = {"could not run": STYLE["fail"], "interrupted": STYLE["fail"], "not run": STYLE["skipped"], **STYLE}
    for job, line in zip(jobs, lines, strict=True):
        line[1 + len(axes)].stylize(styles[word_of(job)])
        table.add_row(*(line[place] for place in kept))
    return table


def job_cells(job: Mapping[str, Any], axes: Sequence[str]) -> list[str]:
    """Number, what the sweep gave it, verdict, exit code, gates that decided against it, why, run and seconds."""
    gates = [f"{said}: {_some(names)}" for said, names in job["gates"].items() if names]
    said = job["said"] or ""
    code = "" if job["exit_code"] is None else str(job["exit_code"])
    seconds = "" if job["seconds"] is None else f"{job['seconds']:,.1f}"
    return [
        str(job["job"]),
        *(job["swept"].get(axis, "") for axis in axes),
        word_of(job),
        code,
        "; ".join(gates),
        said if len(said) <= 44 else f"{said[:43]}…",  # the notes have the whole
        job["run_id"] or "",
        "finished before" if job["skipped"] else seconds,
    ]


def _some(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _print_grid(grid: Sequence[Mapping[str, Any]], console: Console) -> None:
    """As many columns side by side as the console has room for, then the others below; what is left out is counted."""
    lines, n_cells = grid[:GRID_LINES], len(grid[0]["cells"])
    means = "Means over jobs with 95 % t intervals; n counts jobs, and one job has its own interval"
    shared = any(cell["n_jobs"] > 1 for cell in lines[0]["cells"])
    console.print(Text(means if shared else "Each job's figures, with its own intervals", style="bold"))
    abreast = max(1, (console.width - 45) // 28)
    blocks = max(1, GRID_LINES // len(lines))
    for first in range(0, min(n_cells, blocks * abreast), abreast):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in ("arm", "figure"):
            table.add_column(heading, overflow="fold")
        for cell in lines[0]["cells"][first : first + abreast]:
            at = " ".join(f"{axis}={value}" for axis, value in cell["at"].items())
            table.add_column(Text(at or "every job"), justify="right", overflow="fold")
        for line in lines:
            cells = (_shown(cell, line["unit"]) for cell in line["cells"][first : first + abreast])
            table.add_row(Text(line["arm"]), Text(line["figure"]), *(Text(cell) for cell in cells))
        console.print(table)
    left = {"lines": len(grid) - len(lines), "columns": n_cells - blocks * abreast}
    if counts := " and ".join(f"{n} more {what}" for what, n in left.items() if n > 0):
        console.print(Text(f"  {counts} of the grid are left out\n"))


def _shown(cell: Mapping[str, Any], unit: str) -> str:
    """A cell in words, times in ms. What kept a job from a report is told once, beside the job."""
    if cell["mean"] is None:
        own = cell["reason"] in (NO_REPORT, NO_SUCH) or cell["reason"].startswith("arm unavailable")
        return "-" if own else f"undefined: {cell['reason']}"
    scale, suffix = (1000, " ms") if unit == "s" else (1, "")
    text = number(scale * cell["mean"]) + suffix
    if cell["low"] is not None:
        text += f" [{number(scale * cell['low'])}, {number(scale * cell['high'])}]"
    lost = cell["n_jobs"] - cell["n_defined"]
    why = "" if cell["reason"] in (None, NO_REPORT, NO_SUCH) else f": {cell['reason']}"
    marks = [f"{lost} of {cell['n_jobs']} undefined{why}"] * (lost > 0) + [cell["note"]] * (cell["note"] is not None)
    return f"{text} n={cell['n_defined']}" + (f" ({'; '.join(marks)})" if marks else "")
