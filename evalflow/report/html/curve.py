"""What of a sweep is drawn over an axis: one curve per figure, arm and setting, each point a mean over its jobs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalflow.report.sweep_grid import SEED, Column, Line, cell_of, columns
from evalflow.runner.sweep_record import axis_labels

STEP = "step"
"""The axis of training steps."""
PERCENTILES = ("p50", "p95")
"""Of the times of single requests, those that are drawn; both in one plot."""
FIRST = ("tps/", "lat/ttft_s", "lat/tpot_s", "lat/e2e_s", "lat/", "quality/")
"""Which figures are drawn, by how they begin, in the order of their plots; over training steps quality alone."""
MOST_PLOTS = 12
MOST_CURVES = 12
"""Of an axis, and of a plot; what is left out is named."""
MOST_BY_TWO = 3
"""Arms and settings whose percentiles share a plot; of more, each percentile has its own."""
JUDGING = ("gates.", "comparisons.")
"""Axes that no figure depends on."""
ONE_PLACE = "it can be read at one place alone"
Reports = Mapping[int, Mapping[str, Any]]


@dataclass(frozen=True)
class Own:
    """One job's own number, with its own interval."""

    job: int
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Point:
    """A mean over jobs at one place of the axis; None where no job has a number that can be read.

    `missed` is what some or all of its jobs have no number for, and how many they are; `over` how many jobs have one.
    """

    x: float
    mean: float | None
    low: float | None
    high: float | None
    over: int
    missed: str
    own: tuple[Own, ...]


@dataclass(frozen=True)
class Curve:
    """One figure of one arm under one setting of the other axes, its points in rising order."""

    label: str
    figure: str
    points: tuple[Point, ...]

    @property
    def drawable(self) -> bool:
        """Whether there is anything to draw: a mean at two places at least."""
        return sum(point.mean is not None for point in self.points) > 1

    @property
    def why_not(self) -> str:
        """Why it is not drawn."""
        return ONE_PLACE if any(point.mean is not None for point in self.points) else self.points[0].missed


@dataclass(frozen=True)
class Family:
    """The curves of one plot; `not_drawn` says why others of it are not there."""

    name: str
    unit: str
    higher_is_better: bool
    curves: tuple[Curve, ...]
    not_drawn: Mapping[str, str]


@dataclass(frozen=True)
class Over:
    """All that is drawn over one axis, what has the same numbers as (its value) another, and what is too much.

    `unreadable` are the plots that have no curve at all, each with the reason of its first.
    """

    axis: str
    families: tuple[Family, ...]
    unreadable: Mapping[str, str]
    same: Mapping[str, str]
    left_out: tuple[str, ...]


def curves_over(jobs: Sequence[Mapping[str, Any]], axes: Mapping[str, Sequence[str]], reports: Reports) -> list[Over]:
    """For every axis of two and more numbers but the seed, the figures that were measured along it."""
    found = []
    for axis, values in axes.items():
        if axis != SEED and not axis.startswith(JUDGING) and numbers(values) is not None:
            families = list(_families(axis, jobs, reports))
            same = _same([one for one in families if one.curves])
            own = [one for one in families if one.curves and one.name not in same]
            unreadable = {one.name: next(iter(one.not_drawn.values())) for one in families if not one.curves}
            if own or unreadable:
                left_out = tuple(one.name for one in own[MOST_PLOTS:])
                found.append(Over(axis, tuple(own[:MOST_PLOTS]), unreadable, same, left_out))
    return found


def _same(families: Sequence[Family]) -> dict[str, str]:
    """Family -> an earlier one whose every number it repeats, as a TTFT with failures does where none failed."""
    first: dict[tuple[tuple[str, tuple[Point, ...]], ...], str] = {}
    told = [(one.name, tuple((curve.label, curve.points) for curve in one.curves)) for one in families]
    return {name: first[content] for name, content in told if first.setdefault(content, name) != name}


def numbers(values: Sequence[str]) -> list[float] | None:
    """The values of an axis as numbers; None where one is none, or they are not two at least."""
    found = [_number(value) for value in values]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) and len(set(known)) > 1 else None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def _families(axis: str, jobs: Sequence[Mapping[str, Any]], reports: Reports) -> Iterator[Family]:
    ordered = [reports[number] for number in sorted(reports)]
    figures = dict.fromkeys(name for report in ordered for arm in report["arms"].values() for name in arm["figures"])
    settings = _settings(axis, jobs)
    arms = list(dict.fromkeys(name for report in ordered for name in report["arms"]))
    together = len(arms) * len(settings) <= MOST_BY_TWO
    plots: dict[str, list[str]] = {}
    for figure in figures:
        if (name := _family(axis, figure, together)) is not None:
            plots.setdefault(name, []).append(figure)
    order = sorted(plots, key=_rank)
    for name in order:
        lines = [Line("arms", arm, figure) for arm in arms for figure in plots[name]]
        unit = next((found for line in lines if (found := line.unit(ordered))), "")
        told = [
            _curve(line, setting, places, together and axis != STEP, unit, reports)
            for line in lines
            if any(line.figure in report["arms"].get(line.name, {"figures": {}})["figures"] for report in ordered)
            for setting, places in settings.items()
        ]
        drawable = [one for one in told if one.drawable]
        not_drawn = {one.label: one.why_not for one in told if not one.drawable}
        not_drawn |= {one.label: "too many curves for one plot" for one in drawable[MOST_CURVES:]}
        better = _higher_is_better(ordered, plots[name][0])
        yield Family(name, unit, better, tuple(drawable[:MOST_CURVES]), not_drawn)


def _family(axis: str, figure: str, together: bool) -> str | None:
    """The plot that a figure belongs to, percentiles of one time `together` in one; None where it is not drawn."""
    if axis == STEP:
        return figure if figure.startswith("quality/") else None
    if not figure.startswith(FIRST):
        return None
    stem, _, last = figure.rpartition("/")
    if not figure.startswith("lat/") or stem == "lat":
        return figure
    return (stem if together else figure) if last in PERCENTILES else None


def _rank(name: str) -> int:
    return next(place for place, begins in enumerate(FIRST) if name.startswith(begins))


def _settings(axis: str, jobs: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[float, Column]]]:
    """What the other axes are at -> the columns along this one, in rising order."""
    found: dict[str, list[tuple[float, Column]]] = {}
    for column in columns(jobs):
        others = {key: value for key, value in column.at.items() if key != axis}
        labels = axis_labels(others)
        setting = " ".join(f"{labels[key]}={value}" for key, value in others.items())
        x = _number(column.at[axis])
        assert x is not None, "an axis of numbers"
        found.setdefault(setting, []).append((x, column))
    return {setting: sorted(places, key=lambda place: place[0]) for setting, places in found.items()}


def _curve(
    line: Line, setting: str, places: Sequence[tuple[float, Column]], together: bool, unit: str, reports: Reports
) -> Curve:
    percentile = line.figure.rpartition("/")[2]
    what = [line.name, setting, percentile if together and percentile in PERCENTILES else ""]
    points = tuple(_point(x, line, column, unit, reports) for x, column in places)
    return Curve(" ".join(part for part in what if part), line.figure, points)


def _point(x: float, line: Line, column: Column, unit: str, reports: Reports) -> Point:
    cell = cell_of(line, column, unit, reports)
    readings = {job: line.read(reports.get(job)) for job in cell["jobs"]}
    own = tuple(Own(job, one.value, one.low, one.high) for job, one in readings.items() if one.value is not None)
    lost = cell["n_jobs"] - cell["n_defined"]
    missed = "" if not lost and cell["mean"] is not None else str(cell["reason"])
    if lost and cell["n_jobs"] > 1:
        missed = f"{lost} of {cell['n_jobs']} jobs: {missed}"
    return Point(x, cell["mean"], cell["low"], cell["high"], cell["n_defined"], missed, own)


def _higher_is_better(reports: Sequence[Mapping[str, Any]], figure: str) -> bool:
    """As the metric of the figure says it."""
    metrics = (metric for report in reports for metric in report["asked"]["metrics"].values())
    found = (metric["higher_is_better"] for metric in metrics if f"{figure}/".startswith(f"{metric['figure']}/"))
    return bool(next(found, True))
