"""The whole report in tables. Colour only on a terminal; plain text when piped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evalflow.report.console import STYLE, heading, printable, shown, troubles
from evalflow.report.held_number import held, reads, wanted
from evalflow.report.seat_lines import seat_lines


def print_report(report: Mapping[str, Any], console: Console) -> None:
    """All of it: arms side by side, comparisons in words, gates, and what is not shown. The verdict comes after it."""
    report = printable(report)
    console.print(heading(report))
    console.print(_arms(report))
    _block(console, None, [*troubles(report), *(f"note: {note}" for note in report["notes"])])
    _block(console, "Arms", seat_lines(report))
    words = [f"{name}: {d['words']}" for name, figures in report["comparisons"].items() for d in figures.values()]
    _block(console, "Comparisons", words)
    console.print(_gates(report))
    failed = [_failed(name, gate) for name, gate in report["gates"].items() if gate["outcome"] == "fail"]
    _block(console, None, failed)
    _block(console, "This experiment does not show", report["limits"])


def _block(console: Console, title: str | None, lines: Sequence[str]) -> None:
    """A titled list with a blank line after it; nothing where there are no lines."""
    if not lines:
        return
    if title:
        console.print(Text(title, style="bold"))
    for line in lines:
        console.print(Text(f"  {line}"))
    console.print()


def _arms(report: Mapping[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    table.add_column("figure", overflow="fold")
    arms = report["arms"]
    for name, arm in arms.items():
        title = f"{name} (control)" if arm["conditions"]["control"] else name
        table.add_column(Text(title), justify="right", overflow="fold")
    names = dict.fromkeys(figure for arm in arms.values() for figure in arm["figures"])
    for figure in sorted(names, key=lambda name: (not name.startswith("quality/"), name.split("/")[0] == "n")):
        table.add_row(Text(figure), *(Text(shown(arm["figures"].get(figure))) for arm in arms.values()))
        for kind in dict.fromkeys(k for arm in arms.values() for k in arm["breakdown"]):
            if figure.startswith("quality/"):
                cells = [arm["breakdown"].get(kind, {}).get(figure) for arm in arms.values()]
                table.add_row(Text(f"  {kind.removeprefix('kind=')}"), *(Text(shown(cell)) for cell in cells))
    return table


def _gates(report: Mapping[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("gate", "outcome", "figure", "of", "value", "wanted", "n", "reason"):
        justify: Literal["right", "left"] = "right" if head in ("value", "n") else "left"
        table.add_column(head, justify=justify, overflow="fold")
    for name, gate in report["gates"].items():
        outcome = f"{gate['outcome']} (report only)" if gate["report_only"] else gate["outcome"]
        n = "-" if gate["denominator"] is None else str(gate["denominator"])
        whose = gate["comparison"] or gate["arm"] or "every arm"
        texts = [Text(cell) for cell in (name, reads(gate), whose, held(report, name), wanted(report, name), n)]
        style = "" if gate["report_only"] else STYLE[gate["outcome"]]
        table.add_row(texts[0], Text(outcome, style=style), *texts[1:], Text(gate["reason"] or ""))
    return table


def _failed(name: str, gate: Mapping[str, Any]) -> str:
    rows = ", ".join(gate["rows"][:5]) + (f" and {gate['n_rows'] - 5} more" if gate["n_rows"] > 5 else "")
    parts = [f"{name} failed", f"decided by {rows}" if rows else "", gate["on_fail"] or ""]
    return "; ".join(part for part in parts if part)
