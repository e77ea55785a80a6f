"""The plan of a run, printed instead of carried out."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from evalflow.metric.protocol import figure_names
from evalflow.report.console import printable
from evalflow.runner.plan import Plan


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
        lines.append(f"    {', '.join(f'{key} {value}' for key, value in planned.model.identity().items())}")
    figures = [figure for key, metric in plan.metrics.items() for figure in figure_names(key, metric)]
    lines.append(f"  figures: {', '.join(figures)}")
    for name, comparison in plan.comparisons.items():
        lines.append(f"  comparison {name}: {comparison.candidate} against {comparison.reference}")
    for name, gate in plan.gates.items():
        whose = gate.comparison or gate.arm or "every arm"
        lines.append(f"  gate {name}: {gate.figure} of {whose} {gate.threshold}")
    lines += [f"  note: {note}" for note in plan.notes]
    for line in lines:
        console.print(Text(printable(line)))
