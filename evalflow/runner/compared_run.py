"""A finished run as it is held against another, and which of two runs' items are the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evalflow.metric.protocol import Metric
from evalflow.record import content_of
from evalflow.runner.check import owners
from evalflow.runner.plan import Plan
from evalflow.runner.score import Scores
from evalflow.runner.stored_run import StoredRun


@dataclass(frozen=True)
class ComparedRun:
    """A stored run, its report, and the scores that the report was made from; `label` is what it is called here."""

    label: str
    stored: StoredRun
    report: Mapping[str, Any]
    scores: Scores

    @property
    def plan(self) -> Plan:
        """What it was asked to do."""
        return self.scores.plan

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.stored.run_id

    @property
    def instrument(self) -> Mapping[str, Any]:
        """What its numbers were taken with."""
        told: Mapping[str, Any] = self.report["instrument"]
        return told

    @cached_property
    def owners(self) -> Mapping[str, str]:
        """Figure -> the key of the metric that produces it, figures of quality first and counts last."""
        names = {name: key for name, (key, _) in owners(self.plan.metrics).items()}
        return dict(sorted(names.items(), key=lambda one: (one[0][:8] != "quality/", one[0][:2] == "n/", one[0])))

    def metric(self, figure: str) -> Metric:
        """The metric that produces a figure."""
        return self.plan.metrics[self.owners[figure]]

    def figure(self, arm: str, name: str) -> Mapping[str, Any]:
        """A figure of an arm, as the report has it."""
        told: Mapping[str, Any] = self.report["arms"][arm]["figures"][name]
        return told


@dataclass(frozen=True)
class Overlap:
    """The items of a reference and a candidate, by id and in the order of the reference (of the candidate, its own).

    `shared` are those whose content is the same in both; `changed` have an id in common and nothing else that counts;
    of the shared, `reworded` are asked by other prompts. `reordered` says that the shared ones stand in another order.
    """

    shared: tuple[str, ...]
    only_reference: tuple[str, ...]
    only_candidate: tuple[str, ...]
    changed: tuple[str, ...]
    reworded: tuple[str, ...]
    reordered: bool

    @property
    def whole(self) -> bool:
        """Whether both runs have the same items."""
        return not (self.only_reference or self.only_candidate or self.changed)

    @property
    def missing(self) -> tuple[str, ...]:
        """The reference's items that have no partner."""
        return (*self.only_reference, *self.changed)


def overlap(reference: ComparedRun, candidate: ComparedRun) -> Overlap:
    """Which items two runs share, by id and by content."""
    ours = {item.id: item for item in reference.plan.items}
    theirs = {item.id: item for item in candidate.plan.items}
    both = [item for item in ours if item in theirs]
    alike = reference.plan.fingerprints["content_fp"] == candidate.plan.fingerprints["content_fp"]
    changed = () if alike else tuple(i for i in both if content_of(ours[i]) != content_of(theirs[i]))
    kept = set(both) - set(changed)
    shared = tuple(item for item in both if item in kept)
    return Overlap(
        shared=shared,
        only_reference=tuple(item for item in ours if item not in theirs),
        only_candidate=tuple(item for item in theirs if item not in ours),
        changed=changed,
        reworded=tuple(item for item in shared if ours[item].prompt != theirs[item].prompt),
        reordered=shared != tuple(item for item in theirs if item in kept),
    )
