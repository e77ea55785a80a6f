"""How many items a gate on an end of a rate's interval takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evalflow.gate import Gate
from evalflow.metric.protocol import Clusters, Stack
from evalflow.metric.rate import Rate
from evalflow.numeric.cluster import interval_se
from evalflow.numeric.moments import mean
from evalflow.numeric.rate_power import items_to_clear
from evalflow.numeric.undefined import Undefined
from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.figures import LEVEL
from evalflow.runner.score import blamed
from evalflow.runner.units import PER_ROW, averaged, row_units


@dataclass(frozen=True)
class GateSize:
    """The items at which one arm's rate clears a gate with chance `power`, were the pilot's `rate` the true one.

    `n` and `asked` are items of the gate's `where`; as large a share as in the pilot may give no score. None, with a
    reason, where no number of items is the answer.
    """

    gate: str
    figure: str
    arm: str
    threshold: str
    power: float
    n: int
    rate: float | None
    design_effect: float | None
    asked: int | None
    reason: str | None = None


def gate_sizes(run: ComparedRun, power: float) -> list[GateSize]:
    """Each gate on the low end of a rate over a floor, or its high end under a ceiling, per arm that it is held to."""
    found = []
    for name, gate in run.plan.gates.items():
        if gate.comparison is None and _is_of_an_end(run, gate):
            controls = {key for key, arm in run.plan.arms.items() if arm.arm.control}
            arms = [gate.arm] if gate.arm else [arm for arm in run.plan.arms if arm not in controls]
            found += [_sized(run, name, gate, arm, power) for arm in arms]
    return found


def _is_of_an_end(run: ComparedRun, gate: Gate) -> bool:
    """Whether more items can make a gate pass that its rate is on the right side of."""
    key, _ = run.plan.owner(gate.figure)
    metric = run.plan.metrics[key]
    end = {"lower": gate.floor, "upper": gate.ceiling}.get(gate.bound)
    return end is not None and gate.expect == "pass" and isinstance(metric, Rate) and metric.grain in PER_ROW


def _sized(run: ComparedRun, name: str, gate: Gate, arm: str, power: float) -> GateSize:
    key, _ = run.plan.owner(gate.figure)
    scored, metric = run.scores.arms[arm], run.plan.metrics[key]
    with blamed(f"metrics.{key}"):
        units = row_units(key, metric, scored, gate.where, sorted(scored.planned.arm.seeds))
    kept = averaged(units)
    blank = GateSize(name, gate.figure, arm, f"{gate.bound} end {gate.threshold}", power, len(kept), None, None, None)
    rate = effect = None
    try:
        told = run.figure(arm, gate.figure)
        if told["value"] is None:
            raise Undefined(told["reason"])
        values = np.array([unit.stats[0] for unit in kept if unit.stats is not None])
        rate = mean(values)
        effect = _design_effect(values, np.array([unit.cluster for unit in kept], dtype=object))
        floor = gate.floor if gate.floor is not None else 1 - float(gate.ceiling or 0.0)
        if not 0 < floor < 1:
            raise Undefined("its threshold is as far as a rate can be")
        alone = items_to_clear(rate if gate.floor is not None else 1 - rate, floor, LEVEL, power)
        n_asked = len({unit.item_id for unit in units})
        asked = math.ceil(alone * effect * n_asked / len(kept) - 1e-9)
        return GateSize(**{**vars(blank), "rate": rate, "design_effect": effect, "asked": asked})
    except Undefined as why:
        return GateSize(**{**vars(blank), "rate": rate, "design_effect": effect, "reason": why.reason})


def _design_effect(values: Stack, clusters: Clusters) -> float:
    """How many of its items are worth one independent 0 or 1, at least one, as its interval has it."""
    rate, (se, effective) = mean(values), interval_se(values, clusters)
    if rate in (0.0, 1.0):
        return len(values) / effective
    return max(1.0, se**2 * (len(values) - 1) / (rate * (1 - rate)))
