"""Gates as the page shows them: what was wanted, what was found, and what decided."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from evalflow.report.held_number import END, deciding_bounds, gate_unit
from evalflow.report.html.conditions import in_words
from evalflow.report.html.shown_number import MINUS, number, scale, signed, writer

MARKS = {"pass": "✓", "fail": "✗", "unreadable": "?", "skipped": "–", "incomplete": "…"}
"""Beside the word of an outcome or a verdict, for who looks before reading."""
_SEED = re.compile(r" \(seed -?\d+\)$")


@dataclass(frozen=True)
class GateLine:
    """One gate in words. `rows` are what decided it, the worst first; `decided_by` says how many of what there are.

    `bounds` are what a gate with a margin goes by, beside the two-sided `interval`.
    """

    name: str
    outcome: str
    mark: str
    report_only: bool
    figure: str
    whose: str
    where: str
    value: str
    end: str
    interval: str
    bounds: str
    unit: str
    wanted: str
    n: str
    noise_floor: str
    reason: str
    on_fail: str
    rows: tuple[str, ...]
    n_rows: int
    decided_by: str

    @property
    def missed(self) -> bool:
        """Whether it has a part in a verdict that is no pass."""
        return self.outcome in ("fail", "unreadable") and not self.report_only


def gate_lines(report: Mapping[str, Any], ids: Collection[str], private: bool) -> list[GateLine]:
    """Every gate, in the report's order. Private, what decided is named by id alone: a position has text around it."""
    return [_line(report, name, gate, ids, private) for name, gate in report["gates"].items()]


def _line(
    report: Mapping[str, Any], name: str, gate: Mapping[str, Any], ids: Collection[str], private: bool
) -> GateLine:
    asked, known = report["asked"]["gates"][name], gate["value"] is not None
    ends = () if asked["where"] or asked["count"] else _ends(gate, _figure_of(report, gate))
    bounds, unit = deciding_bounds(report, name), gate_unit(report, name)
    by, shown_unit = scale(unit, [gate["value"], *ends, *bounds])
    numbers = [None if one is None else by * one for one in (gate["value"], *ends, *bounds)]
    plain = writer(numbers, [by * (ends[1] - ends[0])] if ends else [])

    def write(value: float) -> str:
        return signed(by * value, plain) if gate["comparison"] is not None else plain(by * value)

    threshold = gate["threshold"].replace(">=", "≥").replace("<=", "≤").replace("-", MINUS)
    if by != 1 and threshold[-1] in "0123456789]":
        threshold += f" {unit}"  # as it was asked for, beside a number in another unit
    rows = [row for row in gate["rows"] if not private or row in ids or _SEED.sub("", row) in ids]
    return GateLine(
        name=name,
        outcome=gate["outcome"],
        mark=MARKS[gate["outcome"]],
        report_only=gate["report_only"],
        figure=gate["figure"],
        whose=gate["comparison"] or gate["arm"] or "every arm",
        where=", ".join(f"{key} = {in_words(value)}" for key, value in asked["where"].items()),
        value=write(gate["value"]) if known else "",
        end=END[gate["bound"]],
        interval=f"[{', '.join(write(end) for end in ends)}]" if ends else "",
        bounds=", ".join(write(bound) for bound in bounds),
        unit=shown_unit,
        wanted=f"not {threshold}" if gate["expected"] == "fail" else threshold,
        n="" if gate["denominator"] is None else f"{gate['denominator']:,}",
        noise_floor="" if gate["noise_floor"] is None else number(by * gate["noise_floor"]),
        reason=gate["reason"] or "",
        on_fail=gate["on_fail"] or "",
        rows=tuple(rows),
        n_rows=gate["n_rows"],
        decided_by=_decided_by(report, gate),
    )


def _decided_by(report: Mapping[str, Any], gate: Mapping[str, Any]) -> str:
    """`3 rows`; of a comparison items, of a figure over texts positions."""
    metrics = report["asked"]["metrics"].values()
    grains = {metric["grain"] for metric in metrics if gate["figure"].startswith(metric["figure"])}
    over_texts = grains <= {"document", "position"} and grains
    what = "item" if gate["comparison"] else "position" if over_texts else "row"
    return f"{gate['n_rows']:,} {what}{'' if gate['n_rows'] == 1 else 's'}"


def _figure_of(report: Mapping[str, Any], gate: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The figure or difference that was held, as the report has it over all rows."""
    if gate["comparison"] is not None:
        found: Mapping[str, Any] = report["comparisons"][gate["comparison"]][gate["figure"]]
        return found
    arm = report["arms"].get(gate["arm"] or "", {"figures": {}})
    figure: Mapping[str, Any] | None = arm["figures"].get(gate["figure"])
    return figure


def _ends(gate: Mapping[str, Any], figure: Mapping[str, Any] | None) -> tuple[float, ...]:
    """The interval's ends, where what the gate held is this figure."""
    if figure is None or figure["low"] is None or figure["high"] is None or gate["value"] is None:
        return ()
    value = figure["delta"] if gate["comparison"] is not None else figure["value"]
    low, high = figure["low"], figure["high"]
    held = {"value": (value,), "lower": (low,), "upper": (high,), "both": (low, high)}[gate["bound"]]
    return (low, high) if gate["value"] in held else ()
