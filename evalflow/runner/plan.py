"""From a composed config to a plan: typed, cross-checked, and with every fault of it found at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalflow.comparison import Paired
from evalflow.dataset.protocol import ITEM_KEYS, Dataset, Selection, collect, select
from evalflow.errors import ConfigError, EvalflowError
from evalflow.gate import Gate
from evalflow.metric.health import health
from evalflow.metric.protocol import Metric
from evalflow.record import Item, digest, fingerprints
from evalflow.runner.build import Builder, Faults, nearest
from evalflow.runner.check import check, owners
from evalflow.runner.parts import Experiment, Parts, PlannedArm
from evalflow.runner.settings import Runner
from evalflow.serving.protocol import Serving
from evalflow.strict_json import plain

NEW = "new"
"""`resume=new` starts a new run, whatever lies unfinished."""
ARM_CANNOT_MATTER = ("control", "optional", "hits_between")
"""Conditions of an arm that no row depends on; of a model that says so (`concurrency_free`), its concurrency too."""
CANNOT_MATTER = {
    "root": "name description step concurrency where shard limit resume dry_run summary metrics comparisons gates "
    "limits serving tracking",
    "runner": "outputs start_timeout_s lag_limit_s progress budget",
}
"""What else of a config no row depends on. (`where`, `shard`, `limit` choose the items, which the key holds itself.)"""


@dataclass(frozen=True)
class Plan:
    """Everything a run needs, checked. Nothing is looked up by name in the config after this.

    `step` is the training step of the checkpoint that is measured, where one was said.
    """

    name: str
    seed: int
    dataset_name: str
    selection: Selection
    fingerprints: Mapping[str, str]
    arms: Mapping[str, PlannedArm]
    metrics: Mapping[str, Metric]
    comparisons: Mapping[str, Paired]
    gates: Mapping[str, Gate]
    runner: Runner
    tracking: Any
    serving: Serving | None
    limits: tuple[str, ...]
    config: Mapping[str, Any]
    resume: str | None = None
    summary: str = "table"
    notes: tuple[str, ...] = ()
    step: int | None = None

    @property
    def items(self) -> tuple[Item, ...]:
        """The items of this run, in order."""
        return self.selection.items

    @property
    def n_requests(self) -> int:
        """Rows that a complete run has."""
        return sum(len(arm.arm.seeds) for arm in self.arms.values()) * len(self.items)

    def owner(self, figure: str) -> tuple[str, str]:
        """`(metric key, reading suffix)` of a figure that the plan knows to be produced."""
        return owners(self.metrics)[figure]

    def conditions(self) -> dict[str, Any]:
        """Everything that can change a row, in plain values. `CANNOT_MATTER` names what is left out."""
        whole = {
            "dataset": dict(self.fingerprints),
            "seed": self.seed,
            "timeout_s": self.runner.timeout_s,
            "arms": {
                name: {"place": place, **_row_conditions(arm)} for place, (name, arm) in enumerate(self.arms.items())
            },
        }
        as_stored: dict[str, Any] = json.loads(json.dumps(whole, allow_nan=False, default=plain))
        return as_stored

    def resume_key(self) -> str:
        """The digest of those conditions; two runs with one key would give the same rows."""
        return digest(self.conditions())


def build_plan(
    config: Mapping[str, Any],
    allow: Sequence[str] = (),
    faults: Faults | None = None,
    stored: Selection | None = None,
) -> Plan:
    """The plan of a composed, plain config. `faults` found while composing join those found here.

    `stored` are the items of a run that is scored again; the dataset is then not read.

    Raises:
        ConfigError: with every fault, one a line.
    """
    faults = faults or Faults()
    builder = Builder(("evalflow", *allow), faults)
    root = builder.construct(Experiment, config, "")
    parts = Parts(builder, config)
    selection = stored or _selection(parts.dataset, root, faults)
    check(parts, selection, faults, stored is not None)
    if faults.found or root is None or selection is None:
        raise ConfigError(faults.found)
    assert parts.dataset is not None and parts.runner is not None, "a part without a fault was built"
    return Plan(
        name=root.name,
        seed=root.seed,
        dataset_name=parts.dataset.name,
        selection=selection,
        fingerprints=fingerprints(selection.items),
        arms=parts.arms,
        metrics={**parts.metrics, **health(parts.metrics)},
        comparisons=parts.comparisons,
        gates=parts.gates,
        runner=parts.runner,
        tracking=parts.tracking,
        serving=parts.serving,
        limits=root.limits,
        config=config,
        resume=root.resume,
        summary=root.summary,
        notes=(*_notes(parts.arms), *_remarks(parts.arms), *_copies(parts.arms, selection.items)),
        step=root.step,
    )


def _selection(dataset: Dataset | None, root: Experiment | None, faults: Faults) -> Selection | None:
    if dataset is None:
        return None
    try:
        items = collect(dataset)
        if root is None:
            return Selection(items, None)
        unknown = sorted(set(root.where) - set(ITEM_KEYS))
        for key in unknown:
            faults.add(f"where.{key}", "items have no such key", nearest(key, ITEM_KEYS))
        return None if unknown else _within(dataset, select(items, root.where, root.shard, root.limit))
    except EvalflowError as refused:
        where, _, message = str(refused).partition(": ")
        faults.add_said(where, message)
    except (Exception, SystemExit) as fault:  # noqa: BLE001 - the dataset may be the user's
        said = " ".join(f"{type(fault).__name__}: {fault}".split())
        faults.add("dataset", f"its items cannot be had ({said})", "mend the dataset")
    return None


def _within(dataset: Dataset, selection: Selection) -> Selection:
    """The selection, of a dataset that may itself say that it is a part of something."""
    part = dataset.part() if hasattr(dataset, "part") else None
    return replace(selection, part=", ".join(filter(None, (part, selection.part)))) if part else selection


def _notes(arms: Mapping[str, PlannedArm]) -> tuple[str, ...]:
    return tuple(
        f"arm {name} is greedy: its {len(planned.arm.seeds)} seeds give the same answers"
        for name, planned in arms.items()
        if planned.decoding.greedy and len(planned.arm.seeds) > 1 and not getattr(planned.model, "recorded", False)
    )


def _remarks(arms: Mapping[str, PlannedArm]) -> tuple[str, ...]:
    """What the models have to say of themselves, each thing once."""
    models = [planned.model for planned in arms.values() if hasattr(planned.model, "remarks")]
    return tuple(dict.fromkeys(remark for model in models for remark in model.remarks()))


def _copies(arms: Mapping[str, PlannedArm], items: Sequence[Item]) -> tuple[str, ...]:
    """Texts that would be scored more than once, in clusters of their own: each copy would count as evidence."""
    if not any(planned.scoring for planned in arms.values()):
        return ()
    clusters: dict[str, set[str]] = {}
    for item in items:
        clusters.setdefault(item.prompt, set()).add(item.dependence)
    n = sum(len(found) > 1 for found in clusters.values())
    return (f"{n} texts occur more than once, and each copy counts as a text of its own",) if n else ()


def _row_conditions(planned: PlannedArm) -> dict[str, Any]:
    left_out = [*ARM_CANNOT_MATTER, *(["concurrency"] if getattr(planned.model, "concurrency_free", False) else [])]
    return {key: value for key, value in planned.conditions().items() if key not in left_out}
