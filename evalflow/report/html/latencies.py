"""Times of single requests as the page shows them: how many were done by when, arm by arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evalflow.record import Row
from evalflow.report.html.plot import INK, LINES, MUTED, PAPER, PART, RULE, Plot, plot
from evalflow.report.html.shown_number import number, tick
from evalflow.report.html.shown_text import short

if TYPE_CHECKING:
    from evalflow.report.html.plot import Axes

Times = NDArray[np.float64]
MARKS = {"p50": (0.50, "o"), "p95": (0.95, "s"), "p99": (0.99, "^")}
"""Percentiles that are marked: their share, and the mark of the figure of that name."""
MOST_POINTS = 300
"""Of one curve; its ends are always among them."""
_FAR_APART = 30.0
"""From this ratio of the slowest request to the fastest, times are drawn on a logarithmic scale."""


@dataclass(frozen=True)
class Latency:
    """One kind of time: its plot, or (`same_as`) the name of another that shows the same; why arms are not drawn."""

    figure: str
    plot: Plot | None
    same_as: str
    not_drawn: Mapping[str, str]


def latencies(report: Mapping[str, Any], rows: Sequence[Row]) -> list[Latency]:
    """A plot for every metric over the times of single requests, where an arm has times that can be read."""
    found: list[Latency] = []
    seen: dict[bytes, str] = {}
    for key, metric in report["asked"]["metrics"].items():
        if metric["grain"] == "row" and metric["unit"] == "s" and metric["figure"].startswith("lat/"):
            times_ms, not_drawn = _times(report, rows, key, metric["figure"])
            content = b"".join(name.encode("utf-8", "surrogatepass") + of.tobytes() for name, of in times_ms.items())
            if times_ms and content in seen:
                found.append(Latency(metric["figure"], None, seen[content], not_drawn))
            elif times_ms:
                seen[content] = metric["figure"]
                found.append(Latency(metric["figure"], _plot(report, metric["figure"], times_ms), "", not_drawn))
    return found


def _times(
    report: Mapping[str, Any], rows: Sequence[Row], key: str, figure: str
) -> tuple[dict[str, Times], dict[str, str]]:
    """The times (ms, N), in rising order, of each arm that is drawn; and why the others are not.

    A statistic of several numbers is more than a time: of those with the failures in, how many failed counts too.
    """
    found: dict[str, Times] = {}
    not_drawn = {}
    for name, arm in report["arms"].items():
        stats = [row.stats.get(key) for row in rows if row.arm == name]
        times = np.sort([1000 * one[0] for one in stats if one is not None and len(one) == 1])
        if why := _unreadable(arm, figure):
            not_drawn[name] = why
        elif len(times) and len(found) == len(LINES):
            not_drawn[name] = "too many arms for one plot"
        elif len(times):
            found[name] = times
    return found, not_drawn


def _plot(report: Mapping[str, Any], figure: str, times_ms: Mapping[str, Times]) -> Plot:
    marks = {name: _marks(report["arms"][name], figure) for name in times_ms}
    caption = _caption(figure, times_ms, marks)
    return plot(key_of(figure), caption, 250, lambda axes: _draw(axes, figure, times_ms, marks))


def _unreadable(arm: Mapping[str, Any], figure: str) -> str | None:
    """Why none of the arm's figures of these times has a value; None where one has."""
    told = [one for name, one in arm["figures"].items() if name.startswith(f"{figure}/")]
    return told[0]["reason"] if told and all(one["value"] is None for one in told) else None


def _marks(arm: Mapping[str, Any], figure: str) -> dict[str, float]:
    """The arm's percentiles (ms), as its figures say them."""
    values = {mark: arm["figures"].get(f"{figure}/{mark}", {}).get("value") for mark in MARKS}
    return {mark: 1000 * value for mark, value in values.items() if value is not None}


def key_of(figure: str) -> str:
    """The figure's name as a part of an id."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in figure)


def _caption(figure: str, drawn: Mapping[str, Times], marks: Mapping[str, Mapping[str, float]]) -> str:
    said = []
    for name, times in drawn.items():
        percentiles = "".join(f", {mark} {number(value)} ms" for mark, value in marks[name].items())
        said.append(f"{short(name)}: {len(times):,} requests{percentiles}")
    return f"Share of requests whose {figure.removesuffix('_s')} is at most so many ms. {'; '.join(said)}"


def _draw(axes: Axes, figure: str, drawn: Mapping[str, Times], marks: Mapping[str, Mapping[str, float]]) -> None:
    least = min(float(times[0]) for times in drawn.values())
    largest = max(float(times[-1]) for times in drawn.values())
    for mark, (level, _) in MARKS.items():
        axes.axhline(level, color=RULE, linewidth=0.8)
        va = {"p95": "top", "p99": "bottom"}.get(mark, "center")  # there is little room between the two
        axes.annotate(mark, (1.01, level), xycoords=("axes fraction", "data"), ha="left", va=va, color=MUTED)
    for (name, times), style in zip(drawn.items(), LINES, strict=False):
        axes.plot(*_steps(times), drawstyle="steps-post", label=short(name, 26), gid=f"{PART}curve", **style)
        for mark, value in marks[name].items():
            share, shape = MARKS[mark]
            axes.plot([value], [share], marker=shape, color=INK, markerfacecolor=PAPER, gid=f"{PART}{mark}")
    if least > 0 and largest > _FAR_APART * least:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: tick(value))
    axes.set_ylim(0, 1.06)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0])
    axes.set_xlabel(f"{short(figure.removesuffix('_s'), 40)} (ms)")
    axes.set_ylabel("share of requests")
    if len(drawn) > 1:
        axes.legend(loc="lower right")


def _steps(times: Times) -> tuple[Times, Times]:
    """Where the share of times up to a time rises, and to how much (K,), from 0 on; at most `MOST_POINTS`."""
    places = np.unique(np.linspace(0, len(times) - 1, min(len(times), MOST_POINTS)).round().astype(np.int64))
    taken, share = times[places], (places + 1) / len(times)
    return np.concatenate([taken[:1], taken]), np.concatenate([[0.0], share])
