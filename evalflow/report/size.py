"""What a pilot says of the next run's size, in one document of plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from evalflow.errors import ExitCode
from evalflow.numeric.paired_test import NAMES
from evalflow.record import SCHEMA_VERSION
from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.gate_size import GateSize
from evalflow.runner.pilot import Pilot
from evalflow.runner.pilot_cost import ArmCost, cost_of
from evalflow.runner.size import CONFIDENCE, FigureSize, SeedChoice, Size, Target

Document = dict[str, Any]


def size_document(
    run: ComparedRun, figures: Sequence[FigureSize], gates: Sequence[GateSize], costs: Mapping[str, ArmCost]
) -> Document:
    """The sizes of a pilot's comparisons and gates, with what a row of each arm cost; undefined is None with a reason.

    `exit_code` is 2 where none of them has a size.
    """
    plan = run.plan
    sized = any(size.asked for one in figures for size in one.sizes) or any(gate.asked for gate in gates)
    document = {
        "schema_version": SCHEMA_VERSION,
        "run_id": run.run_id,
        "experiment": plan.name,
        "folder": str(run.stored.folder),
        "dataset": plan.dataset_name,
        "n_items": len(plan.items),
        "part": plan.selection.part,
        "instrument": run.instrument["environment"],
        "figures": [_figure(run, one) for one in figures],
        "gates": [_gate(one, costs[one.arm]) for one in gates],
        "arms": [asdict(cost) for cost in costs.values()],
        "notes": _notes(run, figures),
        "exit_code": int(ExitCode.PASS if sized else ExitCode.UNREADABLE),
    }
    plain: Document = json.loads(json.dumps(document, allow_nan=False))
    return plain


def _figure(run: ComparedRun, one: FigureSize) -> Document:
    comparison = run.plan.comparisons[one.comparison]
    key, _ = run.plan.owner(one.figure)
    return {
        "comparison": one.comparison,
        "figure": one.figure,
        "unit": run.plan.metrics[key].measured_in,
        "reference": comparison.reference,
        "candidate": comparison.candidate,
        "test": NAMES[comparison.test],
        "alpha": one.alpha,
        "power": one.power,
        "shows": one.shows,
        "reason": one.reason,
        "pilot": None if one.pilot is None else _pilot(one.pilot, one.sd_upper),
        "sizes": [_size(run, size) for size in one.sizes],
        "seeds": None if one.pilot is None else _seeds(run, one.pilot, one.seeds),
    }


def _pilot(pilot: Pilot, sd_upper: float | None) -> Document:
    told = ("delta", "low", "high", "reference_value", "candidate_value", "mde", "unpaired")
    return {
        "n_pairs": pilot.n_pairs,
        "n_clusters": pilot.n_clusters,
        "design_effect": pilot.design_effect,
        "sd": pilot.sd,
        "sd_upper": sd_upper,
        "sd_upper_confidence": CONFIDENCE,
        **{key: pilot.told[key] for key in told},
    }


def _size(run: ComparedRun, size: Size) -> Document:
    numbers = {key: getattr(size, key) for key in ("clusters", "items", "by_t", "asked", "asked_upper", "reason")}
    return {**_target(size.target), **numbers, **_beyond(run, size.asked), "cost": size.cost and asdict(size.cost)}


def _seeds(run: ComparedRun, pilot: Pilot, choices: Sequence[SeedChoice]) -> Document:
    parts = pilot.split.parts
    told = [
        {
            **{key: getattr(one, key) for key in ("seeds", "sd", "shows", "asked", "cheapest")},
            **_beyond(run, one.asked),
            "cost": asdict(one.cost),
        }
        for one in choices
    ]
    return {
        "arms": list(pilot.split.arms),
        "between": parts and parts.between,
        "within": parts and parts.within,
        "reason": pilot.split.reason,
        "target": _target(choices[0].target) if choices else None,
        "choices": told,
    }


def _target(target: Target) -> Document:
    return {"kind": target.kind, "value": target.value, "why": target.why}


def _beyond(run: ComparedRun, asked: int | None) -> Document:
    """Whether more items are asked for than the dataset has; not known of a part."""
    whole = run.plan.selection.part is None
    return {"beyond_dataset": asked > len(run.plan.items) if whole and asked is not None else None}


def _gate(one: GateSize, cost: ArmCost) -> Document:
    rows = None if one.asked is None else {one.arm: one.asked * len(cost.seeds)}
    return {**asdict(one), "cost": None if rows is None else asdict(cost_of({one.arm: cost}, rows))}


def _notes(run: ComparedRun, figures: Sequence[FigureSize]) -> list[str]:
    """What a reader must know of all of them."""
    told = []
    n, part = len(run.plan.items), run.plan.selection.part
    if part is not None:
        told.append(
            f"the pilot is a part of the dataset ({part}): what holds for its {n} items is taken to hold for others"
        )
    tested = [one for deltas in run.report["comparisons"].values() for one in deltas.values() if one["p"] is not None]
    if len(tested) > 1 and figures:
        strict = min(one.alpha for one in figures) / len(tested)
        told.append(
            f"the run corrects {len(tested)} tests by Holm, which may ask the smallest p for {strict:.3g}: "
            f"--alpha {strict:.3g} plans for that"
        )
    return told
