"""Curves of a sweep as plots: means joined by a line, their intervals as a band, and every job's own number beside."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from evalflow.report.html.best_step import best_in_words, best_of
from evalflow.report.html.curve import STEP, Curve, Family, Point
from evalflow.report.html.figure_table import Cell
from evalflow.report.html.latencies import key_of
from evalflow.report.html.plot import INK, LINES, PART, Plot, plot
from evalflow.report.html.shown_number import Writer, scale, tick, writer_by_means
from evalflow.report.html.shown_text import short

if TYPE_CHECKING:
    from evalflow.report.html.plot import Axes

_HEIGHT = 210.0
_PER_LABEL = 15.0
"""Height (pt) of a plot, and what each line of its legend adds."""
_FAR_APART = 30.0
"""From this ratio of the largest number to the smallest, they are drawn on a logarithmic scale."""
_TWO = 2
"""Jobs whose mean has no band: its t interval, which the numbers have, is thirteen times as wide as they are apart."""
_LABEL, _SHORT_LABEL = 40, 18
"""Characters of a curve's name in the legend, and those of which two stand side by side."""
_MOST_BARS = 12
"""Jobs of all curves at one place whose own intervals are drawn; of more, their numbers alone."""
_MOST_DOTS = 400
"""Jobs of a plot that are drawn by themselves at all."""
_MOST_PLACES = 40
"""Places whose numbers are told beside the plot."""
_TICK_APART = 0.085
_SIDE = 0.014
_ROOM = 0.05
"""Shares of the axis: between two values that are written, between curves at one place, and beyond both ends."""


@dataclass(frozen=True)
class Along:
    """Where the places of an axis lie (0 to 1): by octaves where those are the more even, else by values."""

    xs: tuple[float, ...]
    in_octaves: bool

    @classmethod
    def of(cls, family: Family) -> Along:
        """The axis that has a place for every point of a family."""
        xs = tuple(sorted({point.x for curve in family.curves for point in curve.points}))
        return cls(xs, are_octaves(xs))

    def at(self, x: float) -> float:
        """Where a value lies."""
        first, last, value = (math.log2(one) if self.in_octaves else one for one in (self.xs[0], self.xs[-1], x))
        return (value - first) / (last - first)

    def ticks(self) -> list[float]:
        """The values that are written: all, but for those that have no room beside the one before."""
        shown = [self.xs[0]]
        for x in self.xs[1:]:
            if self.at(x) - self.at(shown[-1]) >= _TICK_APART:
                shown.append(x)
        return shown


def are_octaves(values: Sequence[float]) -> bool:
    """Whether rising values are more evenly apart by their ratios than by their differences; never of two alone."""
    if values[0] <= 0 or len(values) < 3:
        return False
    pairs = list(pairwise(values))
    gaps, ratios = [after - before for before, after in pairs], [math.log2(after / before) for before, after in pairs]
    return max(ratios) / min(ratios) < max(gaps) / min(gaps)


@dataclass(frozen=True)
class Row:
    """The numbers of one curve, in the order of the plot's places."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Drawn:
    """A plot of a family, its numbers, what must be known of them, and why other curves are not there."""

    name: str
    unit: str
    plot: Plot
    places: tuple[str, ...]
    rows: tuple[Row, ...]
    told: tuple[str, ...]
    not_drawn: tuple[tuple[str, str], ...]


def drawn(family: Family, axis: str, place: str) -> Drawn:
    """The plot of a family's curves over an axis; `place` tells it from other plots of the page."""
    points = [point for curve in family.curves for point in curve.points]
    means = [point.mean for point in points]
    by, unit = scale(family.unit, [*means, *(own.value for point in points for own in point.own)])
    widths = [by * (p.high - p.low) for p in points if p.low is not None and p.high is not None]
    ends = [by * end for point in points for end in (point.low, point.high) if end is not None]
    write = writer_by_means([None if mean is None else by * mean for mean in means], ends, widths)
    xs = sorted({point.x for point in points})
    caption = _caption(family, axis, unit, write, by)
    height = _HEIGHT + _PER_LABEL * math.ceil(len(family.curves) / _abreast(family))
    name = key_of(f"curve-{place}-{family.name}")
    figure = plot(name, caption, height, lambda axes: _draw(axes, family, axis, by, unit))
    best = [best_in_words(curve, family.higher_is_better, write, by) for curve in family.curves] if axis == STEP else []
    shown = xs if len(xs) <= _MOST_PLACES else []
    rows = tuple(Row(curve.label, tuple(_cells(curve, shown, by, write))) for curve in family.curves)
    told = tuple(said for said in best if said is not None)
    return Drawn(family.name, unit, figure, tuple(map(tick, shown)), rows, told, tuple(family.not_drawn.items()))


def _cells(curve: Curve, xs: Sequence[float], by: float, write: Writer) -> list[Cell]:
    found = {point.x: point for point in curve.points}
    return [_cell(found[x], by, write) if x in found else Cell() for x in xs]


def _cell(point: Point, by: float, write: Writer) -> Cell:
    if point.mean is None:
        return Cell(why=point.missed)
    both = point.low is not None and point.high is not None
    interval = f"[{', '.join(write(by * end) for end in (point.low, point.high) if end is not None)}]" if both else ""
    return Cell(write(by * point.mean), interval, str(point.over), (point.missed,) if point.missed else ())


def _caption(family: Family, axis: str, unit: str, write: Writer, by: float) -> str:
    said = []
    for curve in family.curves:
        cells = zip(curve.points, _cells(curve, [p.x for p in curve.points], by, write), strict=True)
        each = (f"{tick(p.x)}: {cell.why or f'{cell.value} {cell.interval}'.strip()}" for p, cell in cells)
        said.append(f"{short(curve.label)} {', '.join(each)}")
    of = f" ({unit})" if unit else ""
    return f"{family.name}{of} over {short(axis)}, with intervals. {'; '.join(said)}"


def _draw(axes: Axes, family: Family, axis: str, by: float, unit: str) -> None:
    along = Along.of(family)
    n_curves = len(family.curves)
    n_jobs = sum(max(len(point.own) for point in curve.points) for curve in family.curves)
    n_dots = sum(len(point.own) for curve in family.curves for point in curve.points)
    for place, (curve, style) in enumerate(zip(family.curves, LINES, strict=False)):
        aside = (place - (n_curves - 1) / 2) * _SIDE
        _line(axes, curve, along, by, style)
        own = _own(curve, along, aside, by)
        _jobs(axes, own if n_dots <= _MOST_DOTS else [], n_jobs <= _MOST_BARS, style["color"])
        _crosses(axes, [along.at(point.x) + aside for point in curve.points if point.missed])
        best = best_of(curve, family.higher_is_better) if axis == STEP else None
        if best is not None and best.mean is not None:
            ring: Mapping[str, Any] = {
                "marker": "o",
                "markersize": 13,
                "markerfacecolor": "none",
                "linestyle": "none",
                "clip_on": False,
            }
            axes.plot([along.at(best.x)], [by * best.mean], color=INK, gid=f"{PART}best", **ring)
    _reach(axes, family, by)
    axes.set_xlim(-_ROOM, 1 + _ROOM)
    shown = along.ticks()
    axes.set_xticks([along.at(x) for x in shown], [tick(x) for x in shown])
    axes.set_xlabel(short(axis, 40))
    axes.set_ylabel(short(unit or "value", 24))
    if n_curves > 1:
        above: Mapping[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
        axes.legend(ncols=_abreast(family), handlelength=2.4, **above)


def _abreast(family: Family) -> int:
    """Labels of the legend that have room side by side."""
    return 2 if max(len(short(curve.label, _LABEL)) for curve in family.curves) <= _SHORT_LABEL else 1


def _line(axes: Axes, curve: Curve, along: Along, by: float, style: Mapping[str, Any]) -> None:
    """The means, joined where nothing between them is unreadable, and their intervals as a band."""
    at = [along.at(point.x) for point in curve.points]
    means = [math.nan if point.mean is None else by * point.mean for point in curve.points]
    ends = [(p.low, p.high) if p.over != _TWO else (None, None) for p in curve.points]
    lows, highs = ([math.nan if end is None else by * end for end in side] for side in zip(*ends, strict=True))
    band = {"color": style["color"], "alpha": 0.14}
    axes.fill_between(at, lows, highs, linewidth=0, gid=f"{PART}band", **band)
    axes.vlines(at, lows, highs, linewidth=5, **band)  # of a point without a neighbour too
    label = short(curve.label, _LABEL)
    axes.plot(at, means, marker="o", markersize=5, label=label, gid=f"{PART}curve", **style)


@dataclass(frozen=True)
class _Mark:
    """One job's own number where it is drawn; `alone` where its point has no other."""

    at: float
    value: float
    low: float | None
    high: float | None
    alone: bool


def _own(curve: Curve, along: Along, aside: float, by: float) -> list[_Mark]:
    """What the jobs of each point gave, a little beside one another."""
    return [
        _Mark(
            along.at(point.x) + aside + (place - (len(point.own) - 1) / 2) * _SIDE / 2,
            by * own.value,
            None if own.low is None else by * own.low,
            None if own.high is None else by * own.high,
            len(point.own) == 1,
        )
        for point in curve.points
        for place, own in enumerate(point.own)
    ]


def _jobs(axes: Axes, own: Sequence[_Mark], bars: bool, color: str) -> None:
    """Each job's own interval as a thin bar, and its number as a dot where the mean is not that very number."""
    told = [(mark.at, mark.low, mark.high) for mark in own if mark.low is not None and mark.high is not None]
    if bars and told:
        at, lows, highs = zip(*told, strict=True)
        axes.vlines(at, lows, highs, color=color, linewidth=0.8, gid=f"{PART}interval")
    if dots := [(mark.at, mark.value) for mark in own if not mark.alone]:
        look: Mapping[str, Any] = {"marker": ".", "markersize": 5, "linestyle": "none", "color": color}
        axes.plot(*zip(*dots, strict=True), gid=f"{PART}job", **look)


def _crosses(axes: Axes, at: Sequence[float]) -> None:
    """At the foot, where a job gave nothing that can be read."""
    if at:
        look: Mapping[str, Any] = {"marker": "x", "markersize": 8, "markeredgewidth": 2, "linestyle": "none"}
        place: Mapping[str, Any] = {"transform": axes.get_xaxis_transform(), "clip_on": False}
        axes.plot(at, [0.03] * len(at), color=INK, gid=f"{PART}unreadable", **look, **place)


def _reach(axes: Axes, family: Family, by: float) -> None:
    """How far up and down the plot goes: to every mean and every job's own interval; a wider band is cut off."""
    points = [point for curve in family.curves for point in curve.points if point.mean is not None]
    ends = [end for p in points for own in p.own for end in (own.value, own.low, own.high) if end is not None]
    values = [by * end for end in [*ends, *(point.mean for point in points if point.mean is not None)]]
    low, high = min(values), max(values)
    if family.unit == "share":
        axes.set_ylim(-0.03, 1.03)
    elif low > 0 and high > _FAR_APART * low:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: tick(value))
        axes.set_ylim(low / 1.5, high * 1.5)
    else:
        foot = 0.0 if low >= 0 else low
        room = 0.06 * (high - foot) or 1.0
        axes.set_ylim(foot - (room if low < 0 else 0.0), high + room)
