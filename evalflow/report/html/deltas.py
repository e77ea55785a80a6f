"""Comparisons as the page shows them: candidate minus reference, a forest plot for those of one unit, and the words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalflow.report.held_number import deciding_bounds
from evalflow.report.html.plot import ACCENT, INK, MUTED, PAPER, PART, RULE, Plot, plot
from evalflow.report.html.shown_number import number, scale, signed, tick, writer
from evalflow.report.html.shown_text import short

if TYPE_CHECKING:
    from evalflow.report.html.plot import Axes

MOST_DRAWN = 40
"""Differences of one plot; the table has them all."""
SHOWN = ("better", "worse")
"""Conclusions that a difference is there, and which way it goes."""
_STEP = 34.0  # pt from one difference to the next
_AROUND = 62.0  # pt above and below them


@dataclass(frozen=True)
class Difference:
    """One figure of one comparison. Numbers are of `unit`; `margin` is what a gate allows it to be worse by.

    `bounds` are the one-sided ones that it goes by.
    """

    comparison: str
    figure: str
    delta: float | None
    low: float | None
    high: float | None
    unit: str
    higher_is_better: bool
    conclusion: str
    margin: float | None
    told: Mapping[str, str]
    bounds: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        """What it is of."""
        return f"{self.comparison} · {self.figure}"


@dataclass(frozen=True)
class Deltas:
    """Every difference, in the report's order, and the plots of those that are defined."""

    differences: tuple[Difference, ...]
    plots: tuple[Plot, ...]


def deltas_of(report: Mapping[str, Any]) -> Deltas | None:
    """The comparisons of a report; None where it has none."""
    told = [
        difference(
            name, figure, delta, _unit(report, figure), _margin(report, name, figure), _bounds(report, name, figure)
        )
        for name, figures in report["comparisons"].items()
        for figure, delta in figures.items()
    ]
    return drawn(told)


def drawn(told: Sequence[Difference]) -> Deltas | None:
    """The differences and their plots; None where there are none."""
    return Deltas(tuple(told), tuple(_forests(told))) if told else None


def difference(
    name: str, figure: str, delta: Mapping[str, Any], unit: str, margin: float | None, bounds: Sequence[float] = ()
) -> Difference:
    """A difference in the page's numbers, of a figure in `unit`; `margin` and `bounds` are a gate's, in that unit."""
    ends = [delta[key] for key in ("delta", "low", "high", "reference_value", "candidate_value")]
    by, unit = scale(unit, ends)
    difference, low, high, reference, candidate = (None if one is None else by * one for one in ends)
    width = None if low is None or high is None else high - low
    write, sides = writer([difference, low, high], [width]), writer([reference, candidate])
    told = {
        "delta": "" if difference is None else signed(difference, write),
        "interval": "" if low is None or high is None else f"[{signed(low, write)}, {signed(high, write)}]",
        "level": f"{100 * delta['level']:g} %",
        "reference": "" if reference is None else sides(reference),
        "candidate": "" if candidate is None else sides(candidate),
        "n": f"{delta['n_pairs']:,}",
        "unpaired": f"{len(delta['unpaired']):,} unpaired" if delta["unpaired"] else "",
        "p": "" if delta["p_adjusted"] is None else number(delta["p_adjusted"]),
        "sides": f"{delta['wins']:,} up, {delta['losses']:,} down, {delta['ties']:,} level" if delta["n_pairs"] else "",
        "words": delta["words"],
        "reason": delta["reason"] or "",
    }
    scaled = None if margin is None else by * margin
    better = delta["higher_is_better"]
    return Difference(
        name,
        figure,
        difference,
        low,
        high,
        unit,
        better,
        delta["conclusion"],
        scaled,
        told,
        tuple(by * b for b in bounds),
    )


def _unit(report: Mapping[str, Any], figure: str) -> str:
    """The figure's unit, which its arms say."""
    return next((arm["figures"][figure]["unit"] for arm in report["arms"].values() if figure in arm["figures"]), "")


def _margin(report: Mapping[str, Any], comparison: str, figure: str) -> float | None:
    """The smallest margin of the gates that read this difference."""
    margins = [
        report["asked"]["gates"][name]["margin"]
        for name, gate in report["gates"].items()
        if (gate["comparison"], gate["figure"]) == (comparison, figure)
    ]
    return min((margin for margin in margins if margin is not None), default=None)


def _bounds(report: Mapping[str, Any], comparison: str, figure: str) -> list[float]:
    """The one-sided bounds that gates with a margin go by on this difference."""
    read = [
        name for name, gate in report["gates"].items() if (gate["comparison"], gate["figure"]) == (comparison, figure)
    ]
    return sorted({bound for name in read for bound in deciding_bounds(report, name)})


def _forests(told: Sequence[Difference]) -> list[Plot]:
    """A forest plot for each unit and direction: left is always less of the candidate, whichever side is better."""
    drawable = [one for one in told if one.delta is not None]
    kinds = dict.fromkeys((one.unit, one.higher_is_better) for one in drawable)
    return [
        _forest(place, kind, [one for one in drawable if (one.unit, one.higher_is_better) == kind])
        for place, kind in enumerate(kinds)
    ]


def _forest(place: int, kind: tuple[str, bool], told: Sequence[Difference]) -> Plot:
    unit, higher_is_better = kind
    drawn = told[:MOST_DRAWN]
    better = "right" if higher_is_better else "left"
    of = f" ({short(unit, 24)})" if unit else ""
    said = "; ".join(
        f"{one.label} {one.told['delta']} {one.told['interval']} {one.conclusion}".strip() for one in drawn
    )
    caption = f"Candidate minus reference{of}, with intervals; better lies to the {better}. {said}"
    left, right = ("← worse\u2003", "\u2003better →") if higher_is_better else ("← better\u2003", "\u2003worse →")

    def draw(axes: Axes) -> None:
        for row, one in enumerate(drawn):
            _one(axes, -row, one)
        axes.set_ylim(-len(drawn) + 0.45, 0.85)
        axes.set_xlim(*_reach(drawn))
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_formatter(lambda value, _: signed(value, tick))
        axes.locator_params(axis="x", nbins=5)
        axes.set_xlabel(f"{left}candidate − reference{of}{right}")

    return plot(f"forest{place}", caption, _AROUND + _STEP * len(drawn), draw)


def _one(axes: Axes, at: float, one: Difference) -> None:
    """One difference: its name above, the interval as a line, the difference on it, filled where it is shown."""
    assert one.delta is not None, "what is undefined is not drawn"
    is_shown = one.conclusion in SHOWN
    colour = ACCENT if is_shown else INK
    where, above = axes.get_yaxis_transform(), at + 0.42
    axes.text(0.0, above, short(one.label, 44), transform=where, ha="left", va="center")
    axes.text(1.0, above, one.conclusion, transform=where, ha="right", va="center", color=INK if is_shown else MUTED)
    axes.axhline(at + 0.74, color=RULE, linewidth=0.6)
    axes.plot([0, 0], [at - 0.27, at + 0.2], color=MUTED, linewidth=1, gid=f"{PART}zero")
    if one.low is not None and one.high is not None:
        axes.plot([one.low, one.high], [at, at], color=colour, linewidth=1.8, gid=f"{PART}interval")
        axes.plot([one.low, one.high], [at, at], color=colour, linestyle="none", marker="|", markersize=8)
    if one.margin is not None:
        end = -one.margin if one.higher_is_better else one.margin
        axes.plot([end], [at], color=MUTED, marker="d", markersize=6, markerfacecolor=PAPER, gid=f"{PART}margin")
    for bound in one.bounds:
        axes.plot([bound], [at], color=INK, linestyle="none", marker="|", markersize=17, gid=f"{PART}bound")
    axes.plot(
        [one.delta],
        [at],
        color=colour,
        marker="o",
        markersize=7.5,
        markerfacecolor=colour if is_shown else PAPER,
        markeredgewidth=1.6,
        gid=f"{PART}delta",
    )


def _reach(told: Sequence[Difference]) -> tuple[float, float]:
    """From the least to the largest end, 0 always between them and a little room on both sides."""
    ends = [end for one in told for end in (one.delta, one.low, one.high) if end is not None]
    ends += [bound for one in told for bound in one.bounds]
    ends += [-one.margin if one.higher_is_better else one.margin for one in told if one.margin is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.08 * (high - low) or 1.0
    return low - room, high + room
