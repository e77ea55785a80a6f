"""What every telling of a run on a terminal has: its heading, its verdict, numbers, and texts that only print."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

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


def print_verdict(report: Mapping[str, Any], console: Console, exit_code: int | None = None) -> None:
    """The last line of a report. `exit_code` is what the process answers, where that is not the report's own."""
    console.print(verdict_line(printable(report), exit_code))


def verdict_line(report: Mapping[str, Any], exit_code: int | None = None) -> Text:
    """The verdict in a word, the exit code, and what made the run incomplete."""
    verdict = Text("Verdict: ").append(report["verdict"], style=STYLE[report["verdict"]])
    verdict.append(f" (exit code {report['exit_code'] if exit_code is None else exit_code})")
    return verdict.append("".join(f"; {reason}" for reason in report["reasons"]))


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
