"""The whole report in tables. Colour only on a terminal; plain text when piped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evalflow.report.seat_lines import seat_lines

STYLE = {"pass": "green", "fail": "bold red", "unreadable": "yellow", "skipped": "dim", "incomplete": "bold red"}
# control characters drive a terminal, direction marks reorder a line, and a lone surrogate cannot be printed at all
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(value: Any) -> Any:
    """The text, or every text inside a mapping or list, in characters that only print; a line break is a space."""
    if isinstance(value, str):
        return _UNPRINTABLE.sub(lambda c: " " if c[0] in "\t\n\r" else ascii(c[0])[1:-1], value)
    if isinstance(value, Mapping):
        return {printable(key): printable(part) for key, part in value.items()}
    return [printable(part) for part in value] if isinstance(value, list | tuple) else value


def heading(report: Mapping[str, Any]) -> Text:
    """What ran: the experiment, its items, and the run."""
    part = f" ({report['part']})" if report["part"] else ""
    dataset = f"{report['dataset']['n']} items of {report['dataset']['name']}{part}"
    return Text(f"{report['experiment']} · {dataset} · run {report['run_id']}", style="bold")


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


def print_verdict(report: Mapping[str, Any], console: Console, exit_code: int | None = None) -> None:
    """The last line of a report. `exit_code` is what the process answers, where that is not the report's own."""
    console.print(verdict_line(printable(report), exit_code))


def verdict_line(report: Mapping[str, Any], exit_code: int | None = None) -> Text:
    """The verdict in a word, the exit code, and what made the run incomplete."""
    verdict = Text("Verdict: ").append(report["verdict"], style=STYLE[report["verdict"]])
    verdict.append(f" (exit code {report['exit_code'] if exit_code is None else exit_code})")
    return verdict.append("".join(f"; {reason}" for reason in report["reasons"]))


def _block(console: Console, title: str | None, lines: Sequence[str]) -> None:
    """A titled list with a blank line after it; nothing where there are no lines."""
    if not lines:
        return
    if title:
        console.print(Text(title, style="bold"))
    for line in lines:
        console.print(Text(f"  {line}"))
    console.print()


def troubles(report: Mapping[str, Any]) -> list[str]:
    """What went wrong in each arm, in the model's own words."""
    lines = []
    for name, arm in report["arms"].items():
        if arm["unavailable"]:
            lines.append(f"arm {name} is unavailable: {arm['unavailable']}")
        for error in arm["errors"]:
            rows = "1 error row" if error["count"] == 1 else f"{error['count']} error rows"
            lines.append(f"arm {name}, {rows}: {error['kind']}: {error['message']}")
    return lines


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
    for heading in ("gate", "outcome", "figure", "of", "value", "wanted", "n", "reason"):
        justify: Literal["right", "left"] = "right" if heading in ("value", "n") else "left"
        table.add_column(heading, justify=justify, overflow="fold")
    for name, gate in report["gates"].items():
        outcome = f"{gate['outcome']} (report only)" if gate["report_only"] else gate["outcome"]
        n = "-" if gate["denominator"] is None else str(gate["denominator"])
        whose = gate["comparison"] or gate["arm"] or "every arm"
        texts = [Text(cell) for cell in (name, gate["figure"], whose, held(gate), wanted(gate), n)]
        style = "" if gate["report_only"] else STYLE[gate["outcome"]]
        table.add_row(texts[0], Text(outcome, style=style), *texts[1:], Text(gate["reason"] or ""))
    return table


def wanted(gate: Mapping[str, Any]) -> str:
    """The threshold, turned round for a negative control, and beside it what the noise floor gave."""
    told = f"not {gate['threshold']}" if gate["expected"] == "fail" else str(gate["threshold"])
    return told if gate["noise_floor"] is None else f"{told} (A/A {number(gate['noise_floor'])})"


def held(gate: Mapping[str, Any]) -> str:
    """The number that was held against the threshold, and which end of its interval it is."""
    if gate["value"] is None:
        return "-"
    return (
        number(gate["value"])
        + {"value": "", "lower": " (low end)", "upper": " (high end)", "both": " (an end)"}[gate["bound"]]
    )


def _failed(name: str, gate: Mapping[str, Any]) -> str:
    rows = ", ".join(gate["rows"][:5]) + (f" and {gate['n_rows'] - 5} more" if gate["n_rows"] > 5 else "")
    parts = [f"{name} failed", f"decided by {rows}" if rows else "", gate["on_fail"] or ""]
    return "; ".join(part for part in parts if part)


def shown(figure: Mapping[str, Any] | None) -> str:
    """A figure with its interval and count, times in ms; an undefined one says why."""
    if figure is None:
        return ""
    if figure["value"] is None:
        # an arm's own trouble is told once, not in every cell, and a reference is held against nothing
        told = figure["reason"].startswith(("arm unavailable", "the arm has no reference"))
        return "-" if told else f"undefined: {figure['reason']}"
    scale, suffix = (1000, " ms") if figure["unit"] == "s" else (1, "")
    text = number(scale * figure["value"]) + suffix
    if figure["low"] is not None:
        text += f" [{number(scale * figure['low'])}, {number(scale * figure['high'])}]"
    missing, sessions = figure["n_total"] - figure["n_scored"], figure["n_sessions"] or 1
    marks = [f"{missing} missing"] * (missing > 0) + [f"{sessions} sessions"] * (sessions > 1)
    return f"{text} n={figure['n_scored']}" + (f" ({', '.join(marks)})" if marks else "")


def number(value: float) -> str:
    """Whole numbers and those from 100 in whole, smaller ones to three decimals, very small ones to three digits."""
    if value == int(value) or abs(value) >= 100:
        return f"{value + 0.0:,.0f}"  # a negative zero is a zero
    return f"{value:.3f}" if abs(value) >= 0.01 else f"{value:.3g}"
