"""A figure in characters: its value, its interval and its count, each to be aligned with others of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalflow.report.console import number


class Quantity(NamedTuple):
    """A figure as it is read: `reason` stands where there is no value."""

    value: str
    interval: str
    n: int
    marks: str
    reason: str | None


def quantities(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, Quantity]:
    """One figure of several arms, by arm: its times in ms, or in s where one of them reaches a second."""
    unit = time_unit(max((abs(one["value"]) for one in figures.values() if one["value"] is not None), default=0.0))
    return {arm: _quantity(one, unit) for arm, one in figures.items()}


def _quantity(figure: Mapping[str, Any], time: tuple[str, float]) -> Quantity:
    missing, sessions = figure["n_total"] - figure["n_scored"], figure["n_sessions"] or 1
    marks = [f"{missing} missing"] * (missing > 0) + [f"{sessions} sessions"] * (sessions > 1)
    told = ", ".join(marks)
    if figure["value"] is None:
        return Quantity("-", "", figure["n_scored"], told, figure["reason"])
    text, unit, scale = number, "", 1.0
    if figure["unit"] == "s":
        text, (unit, scale) = digits, time
    low, high = figure["low"], figure["high"]
    interval = "" if low is None or high is None else f"[{text(scale * low)}, {text(scale * high)}]"
    return Quantity(text(scale * figure["value"]) + unit, interval, figure["n_scored"], told, None)


def time_unit(seconds: float) -> tuple[str, float]:
    """What a time is told in, and the factor from seconds."""
    return (" ms", 1000.0) if abs(seconds) < 0.9995 else (" s", 1.0)


def digits(value: float) -> str:
    """Three digits that count, and all of those before the point."""
    size = abs(value)
    if size >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 9.995 else f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def signed(value: float, text: str) -> str:
    """The text of a difference with its sign; 0 has none."""
    return text if text.startswith("-") or value == 0 else f"+{text}"
