"""The description of an arm's run: what it is a pass of, and its figures with the intervals that metrics lack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalflow.tracking.note import escape, figure_cell, fitted, table


def arm_note(
    report: Mapping[str, Any], arm: str, seed: int, figures: Mapping[str, Mapping[str, Any]], swept: Mapping[str, Any]
) -> str:
    """Markdown of at most `LONGEST_NOTE` characters. `figures` are those of the pass; `swept` is what a sweep set."""
    has = report["arms"][arm]
    control = " (a control: it is there to fail)" if has["conditions"].get("control") else ""
    settings = ", ".join(f"{escape(key)} = {escape(value)}" for key, value in swept.items())
    run = f"run {escape(report['run_id'])}{f' (the sweep set {settings})' if settings else ''}"
    lines = [
        # a sweep may set the root seed too, so that both are named
        f"**Arm {escape(arm)}, seed {seed}**{control} of {run}, whose verdict is **{escape(report['verdict'])}**",
        "",
        *([f"- could not run: {escape(has['unavailable'])}", ""] if has["unavailable"] else []),
        *table(["figure", "value"], ([escape(name), figure_cell(of)] for name, of in figures.items())),
    ]
    return "\n".join(fitted(lines, "report.json"))
