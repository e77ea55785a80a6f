"""Comparisons in words, a line each: what is shown, by how much, and on how many pairs. The page has the test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalflow.comparison import could_show, out_of_reach
from evalflow.report.console import number
from evalflow.report.quantity import digits, signed, time_unit

Told = Mapping[str, Any]


def comparison_lines(report: Told) -> Iterator[str]:
    """A line for each figure of each comparison, in the report's order."""
    for name, figures in report["comparisons"].items():
        sides = report["asked"]["comparisons"][name]
        for figure, delta in figures.items():
            told = report["arms"][sides["reference"]]["figures"].get(figure)
            is_time = told is not None and told["unit"] == "s"
            yield _line(sides["reference"], sides["candidate"], figure, delta, is_time)


def _line(reference: str, candidate: str, figure: str, delta: Told, is_time: bool) -> str:
    if delta["delta"] is None:
        return f"{candidate} against {reference} on {figure}: undefined ({delta['reason']})"
    says = {
        "better": f"{candidate} is better than {reference} on {figure}",
        "worse": f"{candidate} is worse than {reference} on {figure}",
        "identical": f"{candidate} and {reference} are the same on every pair on {figure}",
        "not shown": f"{candidate} against {reference} on {figure}: no difference is shown",
    }[delta["conclusion"]]
    return f"{says}: {', '.join(_numbers(delta, is_time))}"


def _numbers(delta: Told, is_time: bool) -> Iterator[str]:
    """The difference with interval and pairs, its p-value, what could have been shown, and what is missing of it."""
    text, unit, scale = number, "", 1.0
    if is_time:
        text, (unit, scale) = digits, time_unit(delta["delta"])

    def said(value: float) -> str:
        return signed(value, text(scale * value))

    low, high = delta["low"], delta["high"]
    interval = "" if low is None or high is None else f" [{said(low)}, {said(high)}]"
    clusters = f" in {delta['n_clusters']} clusters" if delta["n_clusters"] < delta["n_pairs"] else ""
    yield f"{said(delta['delta'])}{unit}{interval} n={delta['n_pairs']}{clusters}"
    if delta["p_adjusted"] is not None and delta["conclusion"] != "identical":
        yield f"p={delta['p_adjusted']:.2g}{' after Holm' if delta['p_adjusted'] != delta['p'] else ''}"
    if delta["conclusion"] == "not shown":
        if beyond := out_of_reach(delta["test"], delta["wins"] + delta["losses"], delta["level"]):
            yield beyond
        elif delta["mde"] is not None:
            yield f"{could_show(delta['test'])} {text(scale * delta['mde'])}{unit}"
    if delta["unpaired"]:
        yield f"{len(delta['unpaired'])} unpaired"
    if (delta["n_sessions"] or 1) > 1:
        yield f"over {delta['n_sessions']} sessions"
