"""Runs held against a reference: what differs of their instruments, and figure by figure what can be said."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalflow.comparison import Paired, conclude
from evalflow.numeric.seed import derive_seed
from evalflow.record import Delta
from evalflow.runner.compared_run import ComparedRun, Overlap, overlap
from evalflow.runner.instrument_difference import ArmPair, Difference, by_item, differences, is_time
from evalflow.runner.judge import arms_apart, units_of
from evalflow.runner.score import Scores

RESAMPLES = 2_000
"""Of each bootstrap: that of a percentile is most of the work, and here all of them are compared."""


@dataclass(frozen=True)
class Asked:
    """What is compared: arms (old name -> new name; those that it does not name pair by name) and figures (all).

    `varied` are the fields under test, which refuse nothing.
    """

    arms: Mapping[str, str] = field(default_factory=dict)
    figures: tuple[str, ...] = ()
    varied: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """What can be said of one figure of a pair of arms: one of a difference by item, both figures, or why nothing.

    `refused` are the reasons that the instruments give, `undefined` is why there is no number. `lost` are the items of
    the reference that it scored and that have no partner. `control` says that the arm is a control in one of the runs.
    """

    arms: ArmPair
    figure: str
    delta: Delta | None = None
    beside: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
    refused: tuple[str, ...] = ()
    undefined: str | None = None
    lost: tuple[str, ...] = ()
    control: bool = False


@dataclass(frozen=True)
class RunPair:
    """A candidate held against the reference."""

    reference: ComparedRun
    candidate: ComparedRun
    items: Overlap
    arms: tuple[ArmPair, ...]
    only_reference: tuple[str, ...]
    only_candidate: tuple[str, ...]
    differences: tuple[Difference, ...]
    findings: tuple[Finding, ...]

    @property
    def compared(self) -> list[Finding]:
        """Those whose figures were compared item by item."""
        return [finding for finding in self.findings if finding.delta is not None]


def pair_runs(reference: ComparedRun, candidates: Sequence[ComparedRun], asked: Asked) -> list[RunPair]:
    """Hold each candidate against the reference; p-values are corrected over all that was compared.

    Raises:
        MetricError: a metric raised.
    """
    pairs = [_paired(reference, candidate, asked) for candidate in candidates]
    family = {
        (f"{place} {finding.arms!r}", finding.figure): (_comparison(pair, finding), finding.delta)
        for place, pair in enumerate(pairs)
        for finding in pair.findings
        if finding.delta is not None
    }
    concluded = conclude(family, units_of(reference.plan.metrics))

    def final(place: int, finding: Finding) -> Finding:
        if finding.delta is None:
            return finding
        return replace(finding, delta=concluded[f"{place} {finding.arms!r}", finding.figure])

    return [
        replace(pair, findings=tuple(final(place, finding) for finding in pair.findings))
        for place, pair in enumerate(pairs)
    ]


def _paired(reference: ComparedRun, candidate: ComparedRun, asked: Asked) -> RunPair:
    items = overlap(reference, candidate)
    ours, theirs = reference.plan.arms, candidate.plan.arms
    arms = _arm_pairs(reference, candidate, asked.arms)
    pair = RunPair(
        reference,
        candidate,
        items,
        arms,
        only_reference=tuple(arm for arm in ours if arm not in {old for old, _ in arms}),
        only_candidate=tuple(arm for arm in theirs if arm not in {new for _, new in arms}),
        differences=tuple(differences(reference, candidate, arms, items, asked.varied)),
        findings=(),
    )
    figures = [name for name in reference.owners if not asked.figures or name in asked.figures]
    return replace(pair, findings=tuple(_finding(pair, arms, name) for arms in pair.arms for name in figures))


def _arm_pairs(reference: ComparedRun, candidate: ComparedRun, named: Mapping[str, str]) -> tuple[ArmPair, ...]:
    """The arms that are named, and of the others those of one name.

    Of one run held against itself only those that are named: every other would be held against itself.
    """
    ours, theirs = reference.plan.arms, candidate.plan.arms
    told = dict(named)
    if not named or reference.stored.folder.resolve() != candidate.stored.folder.resolve():
        told |= {arm: arm for arm in ours if arm not in named and arm not in named.values()}
    return tuple((old, new) for old, new in told.items() if old in ours and new in theirs)


def _finding(pair: RunPair, arms: ArmPair, figure: str) -> Finding:
    reference, candidate = pair.reference, pair.candidate
    planned = (reference.plan.arms[arms[0]], candidate.plan.arms[arms[1]])
    found = Finding(arms, figure, control=any(one.arm.control for one in planned))
    refused = dict.fromkeys(one.why for one in pair.differences if one.refuses(arms, figure))
    if refused:
        return replace(found, refused=tuple(refused))
    both = (reference.figure(arms[0], figure), candidate.figure(arms[1], figure))
    without = [run.label for run, one in zip((reference, candidate), both, strict=True) if one["value"] is None]
    if not by_item(figure, reference.metric(figure)):
        if without:
            return replace(found, undefined=_why_without(pair, both))
        return replace(found, beside=both)
    if len(without) == 2:
        return replace(found, undefined=_why_without(pair, both))
    if not pair.items.shared:
        return replace(found, refused=("no item is the same in both runs",))
    delta = _delta(pair, found)
    if delta.delta is None:
        said = _why_without(pair, both) if without else delta.reason
        return replace(found, undefined=said)
    scored = [
        run.scores.item_stats(arm, run.owners[figure]) for run, arm in zip((reference, candidate), arms, strict=True)
    ]
    # what neither has a score of is nobody's loss: the figure is not of it
    unpaired = tuple(item for item in delta.unpaired if item in scored[0] or item in scored[1])
    lost = tuple(item for item in unpaired if item in scored[0])
    return replace(found, delta=replace(delta, unpaired=unpaired), lost=lost)


def _why_without(pair: RunPair, both: tuple[Mapping[str, Any], Mapping[str, Any]]) -> str:
    """Why there is no number, of each run that has none; once where both say the same."""
    reasons = [one["reason"] for one in both]
    if reasons[0] == reasons[1]:
        return str(reasons[0])
    labels = (pair.reference.label, pair.candidate.label)
    return "; ".join(f"in {label}: {why}" for label, why in zip(labels, reasons, strict=True) if why is not None)


def _delta(pair: RunPair, finding: Finding) -> Delta:
    """The difference over the items of both; the reference's others are among the unpaired."""
    sides = [(run.scores, arm) for run, arm in zip((pair.reference, pair.candidate), finding.arms, strict=True)]
    shared = set(pair.items.shared)
    if pair.items.changed and pair.reference.metric(finding.figure).grain == "document":
        # another text under the same id has other tokens, and would speak for all
        sides = [(_without_others(scores, arm, shared), arm) for scores, arm in sides]
    clusters = {item.id: item.dependence for item in pair.reference.plan.items if item.id in shared}
    seed = derive_seed(pair.reference.plan.seed, f"{pair.candidate.run_id}/{finding.arms!r}/{finding.figure}", 0)
    delta = arms_apart(_comparison(pair, finding), finding.figure, sides, clusters, seed)
    if is_time(pair.reference.metric(finding.figure)):
        # each run has sessions of its own; what counts is whether one of them was taken in several
        n_sessions = max(len(scores.arms[arm].sessions) for scores, arm in sides)
        delta = replace(delta, n_sessions=n_sessions or None)
    return replace(delta, unpaired=(*delta.unpaired, *pair.items.missing))


def _without_others(scores: Scores, arm: str, items: Collection[str]) -> Scores:
    """The scores, of one arm only the rows of these items."""
    kept = scores.arms[arm]
    rows = {key: row for key, row in kept.rows.items() if key[1] in items}
    return replace(scores, arms={**scores.arms, arm: replace(kept, rows=rows)})


def _comparison(pair: RunPair, finding: Finding) -> Paired:
    """How the pair is compared: as an experiment does by default, but for the resamples."""
    old, new = finding.arms
    labels = (f"{old} of {pair.reference.label}", f"{new} of {pair.candidate.label}")
    return Paired(*labels, (finding.figure,), resamples=RESAMPLES)
