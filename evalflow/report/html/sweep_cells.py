"""The grid of a sweep as its page shows it: figures down, one axis across, and in each cell what every job gave."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalflow.report.html.curve import STEP, numbers
from evalflow.report.html.figure_table import Cell
from evalflow.report.html.shown_number import Writer, scale, writer_by_means
from evalflow.report.sweep_grid import DELTA, NO_REPORT, NO_SUCH, SEED, Line, merged

ACROSS = ("concurrency", STEP)
"""Axes that stand across wherever they were swept; else it is the first."""
MOST_COLUMNS = 6
"""Side by side; more of them are broken into tables of about as many."""
MOST_CELLS = 3000
"""Of a page; the lines that are left out are counted."""
BRIEF = (NO_REPORT, NO_SUCH, "arm unavailable")
"""Reasons that are told once, beside the job."""
Reports = Mapping[int, Mapping[str, Any]]


@dataclass(frozen=True)
class Dot:
    """One job's number: where it lies between the least and the largest of its line (%), and the number in words."""

    at: str
    told: str


@dataclass(frozen=True)
class SweepCell:
    """A mean over jobs as a cell of a table, and what each of several jobs gave."""

    cell: Cell
    dots: tuple[Dot, ...] = ()


@dataclass(frozen=True)
class SweepLine:
    """One figure of an arm or a comparison, a cell per column."""

    name: str
    unit: str
    method: str
    cells: tuple[SweepCell, ...]


@dataclass(frozen=True)
class SweepGroup:
    """The figures of one arm, or of one comparison."""

    title: str
    lines: tuple[SweepLine, ...]


@dataclass(frozen=True)
class Block:
    """A table: what the other axes are at, the values of the one across, and the figures by arm."""

    title: str
    across: str
    heads: tuple[str, ...]
    groups: tuple[SweepGroup, ...]


@dataclass(frozen=True)
class SweepGrid:
    """The tables; `several` says whether a cell may be a mean, `n_left_out` counts lines that are too many."""

    blocks: tuple[Block, ...]
    several: bool
    has_dots: bool
    n_left_out: int


def grid_of_page(summary: Mapping[str, Any], reports: Reports) -> SweepGrid | None:
    """The grid of a sweep's summary, each job's own numbers from its report; None where no job has a figure."""
    rows = merged(summary["grid"])
    if not rows:
        return None
    lines = rows[: max(1, MOST_CELLS // len(rows[0]["cells"]))]
    axis = across_of(summary["axes"])
    told = [(row["arm"], _line(row, reports)) for row in lines]
    blocks = []
    for title, places in _blocks([cell["at"] for cell in rows[0]["cells"]], axis):
        abreast = math.ceil(len(places) / math.ceil(len(places) / MOST_COLUMNS))
        for first in range(0, len(places), abreast):
            part = places[first : first + abreast]
            heads = [rows[0]["cells"][place]["at"].get(axis, "every job") for place in part]
            blocks.append(Block(title, axis, tuple(heads), tuple(_groups(told, part))))
    several = any(cell["n_jobs"] > 1 for cell in rows[0]["cells"])
    has_dots = any(cell.dots for _, line in told for cell in line.cells)
    return SweepGrid(tuple(blocks), several, has_dots, len(rows) - len(lines))


def across_of(axes: Mapping[str, Sequence[str]]) -> str:
    """The axis that stands across: concurrency or step, else the first of numbers, else the first but the seed."""
    others = [axis for axis in axes if axis != SEED and len(axes[axis]) > 1] or [axis for axis in axes if axis != SEED]
    named = [axis for known in ACROSS for axis in others if axis.rpartition(".")[2] == known]
    numbered = [axis for axis in others if numbers(axes[axis]) is not None]
    return next(iter([*named, *numbered, *others]), "")


def _blocks(places: Sequence[Mapping[str, str]], across: str) -> list[tuple[str, list[int]]]:
    """The columns by what the other axes are at."""
    found: dict[str, list[int]] = {}
    for place, at in enumerate(places):
        title = " ".join(f"{axis}={value}" for axis, value in at.items() if axis != across)
        found.setdefault(title, []).append(place)
    return list(found.items())


def _groups(told: Sequence[tuple[str, SweepLine]], places: Sequence[int]) -> list[SweepGroup]:
    found: dict[str, list[SweepLine]] = {}
    for arm, line in told:
        cells = tuple(line.cells[place] for place in places)
        found.setdefault(arm, []).append(SweepLine(line.name, line.unit, line.method, cells))
    return [SweepGroup(arm, tuple(lines)) for arm, lines in found.items()]


def _line(row: Mapping[str, Any], reports: Reports) -> SweepLine:
    line = Line.told(row)
    own = [_own(line, cell, reports) for cell in row["cells"]]
    means = [cell["mean"] for cell in row["cells"]]
    values = [value for of in own for value in of.values()]
    by, unit = scale(row["unit"], [*means, *values])
    widths = [by * (c["high"] - c["low"]) for c in row["cells"] if c["low"] is not None and c["high"] is not None]
    ends = [by * end for cell in row["cells"] for end in (cell["low"], cell["high"]) if end is not None]
    scaled = [None if mean is None else by * mean for mean in means]
    write = writer_by_means(scaled, [*ends, *(by * value for value in values)], widths)
    methods = {cell["method"] for cell in row["cells"] if cell["method"]}
    least, largest = (min(values), max(values)) if values else (0.0, 0.0)
    cells = tuple(
        SweepCell(
            _cell(cell, by, write),
            _dots(of, least, largest, by, write) if cell["n_jobs"] > 1 and least < largest else (),
        )
        for cell, of in zip(row["cells"], own, strict=True)
    )
    name = f"Δ {row['figure'].removeprefix(DELTA)}" if line.part == "comparisons" else row["figure"]
    return SweepLine(name, unit, methods.pop() if len(methods) == 1 else "", cells)


def _own(line: Line, cell: Mapping[str, Any], reports: Reports) -> dict[int, float]:
    """What each job of a cell gave, where its report is there and says so."""
    readings = {job: line.read(reports.get(job)) for job in cell["jobs"]}
    return {job: reading.value for job, reading in readings.items() if reading.value is not None}


def _cell(cell: Mapping[str, Any], by: float, write: Writer) -> Cell:
    lost = cell["n_jobs"] - cell["n_defined"]
    if cell["mean"] is None:
        return Cell(why=cell["reason"], brief=str(cell["reason"]).startswith(BRIEF))
    ends = [cell["low"], cell["high"]]
    interval = "" if None in ends else f"[{', '.join(write(by * end) for end in ends)}]"
    why = "" if cell["reason"] in (None, NO_REPORT, NO_SUCH) else f": {cell['reason']}"
    marks = [f"{lost} of {cell['n_jobs']} undefined{why}"] * (lost > 0) + [cell["note"]] * (cell["note"] is not None)
    return Cell(write(by * cell["mean"]), interval, f"{cell['n_defined']:,}", tuple(marks))


def _dots(own: Mapping[int, float], least: float, largest: float, by: float, write: Writer) -> tuple[Dot, ...]:
    """None where the whole line is one number."""
    if least == largest:
        return ()
    return tuple(
        Dot(f"{3 + 94 * (value - least) / (largest - least):.1f}", f"job {job}: {write(by * value)}")
        for job, value in own.items()
    )
