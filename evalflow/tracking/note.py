"""The report run's description: verdict, gates, comparisons and figures as Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalflow.tracking.key import safe_text

NOTE_TAG = "mlflow.note.content"
"""Where MLflow keeps a run's description."""
# MLflow cuts a tag at 8,000 characters without a word, and links between pages come to it
LONGEST_NOTE = 7000
LONGEST_CELL = 400
NAMED = 3
# MLflow sets the columns of a table without a space between them
GAP = "&nbsp; | "
# these read better as a bare number
PLAIN_UNITS = ("", "share")
ENDS = {"value": "", "lower": " (low end)", "upper": " (high end)", "both": " (an end)"}


def note(report: Mapping[str, Any]) -> str:
    """Markdown of at most `LONGEST_NOTE` characters; what does not fit is said and is in report.json."""
    gates, comparisons, arms = report["gates"], report["comparisons"], report["arms"]
    lines = [
        # MLflow folds the description to about four lines: the first says it all, the gates follow at once
        f"**Verdict: {escape(report['verdict'])}** (exit code {report['exit_code']}){_misses(gates)}",
        *(["", *(f"- {escape(reason)}" for reason in report["reasons"])] if report["reasons"] else []),
        "",
        *_gate_table(gates),
        *section("Rows that decided, worst first", _deciding_rows(gates)),
        *section("Comparisons", _comparison_table(comparisons)),
        *section("Figures", _figure_table(arms)),
        *section("Notes", [f"- {escape(told)}" for told in report["notes"]]),
        *section("What this does not show", [f"- {escape(limit)}" for limit in report["limits"]]),
    ]
    return "\n".join(fitted(lines, "report.json"))


def escape(value: object) -> str:
    """One line of plain text inside Markdown: no HTML, no cell border, no link or image comes to life."""
    text = " ".join(safe_text(str(value)).split())
    if len(text) > LONGEST_CELL:
        text = text[:LONGEST_CELL] + "…"
    return re.sub(
        r"[|`*~\[\]!\\#]|(?<!\w)_|_(?!\w)", lambda found: f"&#{ord(found[0])};", html.escape(text, quote=False)
    )


def number(value: float | None) -> str:
    """Four significant digits, whole above 10,000, or a dash where there is no value."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _misses(gates: Mapping[str, Mapping[str, Any]]) -> str:
    """The gates behind a verdict that is no pass; those that only report have no part in it."""
    missed = [
        f"{escape(name)} {escape(gate['outcome'])}"
        for name, gate in gates.items()
        if _missed(gate) and not gate["report_only"]
    ]
    more = f" and {len(missed) - NAMED} more" if len(missed) > NAMED else ""
    return f": {', '.join(missed[:NAMED])}{more}" if missed else ""


def section(title: str, lines: Sequence[str]) -> list[str]:
    """Lines under a title of their own; nothing where there are none."""
    return ["", f"**{title}**", "", *lines] if lines else []


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table of escaped cells; nothing where there are no rows."""
    lines = [f"| {GAP.join(row)} |" for row in rows]
    return [f"| {GAP.join(head)} |", "|" + " --- |" * len(head), *lines] if lines else []


def _gate_table(gates: Mapping[str, Mapping[str, Any]]) -> list[str]:
    missed_first = sorted(gates.items(), key=lambda named: not _missed(named[1]))
    rows = (
        [
            escape(name),
            _outcome(gate),
            escape(gate["figure"]),
            escape(gate.get("arm") or gate.get("comparison") or "every arm"),
            number(gate["value"]) + ENDS[gate["bound"]],
            ("not " if gate["expected"] == "fail" else "") + escape(gate["threshold"]) + _floor(gate),
            "–" if gate["denominator"] is None else str(gate["denominator"]),
            _why(gate),
        ]
        for name, gate in missed_first
    )
    return table(["gate", "outcome", "figure", "of", "value", "wanted", "n", "reason"], rows)


def _floor(gate: Mapping[str, Any]) -> str:
    """The figure of an A/A arm, which tells what of a difference is noise."""
    return "" if gate.get("noise_floor") is None else f" (A/A {number(gate['noise_floor'])})"


def _outcome(gate: Mapping[str, Any]) -> str:
    """What was decided, in bold where it is a miss; a gate's outcome already has its expectation in it."""
    outcome = escape(gate["outcome"])
    text = f"**{outcome}**" if _missed(gate) else outcome
    return text + (" (report only)" if gate["report_only"] else "")


def _missed(gate: Mapping[str, Any]) -> bool:
    return gate["outcome"] in ("fail", "unreadable")


def _why(gate: Mapping[str, Any]) -> str:
    parts = [escape(gate["reason"])] if gate.get("reason") else []
    if gate.get("on_fail"):
        parts.append(f"→ {escape(gate['on_fail'])}")
    return "; ".join(parts)


def _deciding_rows(gates: Mapping[str, Mapping[str, Any]]) -> list[str]:
    lines = []
    for name, gate in gates.items():
        if gate["rows"]:
            more = gate["n_rows"] - NAMED
            named = ", ".join(escape(row) for row in gate["rows"][:NAMED])
            lines.append(f"- {escape(name)}: {named}" + (f" and {more} more" if more > 0 else ""))
    return lines


def _comparison_table(comparisons: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    rows = (
        [
            escape(name),
            escape(figure),
            f"{number(delta['delta'])} {interval(delta)}".strip(),
            number(delta.get("p_adjusted")),
            str(delta.get("n_pairs", "–")),
            escape(delta.get("words") or delta.get("reason") or ""),
        ]
        for name, figures in comparisons.items()
        for figure, delta in figures.items()
    )
    return table(["comparison", "figure", "delta", "p adjusted", "pairs", "in words"], rows)


def _figure_table(arms: Mapping[str, Mapping[str, Any]]) -> list[str]:
    figures = list(dict.fromkeys(name for arm in arms.values() for name in arm["figures"]))
    rows = ([escape(figure), *(figure_cell(arm["figures"].get(figure)) for arm in arms.values())] for figure in figures)
    return table(["figure", *(escape(name) for name in arms)], rows)


def figure_cell(figure: Mapping[str, Any] | None) -> str:
    """A figure's value with its unit, interval and count, or why it has none; a dash where there is no figure."""
    if figure is None:
        return "–"
    if figure["value"] is None:
        return f"undefined: {escape(figure['reason'])}"
    unit = "" if figure["unit"] in PLAIN_UNITS else escape(figure["unit"])
    parts = [number(figure["value"]), unit, interval(figure), f"n={figure['n_scored']}", _over_sessions(figure)]
    return " ".join(part for part in parts if part)


def _over_sessions(of: Mapping[str, Any]) -> str:
    sessions = of.get("n_sessions") or 1
    return f"over {sessions} sessions" if sessions > 1 else ""


def interval(of: Mapping[str, Any]) -> str:
    """The ends of an interval in brackets, or nothing."""
    if of.get("low") is None or of.get("high") is None:
        return ""
    return f"({number(of['low'])} to {number(of['high'])})"


def fitted(lines: Sequence[str], whole: str, longest: int = LONGEST_NOTE) -> list[str]:
    """The lines that fit in `longest` characters; the last one says how many do not, and that `whole` has them."""
    if sum(len(line) + 1 for line in lines) <= longest:
        return list(lines)
    kept: list[str] = []
    used = len(_left_out(len(lines), whole)) + 2
    for line in lines:
        used += len(line) + 1
        if used > longest:
            break
        kept.append(line)
    return [*kept, "", _left_out(len(lines) - len(kept), whole)]


def _left_out(count: int, whole: str) -> str:
    return f"… {count} more lines: see {whole}"
