"""What a gate read, what it found and what it wanted, in the characters of a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalflow.report.console import number
from evalflow.report.quantity import digits, signed, time_unit

Told = Mapping[str, Any]
END = {"value": "", "lower": "low end", "upper": "high end", "both": "an end"}
"""Which number of a figure it is that a gate's `bound` names."""
END_OF = {"value": "", "lower": "low end of ", "upper": "high end of ", "both": "both ends of "}
"""The same before the figure's name, where there is no number yet."""


def reads(gate: Told) -> str:
    """The figure, and the end of its interval where no number says it."""
    return f"{END_OF[gate['bound']] if gate['value'] is None else ''}{gate['figure']}"


def held(report: Told, name: str) -> str:
    """The number that was held, times in ms below a second, which end of an interval it is, and a margin's bounds."""
    gate = report["gates"][name]
    if gate["value"] is None:
        return "-"
    text, unit, by = number, "", 1.0
    if gate_unit(report, name) == "s":
        text, (unit, by) = digits, time_unit(gate["value"])
    beside = [END[gate["bound"]]] if END[gate["bound"]] else []
    if bounds := deciding_bounds(report, name):
        told = ", ".join(signed(bound, text(by * bound)) for bound in bounds)
        beside.append(f"one-sided bound{'s' * (len(bounds) > 1)} {told}{unit}")
    return f"{text(by * gate['value'])}{unit}" + (f" ({'; '.join(beside)})" if beside else "")


def wanted(report: Told, name: str) -> str:
    """The threshold, turned round for a negative control, and beside it what the noise floor gave."""
    gate = report["gates"][name]
    told = f"not {gate['threshold']}" if gate["expected"] == "fail" else str(gate["threshold"])
    unit = " s" if gate_unit(report, name) == "s" else ""
    if told[-1] in "0123456789]":
        told += unit
    return told if gate["noise_floor"] is None else f"{told} (A/A {number(gate['noise_floor'])}{unit})"


def gate_unit(report: Told, name: str) -> str:
    """The unit of what a gate reads; a share has none, nor has a count."""
    if report["asked"]["gates"][name]["count"]:
        return ""
    figure = report["gates"][name]["figure"]
    unit = next((arm["figures"][figure]["unit"] for arm in report["arms"].values() if figure in arm["figures"]), "")
    return "" if unit == "share" else unit


def deciding_bounds(report: Told, name: str) -> tuple[float, ...]:
    """The one-sided bounds that a gate with a margin goes by: that of a loss, of `equivalent` both; else none."""
    asked, gate = report["asked"]["gates"][name], report["gates"][name]
    if asked["margin"] is None or gate["value"] is None:
        return ()
    delta = report["comparisons"][gate["comparison"]][gate["figure"]]
    low, high = delta["bound_low"], delta["bound_high"]
    if low is None or high is None:
        return ()
    if gate["threshold"].startswith("equivalent"):
        return low, high
    return (low,) if delta["higher_is_better"] else (high,)
