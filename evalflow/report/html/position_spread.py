"""Positions of scored texts as the page shows them: what share of them is further from the reference than so much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evalflow.metric.document import column
from evalflow.metric.parity import nll_difference
from evalflow.metric.protocol import Answer
from evalflow.numeric.histogram import binned
from evalflow.record import Item, Row
from evalflow.report.html.latencies import key_of
from evalflow.report.html.plot import LINES, PART, Plot, plot
from evalflow.report.html.shown_number import number, tick
from evalflow.report.html.shown_text import short

if TYPE_CHECKING:
    from evalflow.report.html.plot import Axes

Values = NDArray[np.float64]
MOST_POINTS = 300


@dataclass
class Tail:
    """How many positions of an arm lie where: bins of a logarithmic scale, as many whatever the number of positions."""

    n: int = 0
    n_zero: int = 0
    n_without: int = 0
    bins: Counter[float] = field(default_factory=Counter)

    def add(self, values: Values) -> None:
        """Take a text's values (P,) in; one below 0 is a 0 that was rounded, one that is not finite is counted."""
        known = np.maximum(values[np.isfinite(values)], 0.0)
        self.n += known.size
        self.n_without += values.size - known.size
        self.n_zero += int((known == 0).sum())
        middles, counts = binned(known[known > 0])
        self.bins.update(dict(zip(middles.tolist(), counts.tolist(), strict=True)))

    def above(self) -> tuple[Values, Values]:
        """Values in rising order (K,), and the share of all positions that reach each (K,); at most `MOST_POINTS`."""
        values = np.array(sorted(self.bins))
        counts = np.array([self.bins[value] for value in values.tolist()])
        reaching = counts[::-1].cumsum()[::-1] / self.n
        places = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).round().astype(np.int64))
        return values[places], reaching[places]


@dataclass(frozen=True)
class Spread:
    """One quantity over positions: its plot (None where it is 0 everywhere), and what is told of each arm."""

    name: str
    plot: Plot | None
    told: Mapping[str, str]


def _kl(unit: Answer) -> Values | None:
    return column(unit, "kl")


def _difference(unit: Answer) -> Values | None:
    values = nll_difference(unit)
    return None if values is None else np.abs(values)


QUANTITIES: Mapping[str, Callable[[Answer], Values | None]] = {"KL divergence": _kl, "|ΔNLL|": _difference}
"""Name -> a text's values (P,), in nats; None of one that was not held against another."""


def spreads(report: Mapping[str, Any], rows: Sequence[Row], items: Mapping[str, Item]) -> list[Spread]:
    """A plot per quantity of texts that were walked beside a reference. Rows are read one after another."""
    tails: dict[str, dict[str, Tail]] = {name: {} for name in QUANTITIES}
    for row in rows:
        if row.columns is not None:
            for name, values_of in QUANTITIES.items():
                values = values_of(Answer(items[row.item_id], row))
                if values is not None:
                    tails[name].setdefault(row.arm, Tail()).add(values)
    return [_spread(report, name, found) for name, found in tails.items() if any(tail.n for tail in found.values())]


def _spread(report: Mapping[str, Any], name: str, tails: Mapping[str, Tail]) -> Spread:
    tails = {arm: tails[arm] for arm in report["arms"] if arm in tails}
    some = {arm: tail for arm, tail in tails.items() if tail.bins}
    drawn = dict(list(some.items())[: len(LINES)])
    told = {arm: _told(tail, arm in some and arm not in drawn) for arm, tail in tails.items()}
    if not drawn:
        return Spread(name, None, told)
    said = "; ".join(f"{short(arm)} reaches {number(float(max(tail.bins)))}" for arm, tail in drawn.items())
    caption = f"Share of positions whose {name} (nats) is at least so much, on logarithmic scales. {said}"
    return Spread(name, plot(key_of(name), caption, 250, lambda axes: _draw(axes, name, drawn)), told)


def _told(tail: Tail, beyond: bool) -> str:
    parts = [f"{tail.n:,} positions", f"{tail.n_zero:,} of them exactly 0"]
    parts += [f"{tail.n_without:,} more without a finite value"] if tail.n_without else []
    return ", ".join([*parts, "not drawn: too many arms for one plot"] if beyond else parts)


def _draw(axes: Axes, name: str, drawn: Mapping[str, Tail]) -> None:
    for (arm, tail), style in zip(drawn.items(), LINES, strict=False):
        values, share = tail.above()
        # down to the right of its largest value, which one position alone reaches
        axes.plot(values, share, drawstyle="steps-pre", label=short(arm, 26), gid=f"{PART}curve", **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: tick(value))
        axis.set_minor_formatter(lambda *_: "")
    axes.locator_params(axis="x", numticks=6)
    axes.set_xlabel(f"{name} (nats)")
    axes.set_ylabel("share of positions ≥")
    axes.legend(loc="lower left")
