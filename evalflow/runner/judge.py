"""From scores to answers: comparisons, gates, and the verdict with its exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalflow.columns import Columns
from evalflow.comparison import Measure, Paired, conclude, pair
from evalflow.errors import ExitCode, worst
from evalflow.gate import Gate, Judged
from evalflow.metric.protocol import Metric, Reading
from evalflow.metric.rate import Rate
from evalflow.numeric.seed import derive_seed
from evalflow.record import Delta, GateResult, RunVerdict
from evalflow.runner.check import owners
from evalflow.runner.proof import Proofs, doubt, of_other_judges
from evalflow.runner.score import Scores, blamed, coerced
from evalflow.runner.units import ArmScores, number

SEVERITY = ("fail", "unreadable", "pass", "skipped")
"""Of one gate over several arms, the first of these decides."""


@dataclass(frozen=True)
class Judgement:
    """What a run answers."""

    comparisons: Mapping[str, Mapping[str, Delta]]
    gates: Mapping[str, GateResult]
    verdict: RunVerdict
    exit_code: ExitCode
    reasons: tuple[str, ...]


def judge(scores: Scores) -> Judgement:
    """Compare, hold every gate against its figure, and say what the run is worth."""
    comparisons = _compare(scores)
    gates = {name: _trusted(gate, _gate(gate, scores, comparisons), scores) for name, gate in scores.plan.gates.items()}
    code, reasons = _verdict(scores, gates)
    verdicts: dict[ExitCode, RunVerdict] = {
        ExitCode.PASS: "pass",
        ExitCode.FAIL: "fail",
        ExitCode.UNREADABLE: "unreadable",
        ExitCode.INCOMPLETE: "incomplete",
    }
    return Judgement(comparisons, gates, verdicts[code], code, reasons)


def _compare(scores: Scores) -> dict[str, dict[str, Delta]]:
    plan = scores.plan
    clusters = {item.id: item.dependence for item in plan.items}
    family: dict[tuple[str, str], tuple[Paired, Delta]] = {}
    for name, comparison in plan.comparisons.items():
        sides = [(scores, arm) for arm in (comparison.reference, comparison.candidate)]
        for figure in comparison.figures:
            seed = derive_seed(plan.seed, f"{name}/{figure}", 0)
            family[name, figure] = (comparison, arms_apart(comparison, figure, sides, clusters, seed))
    concluded: dict[str, dict[str, Delta]] = {name: {} for name in plan.comparisons}
    for (name, figure), delta in conclude(family, units_of(plan.metrics)).items():
        concluded[name][figure] = delta
    return concluded


def arms_apart(
    comparison: Paired,
    figure: str,
    sides: Sequence[tuple[Scores, str]],
    clusters: Mapping[str, str],
    seed: int,
) -> Delta:
    """What one arm of one run differs from another by, be it another run's, on a figure that both have by item.

    `sides` are the reference's scores and arm and the candidate's, whose metric is the same; `clusters` is as in
    `Paired.compare`. The reason is told where one of the arms cannot be read.
    """
    scores = sides[0][0]
    arms = [side.arms[arm] for side, arm in sides]
    key, suffix = scores.plan.owner(figure)
    metric = scores.plan.metrics[key]
    faulty = next((said for arm in arms if (said := arm.faulty)), None)
    untimed = next((said for arm in arms if metric.timed and (said := arm.untimed)), None)
    judges = of_other_judges(metric, [arm.planned for arm in arms])
    if why := faulty or untimed or judges or _of_other_tokens(metric, arms) or _of_other_positions(metric, arms):
        return Delta(None, reason=why)
    with blamed(f"metrics.{key}"):
        reference, candidate = (side.item_stats(arm, side.plan.owner(figure)[0]) for side, arm in sides)
        delta = comparison.compare(measure_of(metric, metric.readings()[suffix]), reference, candidate, clusters, seed)
    if metric.clocked or metric.timed:
        taken_in = set[str]().union(*(arm.sessions for arm in arms))
        delta = replace(delta, n_sessions=len(taken_in) or None)
    return delta


def _of_other_tokens(metric: Metric, arms: Sequence[ArmScores]) -> str | None:
    """Why a figure per token does not compare two arms: they do not read texts as the same tokens, as far as is known.

    Where an arm does not name its tokeniser, as a seat does not, the tokens of the rows decide.
    """
    if not metric.per_token:
        return None
    todo = "so figures per token do not compare; compare bits_per_byte"
    told = [arm.trace.facts.get("scorer", {}).get("tokenizer") if arm.trace else None for arm in arms]
    if None not in told:
        return None if told[0] == told[1] else f"the arms' tokenisers differ, {todo}"
    first, second = (arm.rows for arm in arms)
    alike = all(_same_tokens(row.columns, second[key].columns) for key, row in first.items() if key in second)
    return None if alike else f"the arms are not known to read texts as the same tokens, {todo}"


def _of_other_positions(metric: Metric, arms: Sequence[ArmScores]) -> str | None:
    """Why a figure over texts does not compare two arms: they did not score the same of them."""
    if metric.grain != "document":
        return None
    first, second = (arm.rows for arm in arms)
    pairs = ((row.columns, second[key].columns) for key, row in first.items() if key in second)
    if all(one is None or other is None or _same_places(one, other, metric.per_token) for one, other in pairs):
        return None
    return "the arms scored different positions of the texts; give both the same scoring"


def _same_places(one: Columns, other: Columns, per_token: bool) -> bool:
    """Whether two rows cover the same: the same positions, or (of other tokens) the same stretches of the text."""
    if per_token:
        return np.array_equal(one["position"], other["position"])
    return _covered(one) == _covered(other)


def _covered(columns: Columns) -> list[tuple[int, int]]:
    """The stretches (characters) that the tokens of a row cover, those that meet joined."""
    found: list[tuple[int, int]] = []
    for start, end in zip(columns["start"].tolist(), columns["end"].tolist(), strict=True):
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _same_tokens(one: Columns | None, other: Columns | None) -> bool:
    """Whether two rows are of the same tokens, by where each begins in the text, or by its id; so is one of none."""
    if one is None or other is None:
        return True
    return any(
        name in one and name in other and bool((one[name] >= 0).all()) and np.array_equal(one[name], other[name])
        for name in ("start", "token")
    )


def measure_of(metric: Metric, reading: Reading) -> Measure:
    """How a comparison reads one figure of a metric."""
    return Measure(
        value=coerced(reading.value),
        point=lambda stats: number(metric.point(stats)),
        # a metric with a value of its own is not the mean of its units, so no t interval fits it
        is_mean=getattr(type(reading), "value", None) is Metric.value,
        is_rate=isinstance(metric, Rate),
        higher_is_better=metric.higher_is_better,
    )


def units_of(metrics: Mapping[str, Metric]) -> dict[str, str]:
    """Figure -> the unit of its numbers."""
    return {
        figure: getattr(metrics[key].readings()[suffix], "measured_in", metrics[key].measured_in)
        for figure, (key, suffix) in owners(metrics).items()
    }


def _trusted(gate: Gate, result: GateResult, scores: Scores) -> GateResult:
    """What a gate answered, unless it is of grades of a judge whose agreement with people is not shown.

    That is told before anything else that makes a figure unreadable, but for what keeps all figures from being read.
    """
    plan = scores.plan
    proofs = Proofs(plan.arms, plan.metrics, owners(plan.metrics), plan.comparisons, plan.gates)

    def read(other: Gate, arm: str) -> GateResult:
        return _of_a_part(other, scores) or _arm_gate(other, arm, scores)

    unread = result.outcome == "skipped" or any(scores.arms[arm].unavailable for arm in proofs.arms_of(gate))
    if unread or _of_a_part(gate, scores) or (doubted := doubt(proofs, gate, read)) is None:
        return result
    arm, why = doubted
    judged = Judged("unreadable", None, result.denominator, f"arm {arm}: {why}" if gate.comparison else why)
    return gate.result(judged, arm=None if gate.comparison else arm)


def _gate(gate: Gate, scores: Scores, comparisons: Mapping[str, Mapping[str, Delta]]) -> GateResult:
    if partial := _of_a_part(gate, scores):
        return partial
    if gate.comparison is not None:
        return _comparison_gate(gate, scores, comparisons[gate.comparison][gate.figure])
    arms = [gate.arm] if gate.arm else _gated(gate, scores)
    if not arms:
        return gate.result(Judged("unreadable", reason="no arm but controls has this figure"))
    results = [_arm_gate(gate, name, scores) for name in arms]
    decided = min(results, key=lambda result: (SEVERITY.index(result.outcome), gate.slack(result.value)))
    return replace(decided, arm=None) if gate.arm is None and decided.outcome == "pass" else decided


def _of_a_part(gate: Gate, scores: Scores) -> GateResult | None:
    """The answer of a gate that must not be read on a part of the dataset; None where it may, or this is all of it."""
    part = scores.plan.selection.part
    return None if part is None or gate.allow_partial else gate.result(Judged("unreadable", reason=part))


def _gated(gate: Gate, scores: Scores) -> list[str]:
    """The arms that a gate without one is held against: those that can have its figure, controls aside."""
    lockstep = scores.plan.metrics[scores.plan.owner(gate.figure)[0]].lockstep
    return [
        name
        for name, arm in scores.arms.items()
        if not arm.planned.arm.control and (arm.planned.reference is not None or not lockstep)
    ]


def _comparison_gate(gate: Gate, scores: Scores, delta: Delta) -> GateResult:
    comparison = scores.plan.comparisons[gate.comparison or ""]
    for side in (comparison.reference, comparison.candidate):
        absent = _absent(scores, side)
        if absent:
            return gate.result(absent)
    judged = gate.on_delta(delta)
    return gate.result(judged, rows=_lost(scores, comparison, gate.figure) if gate.fails(judged) else ())


def _lost(scores: Scores, comparison: Paired, figure: str) -> tuple[str, ...]:
    """The items on which the candidate is worse than the reference, worst first."""
    key, suffix = scores.plan.owner(figure)
    metric = scores.plan.metrics[key]
    with blamed(f"metrics.{key}"):
        reference, candidate = (scores.item_stats(side, key) for side in (comparison.reference, comparison.candidate))
        measure = measure_of(metric, metric.readings()[suffix])
        shared = {item.id: item.id for item in scores.plan.items if item.id in reference and item.id in candidate}
        differences = pair(measure, reference, candidate, shared).differences
    losses = -differences if metric.higher_is_better else differences
    lost = dict(zip(sorted(shared), losses.tolist(), strict=True))  # `pair` goes by id
    return tuple(sorted((item for item in shared if lost[item] > 0), key=lambda item: (-lost[item], item)))


def _arm_gate(gate: Gate, name: str, scores: Scores) -> GateResult:
    arm = scores.arms[name]
    conditions = arm.planned.conditions()
    unmet = [f"{key} is {conditions[key]}" for key, wanted in gate.when.items() if conditions[key] != wanted]
    absent = _absent(scores, name)
    if absent or unmet:
        return gate.result(absent or Judged("skipped", reason=", ".join(unmet)), arm=name)
    figure = scores.figure(name, gate.figure, gate.where)
    key, _ = scores.plan.owner(gate.figure)
    judged = gate.on_figure(figure)
    needs = scores.plan.metrics[key].no_interval
    if needs and judged.reason is not None and judged.reason.endswith("has no interval"):
        judged = replace(judged, reason=f"{judged.reason}: {needs}, and it is of {figure.n_scored}")
    rows = scores.worst(name, key, gate.where) if gate.fails(judged) else ()
    return gate.result(judged, arm=name, rows=rows, noise_floor=_noise_floor(gate, name, scores))


def _noise_floor(gate: Gate, name: str, scores: Scores) -> float | None:
    """The gate's figure of the A/A arms of the same reference, the largest; None where there is none."""
    reference = scores.arms[name].planned.reference
    if reference is None or not scores.plan.metrics[scores.plan.owner(gate.figure)[0]].lockstep:
        return None
    same = [
        scores.figure(other, gate.figure, gate.where).value
        for other, arm in scores.arms.items()
        if other != name and arm.planned.reference is not None
        if arm.planned.reference.name == reference.name
        if dict(arm.planned.model.identity()) == dict(reference.model.identity())
    ]
    return max((value for value in same if value is not None), key=abs, default=None)


def _absent(scores: Scores, name: str) -> Judged | None:
    arm = scores.arms[name]
    if not arm.unavailable:
        return None
    return Judged("skipped" if arm.planned.arm.optional else "unreadable", reason=f"arm {name}: {arm.unavailable}")


def _verdict(scores: Scores, gates: Mapping[str, GateResult]) -> tuple[ExitCode, tuple[str, ...]]:
    codes: list[ExitCode] = []
    reasons: list[str] = []
    for name, arm in scores.arms.items():
        if arm.unavailable and not arm.planned.arm.optional:
            codes.append(ExitCode.INCOMPLETE)
            reasons.append(f"arm {name} is unavailable: {arm.unavailable}")
        elif arm.unfinished and not arm.unavailable:
            codes.append(ExitCode.INCOMPLETE)
            cut_short = f"; {arm.trace.cut_short}" if arm.trace is not None and arm.trace.cut_short else ""
            reasons.append(f"arm {name} did not finish: it has {len(arm.rows)} of {arm.n_planned} rows{cut_short}")
        elif not arm.complete and not arm.unavailable:
            codes.append(ExitCode.INCOMPLETE)
            reasons.append(f"arm {name} has {len(arm.rows)} of {arm.n_planned} rows")
    deciding = {name: gate for name, gate in gates.items() if not gate.report_only and gate.outcome != "skipped"}
    meaning = {"pass": ExitCode.PASS, "fail": ExitCode.FAIL, "unreadable": ExitCode.UNREADABLE}
    codes += [meaning[gate.outcome] for gate in deciding.values()]
    if not deciding:
        codes.append(ExitCode.UNREADABLE)
        reasons.append("no gate decided anything")
    return worst(codes), tuple(reasons)
