"""The description of a sweep's run: its verdict, its jobs and what they measured, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from evalflow.runner.sweep_record import axis_labels
from evalflow.tracking.note import LONGEST_NOTE, NAMED, PLAIN_UNITS, escape, fitted, interval, number, section, table

SUMMARY = "summary.json"
# however many jobs there are, what they measured is seen too
LONGEST_JOBS = LONGEST_NOTE // 2
MOST_COLUMNS = 6
DELTA = "delta "
"""How a figure of the grid begins that is a comparison's."""
TELLING = ("quality/", DELTA)
WORST_FIRST = ("incomplete", "fail", "unreadable", "pass")
SAID = {"fail": "failed", "pass": "passed"}


def sweep_note(summary: Mapping[str, Any]) -> str:
    """Markdown of at most `LONGEST_NOTE` characters."""
    jobs = summary["jobs"]
    took = "side by side" if summary["parallel"] else "one after another"
    lines = [
        f"**Verdict: {escape(summary['verdict'])}** (exit code {summary['exit_code']}): {_counted(jobs)}",
        "",
        *fitted(_job_table(jobs, list(summary["axes"])), SUMMARY, LONGEST_JOBS),
        *section("Over the jobs", _grid(ranked(summary["grid"]))),
        *section("Notes", [f"- {escape(note)}" for note in own_notes(summary)]),
        *section("Asked for", [f"{escape(' '.join(summary['overrides']))} ({took}, from {_from_to(summary)})"]),
    ]
    return "\n".join(fitted(lines, SUMMARY))


def own_notes(summary: Mapping[str, Any]) -> list[str]:
    """The sweep's notes but for those that repeat what a job said, which has a place of its own."""
    said = [_one_line(job["said"]) for job in summary["jobs"] if job["said"]]
    return [note for note in summary["notes"] if not any(words in _one_line(note) for words in said)]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def ranked(grid: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The grid with quality and what was compared before times and counts, each in its own order."""
    return sorted(grid, key=lambda row: not row["figure"].startswith(TELLING))


def outcome(job: Mapping[str, Any]) -> str:
    """A job's verdict; `incomplete` too where it has none."""
    return str(job["verdict"] or "incomplete")


def _counted(jobs: Sequence[Mapping[str, Any]]) -> str:
    counts = Counter(map(outcome, jobs))
    told = [f"{counts[name]} {SAID.get(name, name)}" for name in WORST_FIRST if counts[name]]
    return f"of {len(jobs)} jobs {', '.join(told)}"


def _from_to(summary: Mapping[str, Any]) -> str:
    return f"{escape(summary['started'])} to {escape(summary['finished'] or 'an interruption')}"


def _job_table(jobs: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> list[str]:
    worst_first = sorted(jobs, key=lambda job: WORST_FIRST.index(outcome(job)))
    rows = (
        [
            str(job["job"]),
            *(escape(job["swept"].get(axis, "–")) for axis in axes),
            _outcome(job),
            _gates(job["gates"]),
            escape(job["said"] or ""),
            escape(job["run_id"] or "–"),
        ]
        for job in worst_first
    )
    labels = axis_labels(axes)
    head = ["job", *(escape(labels[axis]) for axis in axes), "verdict", "gates missed", "why", "run"]
    columns = [column for column in zip(head, *rows, strict=True) if any(column[1:])]  # none without a word in it
    head, *lines = [list(line) for line in zip(*columns, strict=True)]
    return table(head, lines)


def _outcome(job: Mapping[str, Any]) -> str:
    said = outcome(job)
    shown = f"**{escape(said)}**" if said != "pass" else said
    state = {"failed": " (could not complete)", "not run": " (not run)"}.get(job["state"], "")
    return shown + state + (" (finished before)" if job["skipped"] else "")


def _gates(gates: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{said}: {_some(names)}" for said, names in gates.items() if names)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(escape(name) for name in names[:NAMED]) + more


def _grid(grid: Sequence[Mapping[str, Any]]) -> list[str]:
    """A column per combination of the other axes' values, or a line where they are many."""
    places = list(dict.fromkeys(_place(cell["at"]) for row in grid for cell in row["cells"]))
    if len(places) > MOST_COLUMNS:
        lines = ([*_named(row), _place(cell["at"]), _cell(cell)] for row in grid for cell in row["cells"])
        return table(["of", "figure", "at", "mean over jobs"], lines)
    found = [(row, {_place(cell["at"]): _cell(cell) for cell in row["cells"]}) for row in grid]
    head = [place or "mean over jobs" for place in places]
    return table(["of", "figure", *head], ([*_named(row), *(at.get(p, "–") for p in places)] for row, at in found))


def _named(row: Mapping[str, Any]) -> list[str]:
    unit = "" if row["unit"] in PLAIN_UNITS else f" ({escape(row['unit'])})"
    return [escape(row["arm"]), escape(row["figure"]) + unit]


def _place(at: Mapping[str, str]) -> str:
    labels = axis_labels(at)
    return " ".join(f"{escape(labels[key])}={escape(value)}" for key, value in at.items())


def _cell(cell: Mapping[str, Any]) -> str:
    of = f" of {cell['n_jobs']}" if cell["n_defined"] < cell["n_jobs"] else ""
    jobs = f"{cell['n_defined']}{of} job{'' if cell['n_jobs'] == 1 else 's'}"
    if cell["mean"] is None:
        return f"undefined: {escape(cell['reason'])} ({jobs})"
    parts = [number(cell["mean"]), interval(cell), f"({jobs})", escape(cell["note"] or "")]
    return " ".join(part for part in parts if part)
