"""Faults between parts: names that do not meet, figures that nobody produces, targets that are not there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from evalflow.comparison import Paired
from evalflow.dataset.protocol import ITEM_KEYS, Selection
from evalflow.errors import StoredRunError
from evalflow.gate import Gate
from evalflow.metric.given_score import GivenNumber, GivenScore
from evalflow.metric.health import NAMES, health
from evalflow.metric.judge_agreement import JudgeAgreement, RatedShare
from evalflow.metric.protocol import Metric, figure_names
from evalflow.runner.build import Faults, nearest
from evalflow.runner.parts import Parts
from evalflow.runner.proof import Proofs, check_proofs
from evalflow.runner.units import PER_ROW

ROW_KEYS = (*ITEM_KEYS, "status", "finish_reason")
"""What a gate's `where` may name."""
CONDITIONS: Mapping[str, tuple[Any, ...]] = {
    "concurrency": (1,),
    "rate": (1.0,),
    "cache": ("cold", "isolated", "warm"),
    "greedy": (True, False),
}
"""What a gate's `when` may name, with values of its type (of `cache`: all of them)."""


def check(parts: Parts, selection: Selection | None, faults: Faults, stored: bool = False) -> None:
    """Faults between parts: names that do not meet, figures that nobody produces, targets that are not there.

    Of a `stored` run the files that its metrics read are not looked at: not whoever reads it needs them.
    """
    if not parts.named["arms"]:
        faults.add("arms", "there is none", "compose at least one, such as +arm@arms.one=greedy")
    metrics = {**parts.metrics, **health(parts.metrics)}
    for key in set(parts.metrics) & set(NAMES):
        faults.add(f"metrics.{key}", "the name is taken by a figure that every run has", "choose another")
    figures = _figures(metrics, faults)
    for name, comparison in parts.comparisons.items():
        _check_comparison(name, comparison, parts, metrics, figures, faults)
    for name, gate in parts.gates.items():
        _check_gate(name, gate, parts, metrics, figures, faults)
    if all(parts.named[kind] == set(getattr(parts, kind)) for kind in parts.named):
        check_proofs(Proofs(parts.arms, metrics, figures, parts.comparisons, parts.gates), faults)
    for key, metric in parts.metrics.items():
        of = getattr(metric, "of", None)
        if metric.grain in ("item", "corpus") and of is not None and of not in parts.named["metrics"]:
            faults.add(f"metrics.{key}.of", f"there is no metric {of}", nearest(str(of), parts.named["metrics"]))
        if metric.grain == "pair" and metric.reference not in parts.named["arms"]:
            said = f"there is no arm {metric.reference}"
            faults.add(f"metrics.{key}.reference", said, nearest(metric.reference, parts.named["arms"]))
        _check_given(key, metric, parts, faults)
        if isinstance(metric, GivenScore):
            _check_share(key, metric, parts, selection, faults)
        # of a graded run that is not there the dataset has told
        if isinstance(metric, JudgeAgreement | RatedShare) and not stored and selection is not None:
            try:
                metric.check()
            except StoredRunError as fault:
                faults.add_said(f"metrics.{key}.ratings", str(fault))
        untargeted = [item.id for item in (selection.items if selection else ()) if item.target is None]
        if metric.needs_target and untargeted:
            said = f"{len(untargeted)} items have no target, {untargeted[0]!r} first"
            faults.add(f"metrics.{key}", said, "give every item a target, or remove the metric")


def _check_given(key: str, metric: Metric, parts: Parts, faults: Faults) -> None:
    """A recorded score has to come with the answers of at least one arm."""
    if not isinstance(metric, GivenScore | GivenNumber) or set(parts.arms) != parts.named["arms"]:
        return
    told = [arm.model.gives() if hasattr(arm.model, "gives") else () for arm in parts.arms.values()]
    given = {name for names in told for name in names or ()}
    if None not in told and metric.score not in given:
        said = f"no arm's answers come with a score {metric.score!r}"
        faults.add(f"metrics.{key}.score", said, nearest(metric.score, given))


def _check_share(key: str, metric: GivenScore, parts: Parts, selection: Selection | None, faults: Faults) -> None:
    """A recorded score that is read as a share has to be one, of every item that is asked."""
    items = {item.id for item in selection.items} if selection else set()
    for name, planned in parts.arms.items():
        if not hasattr(planned.model, "given"):
            continue
        for (item_id, repeat), value in planned.model.given(metric.score).items():
            if item_id in items and repeat in planned.arm.seeds and not 0 <= value <= 1:
                said = f"score {metric.score} of item {item_id!r:.60} in arm {name} is {value:g}, beyond 0 and 1"
                faults.add(f"metrics.{key}", said, "read it by given_number or given_loss")
                return


def owners(metrics: Mapping[str, Metric]) -> dict[str, tuple[str, str]]:
    """Figure name -> (metric key, reading suffix), for every figure that the metrics produce."""
    found = {}
    for key, metric in metrics.items():
        for name, suffix in zip(figure_names(key, metric), metric.readings(), strict=True):
            found[name] = (key, suffix)
    return found


def _figures(metrics: Mapping[str, Metric], faults: Faults) -> dict[str, tuple[str, str]]:
    by_name: dict[str, str] = {}
    for key, metric in metrics.items():
        for figure in figure_names(key, metric):
            if figure in by_name:
                faults.add(f"metrics.{key}", f"{figure} is also metrics.{by_name[figure]}'s", "keep one of the two")
            by_name[figure] = key
    return owners(metrics)


def _check_comparison(
    name: str,
    comparison: Paired,
    parts: Parts,
    metrics: Mapping[str, Metric],
    figures: Mapping[str, tuple[str, str]],
    faults: Faults,
) -> None:
    where = f"comparisons.{name}"
    for side in ("reference", "candidate"):
        arm = getattr(comparison, side)
        if arm not in parts.named["arms"]:
            faults.add(f"{where}.{side}", f"there is no arm {arm}", nearest(arm, parts.named["arms"]))
    for figure in comparison.figures:
        if figure not in figures:
            _unproduced(f"{where}.figures", figure, parts, figures, faults)
        elif metrics[figures[figure][0]].grain not in PER_ROW:
            faults.add(f"{where}.figures", f"{figure} is not per item, so it cannot be paired", "name another figure")
        elif not metrics[figures[figure][0]].paired:
            faults.add(f"{where}.figures", f"{figure} is of a whole arm, so it cannot be paired", "name another figure")


def _check_gate(
    name: str,
    gate: Gate,
    parts: Parts,
    metrics: Mapping[str, Metric],
    figures: Mapping[str, tuple[str, str]],
    faults: Faults,
) -> None:
    where = f"gates.{name}"
    if gate.arm is not None and gate.arm not in parts.named["arms"]:
        faults.add(f"{where}.arm", f"there is no arm {gate.arm}", nearest(gate.arm, parts.named["arms"]))
    if gate.comparison is not None:
        if gate.comparison not in parts.named["comparisons"]:
            known = nearest(gate.comparison, parts.named["comparisons"])
            faults.add(f"{where}.comparison", f"there is no comparison {gate.comparison}", known)
        elif gate.comparison in parts.comparisons and gate.figure not in parts.comparisons[gate.comparison].figures:
            known = nearest(gate.figure, parts.comparisons[gate.comparison].figures)
            faults.add(f"{where}.figure", f"comparison {gate.comparison} does not compare {gate.figure}", known)
    elif gate.figure not in figures:
        _unproduced(f"{where}.figure", gate.figure, parts, figures, faults)
    elif gate.count and metrics[figures[gate.figure][0]].measured_in != "share":
        faults.add(f"{where}.count", f"{gate.figure} is no share, so it has no count", "drop count")
    elif gate.where and metrics[figures[gate.figure][0]].grain == "probe":
        faults.add(f"{where}.where", f"{gate.figure} is not of rows, so none can be chosen", "drop where")
    for key in gate.where:
        if key not in ROW_KEYS:
            faults.add(f"{where}.where.{key}", "rows have no such key", nearest(str(key), ROW_KEYS))
    for key, wanted in gate.when.items():
        if key not in CONDITIONS:
            faults.add(f"{where}.when.{key}", "arms have no such condition", nearest(str(key), CONDITIONS))
        elif type(wanted) is not type(CONDITIONS[key][0]) or (key == "cache" and wanted not in CONDITIONS[key]):
            choices = f"give one of {', '.join(map(str, CONDITIONS[key]))}" if key == "cache" else "give its value"
            faults.add(f"{where}.when.{key}", f"no arm can have {wanted!r} there", choices)
    if gate.figure in figures:
        _check_that_it_decides(where, gate, metrics[figures[gate.figure][0]], faults)


def _check_that_it_decides(where: str, gate: Gate, metric: Metric, faults: Faults) -> None:
    """A gate that every possible value passes, or none, was decided before the run."""
    ends = _range(gate, metric)
    if ends is None or gate.verdict is not None:
        if gate.margin is not None and metric.measured_in == "share" and gate.margin >= 1:
            faults.add(f"{where}.margin", f"no share can lose {gate.margin:g}", "give one that can fail")
        return
    thresholds = (gate.floor, gate.ceiling, gate.equals, *(gate.between or ()))
    inside = [end for end in thresholds if end is not None and ends[0] <= end <= ends[1]]
    # what a threshold accepts has no holes, so the ends and itself tell all
    accepted = [gate.accepts(value) for value in (*ends, *inside)]
    if all(accepted[:2]):
        faults.add(where, f"{gate.figure} cannot but be {gate.threshold}", "give a threshold that it can miss")
    elif not any(accepted):
        faults.add(where, f"{gate.figure} can never be {gate.threshold}", "give a threshold that it can meet")


def _range(gate: Gate, metric: Metric) -> tuple[float, float] | None:
    """What the gate's number can be at all; None where anything can be."""
    highest = sys.float_info.max
    if metric.measured_in == "share":
        if gate.count:
            return (0.0, highest)
        return (0.0, 1.0) if gate.comparison is None else (-1.0, 1.0)
    if metric.ends is not None and gate.comparison is None:
        return metric.ends
    never_negative = metric.measured_in in ("s", "bytes", "tokens/s", "requests/s") and gate.comparison is None
    return (0.0, highest) if never_negative else None


def _unproduced(where: str, figure: str, parts: Parts, figures: Mapping[str, Any], faults: Faults) -> None:
    """A figure that nobody produces, unless a metric that could not be built may be the one that would."""
    unbuilt = parts.named["metrics"] - set(parts.metrics)
    group, _, key = figure.partition("/")
    if not unbuilt or (group == "quality" and key.split("/")[0] not in unbuilt):
        faults.add(where, f"no metric produces {figure}", nearest(figure, figures))
