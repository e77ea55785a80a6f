"""The plan of a run, printed instead of carried out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from evalflow.gate import Gate
from evalflow.metric.protocol import figure_names
from evalflow.report.console import printable
from evalflow.report.held_number import END_OF
from evalflow.runner.plan import Plan

DIGEST = 64
"""Digits of a SHA-256, of which twelve tell two apart."""


def print_plan(plan: Plan, console: Console) -> None:
    """Arms, seeds and items, requests, figures and gates. Nothing is started."""
    part = f" ({plan.selection.part})" if plan.selection.part else ""
    lines = [f"{plan.name}: {len(plan.items)} items of {plan.dataset_name}{part}, {plan.n_requests} requests"]
    for name, planned in plan.arms.items():
        arm, decoding = planned.arm, planned.decoding
        drawn = "greedy" if decoding.greedy else f"temperature {decoding.temperature:g}"
        requests = len(arm.seeds) * len(plan.items)
        seeds = f"seeds {', '.join(map(str, arm.seeds))}"
        lines.append(f"  arm {name}: {drawn}, {seeds}, concurrency {arm.concurrency}, {arm.cache}, {requests} requests")
        lines.append(f"    {_identity(planned.model.identity())}")
    figures = [figure for key, metric in plan.metrics.items() for figure in figure_names(key, metric)]
    lines.append(f"  figures: {', '.join(figures)}")
    for name, comparison in plan.comparisons.items():
        lines.append(f"  comparison {name}: {comparison.candidate} against {comparison.reference}")
    for name, gate in plan.gates.items():
        lines.append(f"  gate {name}: {_gate(gate)}")
    lines += [f"  note: {note}" for note in plan.notes]
    for line in lines:
        console.print(Text(printable(line)))


def _identity(identity: Mapping[str, Any]) -> str:
    """What tells a model from another, digests shortened; its recipe is in the report."""
    plain = {key: str(value) for key, value in identity.items() if isinstance(value, str | int | float)}
    return ", ".join(f"{key} {value[:12] if len(value) == DIGEST else value}" for key, value in plain.items())


def _gate(gate: Gate) -> str:
    """A gate as a reader would say it."""
    whose = gate.comparison or gate.arm or "every arm"
    where = f" where {', '.join(f'{key} is {value}' for key, value in gate.where.items())}" if gate.where else ""
    said = (
        f"{END_OF[gate.bound]}{gate.figure} of {whose}{where} {'not ' if gate.expect == 'fail' else ''}{gate.threshold}"
    )
    return f"{said} (report only)" if gate.report_only else said
