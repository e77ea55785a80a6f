"""A candidate gated against a baseline: no figure of quality may be shown worse, or each must be shown not to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from evalflow.errors import ExitCode, worst
from evalflow.gate import Gate, Judged, unpaired_beyond
from evalflow.record import Delta, Outcome
from evalflow.runner.check import owners
from evalflow.runner.instrument_difference import ArmPair, by_item, is_time
from evalflow.runner.proof import Proofs, unproved
from evalflow.runner.run_pair import Finding, RunPair

OF_QUALITY = ("quality", "parity", "agreement", "stability")
"""Groups of figures that the gate reads; times, caches, costs and counts are told."""
CODES: dict[Outcome, ExitCode] = {
    "fail": ExitCode.FAIL,
    "unreadable": ExitCode.UNREADABLE,
    "pass": ExitCode.PASS,
}


@dataclass(frozen=True)
class Regression:
    """The gate. `max_loss` is what a figure may lose, in its own unit, and must be shown not to exceed; None asks only
    that none is shown worse. `coverage` is the least share that must have been paired of what the baseline scored."""

    max_loss: float | None = None
    coverage: float = 1.0

    def __post_init__(self) -> None:
        if self.max_loss is not None and not 0 < self.max_loss < float("inf"):
            raise ValueError(f"max-loss is {self.max_loss:g}; give a number above 0")
        if not 0 < self.coverage <= 1:
            raise ValueError(f"coverage is {self.coverage:g}; give a share above 0, at most 1")

    @property
    def wanted(self) -> str:
        """What it asks of each figure."""
        return "not shown worse" if self.max_loss is None else f"loses less than {self.max_loss:g}"


@dataclass(frozen=True)
class Held:
    """One figure of a candidate held against the baseline, or an arm that it lacks (`figure` is then None)."""

    candidate: str
    arms: ArmPair
    figure: str | None
    outcome: Outcome
    reason: str | None = None


def held_against(regression: Regression, pairs: Sequence[RunPair]) -> list[Held]:
    """Every figure of quality that the baseline has by item, held; an undefined or refused one is unreadable.

    Controls are left out, and so is what only the candidate has, and what the baseline itself has no value of.
    """
    return [held for pair in pairs for held in _held(regression, pair)]


def outcome_of(held: Sequence[Held]) -> tuple[Outcome, ExitCode]:
    """What they come to; unreadable where nothing was held."""
    code = worst([CODES[one.outcome] for one in held] or [ExitCode.UNREADABLE])
    return next(outcome for outcome, known in CODES.items() if known == code), code


def _held(regression: Regression, pair: RunPair) -> Iterator[Held]:
    for arm in pair.only_reference:
        planned = pair.reference.plan.arms[arm].arm
        if not (planned.control or planned.optional):
            yield Held(pair.candidate.label, (arm, arm), None, "unreadable", "the candidate has no such arm")
    for finding in pair.findings:
        metric = pair.reference.metric(finding.figure)
        of_quality = (
            finding.figure.partition("/")[0] in OF_QUALITY and by_item(finding.figure, metric) and not is_time(metric)
        )
        has_value = pair.reference.figure(finding.arms[0], finding.figure)["value"] is not None
        if of_quality and has_value and not finding.control:
            doubted = _doubted(pair, finding)
            judged = _judged(regression, finding) if doubted is None else Judged("unreadable", reason=doubted)
            yield Held(pair.candidate.label, finding.arms, finding.figure, judged.outcome, judged.reason)


def _doubted(pair: RunPair, finding: Finding) -> str | None:
    """Why a figure that is a model's opinion is not read: in one of the runs its judge is not proved."""
    for run, arm in zip((pair.reference, pair.candidate), finding.arms, strict=True):
        plan = run.plan
        proofs = Proofs(plan.arms, plan.metrics, owners(plan.metrics), plan.comparisons, plan.gates)
        outcomes = {name: gate["outcome"] for name, gate in run.report["gates"].items()}
        if why := unproved(proofs, finding.figure, arm, outcomes):
            return f"in {run.label}: {why}"
    return None


def _judged(regression: Regression, finding: Finding) -> Judged:
    if finding.delta is None:
        return Judged("unreadable", reason="; ".join(finding.refused) or finding.undefined)
    held = replace(finding.delta, unpaired=finding.lost)
    if regression.max_loss is not None:
        gate = Gate(
            figure=finding.figure,
            comparison="baseline",
            verdict="non_inferior",
            margin=regression.max_loss,
            coverage=regression.coverage,
        )
        return gate.on_delta(held)
    return _not_worse(held, regression.coverage)


def _not_worse(delta: Delta, coverage: float) -> Judged:
    if why := unpaired_beyond(coverage, delta):
        return Judged("unreadable", reason=why)
    return Judged("fail" if delta.conclusion == "worse" else "pass", reason=delta.conclusion)
