"""Gates in lines: what failed or cannot be read in full, what passed by its name or, where there is room, in a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from evalflow.report.aligned import GAP, hanging, padded, widest
from evalflow.report.console import STYLE
from evalflow.report.held_number import held, reads, wanted

Told = Mapping[str, Any]
AMISS = ("fail", "unreadable")
MOST_ROWS = 5


def amiss_names(gates: Told) -> list[str]:
    """The gates that failed and those that cannot be read: failures first, and last what has no say."""
    amiss = [name for name, gate in gates.items() if gate["outcome"] in AMISS]
    return sorted(amiss, key=lambda name: (gates[name]["report_only"], AMISS.index(gates[name]["outcome"])))


def amiss_lines(report: Told, width: int, terse: bool = False) -> list[list[Text]]:
    """Each of them in full: what is so, why, which rows, what to do.

    `terse`, that the run is a part is told of the first of the gates that are unreadable for it, and of no other.
    """
    told, said = [], False
    for name in amiss_names(report["gates"]):
        gate = report["gates"][name]
        line = Text().append(f"{_outcome(gate)}{GAP}", style="" if gate["report_only"] else STYLE[gate["outcome"]])
        is_part = terse and gate["reason"] is not None and gate["reason"] == report["part"]
        sentence = _amiss(report, name, with_reason=not (is_part and said))
        told.append(hanging(line.append(f"{name}: ", style="bold").append(sentence), width, 2 * len(GAP)))
        said = said or is_part
    return told


def _outcome(gate: Told) -> str:
    return f"{gate['outcome']} (report only)" if gate["report_only"] else str(gate["outcome"])


def _amiss(report: Told, name: str, with_reason: bool) -> str:
    """One gate that did not pass, in a sentence."""
    gate = report["gates"][name]
    whose = f"{reads(gate)} of {gate['comparison'] or gate['arm'] or 'every arm'}"
    value = "" if gate["value"] is None else f" is {held(report, name)}"
    n = "" if gate["denominator"] is None else f", n={gate['denominator']:,}"
    rows = ", ".join(gate["rows"][:MOST_ROWS])
    rows += f" and {gate['n_rows'] - MOST_ROWS} more" if gate["n_rows"] > MOST_ROWS else ""
    decided = f"decided by {rows}" if rows else ""
    parts = (
        f"{whose}{value}, wanted {wanted(report, name)}{n}",
        gate["reason"] if with_reason else "",
        decided,
        gate["on_fail"],
    )
    return "; ".join(part for part in parts if part)


def passed_names(gates: Told, width: int) -> list[Text]:
    """The others by name, with what lets one pass that otherwise would not: a line for each outcome."""
    lines = []
    for outcome in ("pass", "skipped"):
        names = [_named(name, gate) for name, gate in gates.items() if gate["outcome"] == outcome]
        if names:
            head = Text(f"{len(names)} {'passed' if outcome == 'pass' else outcome}", style=STYLE[outcome])
            lines += hanging(Text().append_text(head).append(f": {', '.join(names)}"), width, len(GAP))
    return lines


def _named(name: str, gate: Told) -> str:
    marks = ["report only"] * gate["report_only"]
    if gate["reason"] and gate["expected"] != "fail":
        marks.append(gate["reason"])
    return f"{name} ({', '.join(marks)})" if marks else name


def passed_table(report: Told, width: int) -> list[Text] | None:
    """The others in a line each; None where one does not fit."""
    rows = [_cells(report, name) for name, gate in report["gates"].items() if gate["outcome"] not in AMISS]
    widths = [widest(column) for column in zip(*rows, strict=True)]
    if sum(widths) + len(GAP) * max(0, len(widths) - 1) > width:
        return None
    lines = []
    for outcome, *cells in rows:
        line = Text(padded(outcome, widths[0]), style=STYLE[outcome.split(" ")[0]])
        texts = [padded(*one, right=place in (2, 4)) for place, one in enumerate(zip(cells, widths[1:], strict=True))]
        lines.append(Text().append_text(line).append(GAP).append(GAP.join(texts).rstrip()))
    return lines


def _cells(report: Told, name: str) -> Sequence[str]:
    gate = report["gates"][name]
    whose = gate["comparison"] or gate["arm"] or "every arm"
    n = "" if gate["denominator"] is None else f"n={gate['denominator']:,}"
    return (
        _outcome(gate),
        name,
        f"{reads(gate)} of {whose}",
        held(report, name),
        wanted(report, name),
        n,
        gate["reason"] or "",
    )
