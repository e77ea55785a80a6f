"""A sweep on one screen: what came of its jobs, and of their figures those that decided. The rest is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from evalflow.report.aligned import GAP, hanging, padded, widest
from evalflow.report.console import STYLE, number, printable
from evalflow.report.figure_lines import FigureLine, FigureLines, abreast, listed
from evalflow.report.part import Part, print_blocks, room_of
from evalflow.report.quantity import Quantity, digits, time_unit
from evalflow.report.read_figures import read_figures
from evalflow.report.sweep import severity, word_of
from evalflow.report.sweep_grid import NO_REPORT, NO_SUCH
from evalflow.report.sweep_table import job_cells, sweep_heading

Told = Mapping[str, Any]
DELTA = "delta "
RIGHT = ("job", "seconds")
MOST_AMISS = 6
"""Jobs that did not pass and are shown, however little room there is."""
STYLES = {"could not run": STYLE["fail"], "interrupted": STYLE["fail"], "not run": STYLE["skipped"], **STYLE}


def print_sweep_screen(summary: Told, reports: Iterable[Told], console: Console) -> None:
    """Print the summary; page, folder and verdict come after it.

    Of the figures those are shown that gates and comparisons of the jobs' `reports` read.
    """
    known = {(arm, one.name) for report in reports for one in read_figures(printable(report)) for arm in one.arms}
    summary, width, room = printable(summary), console.width, room_of(console)
    top = [*hanging(sweep_heading(summary), width, len(GAP))]
    notes = Part("notes", [hanging(Text(f"note: {note}"), width, 2 * len(GAP)) for note in summary["notes"]], 3)
    jobs = _jobs(summary, width)
    kept = [
        line for line in summary["grid"] if line["figure"].startswith(DELTA) or (line["arm"], line["figure"]) in known
    ]
    lines = sorted(_alike(kept), key=lambda line: _rank(line["figure"]))
    used = len(top) + jobs.height + notes.height
    made = _grid(lines, width) if lines else FigureLines(None, [], [])
    grid = Part("lines of figures", made.entries, 4, made.heading)
    over = used + grid.height - room
    for part in (grid, jobs, notes):
        over = part.shrink(over)
    if jobs.left:
        worst = _jobs(summary, width, worst_first=True)
        jobs.entries = worst.entries[: len(jobs.entries)]
    print_blocks(console, [top, jobs.lines, grid.lines, notes.lines], -over)
    n_lines = len(summary["grid"]) - len(kept)
    left = {"figures": n_lines, **{part.what: part.left for part in (grid, jobs, notes)}}
    counts = ", ".join(f"{n:,} {what if n > 1 else what.removesuffix('s')}" for what, n in left.items() if n)
    if counts:
        console.print(Text(f"Left out: {counts}: on the page", style="dim"), soft_wrap=True)


def _alike(grid: Sequence[Told]) -> list[Told]:
    """The grid's lines, where arms whose figure is the same in every cell share one."""
    found: list[tuple[Told, list[str]]] = []
    for line in grid:
        for first, arms in found:
            if (first["figure"], first["cells"]) == (line["figure"], line["cells"]):
                arms.append(line["arm"])
                break
        else:
            found.append((line, [line["arm"]]))
    n_arms = Counter(line["figure"] for line in grid)
    return [
        {**line, "arm": "every arm" if 2 < len(arms) == n_arms[line["figure"]] else ", ".join(arms)}
        for line, arms in found
    ]


def _rank(figure: str) -> int:
    return next((place for place, start in enumerate(("quality/", DELTA, "n/")) if figure.startswith(start)), 1)


def _jobs(summary: Told, width: int, worst_first: bool = False) -> Part:
    """A line for each job: what the sweep gave it, its verdict, and what decided against it."""
    jobs = sorted(summary["jobs"], key=severity) if worst_first else summary["jobs"]
    axes = list(summary["axes"])
    rows = [job_cells(job, axes) for job in jobs]
    heads = ["job", *axes, "verdict", "exit code", "gates", "why", "run", "seconds"]
    kept = [place for place, head in enumerate(heads) if head in axes or any(row[place] for row in rows)]
    for least in ("exit code", "seconds", "run"):  # the code is the verdict's
        if least == "exit code" or _breadth(heads, rows, kept) > width:
            kept = [place for place in kept if heads[place] != least]
    widths = {place: widest([heads[place], *(row[place] for row in rows)]) for place in kept}
    told = []
    for job, row in zip(jobs, rows, strict=True):
        line = Text()
        for place in kept:
            style = STYLES[word_of(job)] if heads[place] == "verdict" else ""
            line.append(padded(row[place], widths[place], right=heads[place] in RIGHT) + GAP, style=style)
        line.rstrip()
        told.append(hanging(line, width, 2 * len(GAP)))
    named = (padded(heads[place], widths[place], right=heads[place] in RIGHT) for place in kept)
    heading = hanging(Text(GAP.join(named).rstrip(), style="bold"), width, 2 * len(GAP))[0]
    amiss = sum(word_of(job) != "pass" for job in jobs)
    return Part("jobs", told, max(1, min(amiss, MOST_AMISS)), heading)


def _breadth(heads: Sequence[str], rows: Sequence[Sequence[str]], kept: Sequence[int]) -> int:
    return sum(widest([heads[place], *(row[place] for row in rows)]) + len(GAP) for place in kept) - len(GAP)


def _grid(lines: Sequence[Told], width: int) -> FigureLines:
    """A column for each place of the grid where they fit; else a line for each figure and place."""
    cells = [_quantities(line) for line in lines]
    places = [" ".join(f"{axis}={at}" for axis, at in cell["at"].items()) for cell in lines[0]["cells"]]
    columns = [(place or "every job", [row[n] for row in cells]) for n, place in enumerate(places)]
    whose = widest([line["figure"] for line in lines])
    labels = [f"{padded(line['figure'], whose)}{GAP}{line['arm']}" for line in lines]
    n_jobs = {cell["n_jobs"] for line in lines for cell in line["cells"]}
    over = f"means of {min(n_jobs)} jobs" if min(n_jobs) > 1 else "each job"
    rows = abreast([over if len(n_jobs) == 1 else "", *labels], columns, width, counted=len(n_jobs) > 1)
    told = [hanging(Text(said), width, len(GAP)) for said in _said(lines)]
    if rows is not None:
        return FigureLines(rows[0], [*([row] for row in rows[1:]), *told], [])
    flat = []
    for line, row in zip(lines, cells, strict=True):
        for cell in dict.fromkeys(row):
            at = [place for place, other in zip(places, row, strict=True) if other == cell]
            arm = line["arm"] if len(at) == len(places) else f"{line['arm']}, {'; '.join(at)}"
            flat.append(FigureLine(line["figure"], arm, 1, cell, (cell.n, cell.n)))
    return listed(flat, "arm", width)


def _quantities(line: Told) -> list[Quantity]:
    """A line's means over jobs; n counts jobs."""
    unit = time_unit(max((abs(cell["mean"]) for cell in line["cells"] if cell["mean"] is not None), default=0.0))
    text, (suffix, scale) = (digits, unit) if line["unit"] == "s" else (number, ("", 1.0))
    found = []
    for cell in line["cells"]:
        lost = cell["n_jobs"] - cell["n_defined"]
        marks = f"{lost} undefined" if lost and cell["n_defined"] else ""
        if cell["mean"] is None:
            found.append(Quantity("-", "", 0, "", cell["reason"]))
            continue
        ends = cell["low"], cell["high"]
        interval = "" if None in ends else f"[{', '.join(text(scale * end) for end in ends)}]"
        found.append(Quantity(text(scale * cell["mean"]) + suffix, interval, cell["n_defined"], marks, None))
    return found


def _said(lines: Sequence[Told]) -> list[str]:
    """Why means have no value or no interval, once for all of which it is so."""
    reasons: dict[str, dict[str, dict[str, None]]] = {}
    for line in lines:
        for cell in line["cells"]:
            own = cell["reason"] in (None, NO_REPORT, NO_SUCH) or cell["reason"].startswith("arm unavailable")
            lost = cell["n_jobs"] - cell["n_defined"]
            of = f" in {lost} of {cell['n_jobs']} jobs" if cell["n_defined"] else ""
            for said in (None if own else f"undefined{of}, {cell['reason']}", cell["note"]):
                if said is not None:
                    reasons.setdefault(said, {}).setdefault(line["figure"], {})[line["arm"]] = None
    told = {
        said: [f"{figure} of {', '.join(arms)}" for figure, arms in whose.items()] for said, whose in reasons.items()
    }
    return [f"{said}: {'; '.join(whose)}" for said, whose in told.items()]
