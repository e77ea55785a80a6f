"""The typed parts of a config, each built and fitted to its place; what cannot be built is a fault."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from evalflow.arm import Arm
from evalflow.comparison import Paired
from evalflow.dataset.protocol import Dataset, Shard
from evalflow.gate import Gate
from evalflow.metric.protocol import Metric
from evalflow.model.forced import Forced, Walked
from evalflow.model.protocol import Model
from evalflow.model.scorer import SCORES, SCORES_TEXT
from evalflow.record import Decoding, digest
from evalflow.runner.build import Builder, Faults, nearest
from evalflow.runner.settings import Runner
from evalflow.scoring import Scoring
from evalflow.serving.protocol import Serving

PROTOCOLS: Mapping[str, type | tuple[str, ...]] = {
    "arms": Arm,
    "metrics": Metric,
    "comparisons": Paired,
    "gates": Gate,
    "decoding": Decoding,
    "runner": Runner,
    "dataset": ("name", "items"),
    "model": (
        *("identity", "missing", "start", "prove", "measure", "warm", "complete"),
        *("settle", "facts", "price", "close"),
    ),
    "tracking": ("log",),
    "serving": ("serve",),
    "scoring": Scoring,
}
"""What each part must be (a class), or must have."""
BASES = {"model": "evalflow.model.protocol.Model"}


@dataclass(frozen=True)
class Experiment:
    """The keys of a composed config; the nodes below them are typed one by one."""

    name: str
    dataset: Any
    model: Any
    decoding: Any
    runner: Any
    tracking: Any = None
    serving: Any = None
    scoring: Any = None
    summary: Literal["table", "json"] = "table"
    description: str = ""
    seed: int = 0
    step: int | None = None
    concurrency: int = 1
    limit: int | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    shard: Shard | None = None
    resume: str | None = None
    dry_run: bool = False
    arms: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    comparisons: Mapping[str, Any] = field(default_factory=dict)
    gates: Mapping[str, Any] = field(default_factory=dict)
    limits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name.strip() or set(self.name) & set("/\\:\0") or self.name.startswith("."):
            raise ValueError(f"name is {self.name!r}; give one that can name a folder")
        try:
            os.fsencode(self.name)
        except UnicodeEncodeError:
            raise ValueError(f"name is {self.name!r}; give one that this system can name a folder by") from None
        if not -(2**63) <= self.seed < 2**63:
            raise ValueError("seed is beyond 64 bits; give a smaller one")
        if self.step is not None and not 0 <= self.step < 2**63:
            raise ValueError(f"step is {self.step}; give the training step of the checkpoint, 0 or more, or null")
        if self.concurrency < 1:
            raise ValueError(f"concurrency is {self.concurrency}; give at least 1")
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"limit is {self.limit}; give at least 1")


@dataclass(frozen=True)
class PlannedArm:
    """An arm with its own model and decoding, the overlays applied.

    In an experiment that scores texts the model is a `Forced` one, which walks them with the arm's own model and that
    of its `reference`.
    """

    name: str
    arm: Arm
    model: Model
    decoding: Decoding
    scoring: Scoring | None = None
    reference: PlannedArm | None = None

    def conditions(self) -> dict[str, Any]:
        """What the arm ran under, as the report and the instrument carry it."""
        return {
            "model": dict(self.model.identity()),
            "decoding": asdict(self.decoding),
            "greedy": self.decoding.greedy,
            "seeds": list(self.arm.seeds),
            "concurrency": self.arm.concurrency,
            "rate": self.arm.rate,
            "arrivals": None if self.arm.rate is None else self.arm.arrivals,
            "cache": self.arm.cache,
            "hits_between": list(self.arm.hits_between),
            "scoring": None if self.scoring is None else asdict(self.scoring),
            "reference": None if self.reference is None else self.reference.conditions(),
            "control": self.arm.control,
            "optional": self.arm.optional,
        }


class Parts:
    """The typed parts of a config; one that could not be built is absent, and its fault noted."""

    def __init__(self, builder: Builder, config: Mapping[str, Any]) -> None:
        self.builder = builder
        self.dataset: Dataset | None = self._one(config, "dataset")
        self.runner: Runner | None = self._one(config, "runner")
        self.tracking = self._one(config, "tracking") if config.get("tracking") is not None else None
        self.serving: Serving | None = self._one(config, "serving") if config.get("serving") is not None else None
        self.metrics: dict[str, Metric] = self._many(config, "metrics")
        self.comparisons: dict[str, Paired] = self._many(config, "comparisons")
        self.gates: dict[str, Gate] = self._many(config, "gates")
        self.named = {kind: set(_mapping(config.get(kind))) for kind in ("arms", "metrics", "comparisons", "gates")}
        self.nodes = {str(name): node for name, node in _mapping(config.get("arms")).items()}
        self.arms: dict[str, PlannedArm] = {}
        for name in self.nodes:
            planned = self._arm(name, config)
            if planned is not None:
                self.arms[name] = planned

    def _one(self, config: Mapping[str, Any], key: str) -> Any | None:
        part = self.builder.build(config[key], key) if key in config else None
        return part if part is None or self._fits(part, key, key) else None

    def _fits(self, part: Any, kind: str, where: str) -> bool:
        """Whether an object is what its place needs: any class may stand there that has the parts of the protocol."""
        wanted = PROTOCOLS[kind]
        if isinstance(wanted, type):
            fits, todo = isinstance(part, wanted), f"derive it from {wanted.__module__}.{wanted.__qualname__}"
        else:
            absent = [name for name in wanted if not hasattr(part, name)]
            base = f" (or derive it from {BASES[kind]})" if kind in BASES else ""
            fits, todo = not absent, f"give it {', '.join(absent)}{base}"
        if not fits:
            self.builder.faults.add(where, f"{type(part).__qualname__} is no {kind.removesuffix('s')}", todo)
        return fits

    def _many(self, config: Mapping[str, Any], key: str) -> dict[str, Any]:
        default = {"gates": "evalflow.gate.Gate", "comparisons": "evalflow.comparison.Paired"}.get(key)
        built = {}
        if "_target_" in _mapping(config.get(key)):
            self.builder.faults.add(key, "it is one part, not parts by name", f"compose +{key[:-1]}@{key}.NAME=OPTION")
            return {}
        for name, node in _mapping(config.get(key)).items():
            whole = {"_target_": default, **node} if default and isinstance(node, Mapping) else node
            part = self.builder.build(whole, f"{key}.{name}")
            if part is not None and self._fits(part, key, f"{key}.{name}"):
                built[str(name)] = part
        return built

    def _arm(self, name: str, config: Mapping[str, Any]) -> PlannedArm | None:
        planned = self._single(name, config, self.builder)
        if planned is None or planned.scoring is None:
            if planned is not None and (planned.arm.reference is not None or planned.arm.scoring):
                said = "it is of an experiment that scores texts, and this one has no scoring"
                key = "reference" if planned.arm.reference is not None else "scoring"
                self.builder.faults.add(f"arms.{name}.{key}", said, "compose +scoring=teacher_forced, or drop it")
            return planned
        self._check_scored(planned)
        planned = replace(planned, arm=replace(planned.arm, concurrency=1))  # one text at a time, whatever is asked
        beside = None
        if planned.arm.reference is not None:
            beside = self._beside(planned.name, planned.arm.reference, config)
            if beside is None:
                return None
        model = self._walk(planned, beside)
        return None if model is None else replace(planned, model=model, reference=beside)

    def _check_scored(self, planned: PlannedArm) -> None:
        """Refuse what an arm that scores texts cannot have: seeds would count each position again."""
        where, arm = f"arms.{planned.name}", planned.arm
        if len(arm.seeds) > 1:
            self.builder.faults.add(f"{where}.seeds", "a text that is scored has no seed to vary", "give one")
        if arm.rate is not None:
            self.builder.faults.add(f"{where}.rate", "texts are scored one at a time, at no rate", "drop it")

    def _beside(self, name: str, reference: str, config: Mapping[str, Any]) -> PlannedArm | None:
        """The arm that another is walked with, its model built anew: each walk starts and closes its own."""
        where = f"arms.{name}.reference"
        if reference not in self.named["arms"]:
            self.builder.faults.add(where, f"there is no arm {reference}", nearest(reference, self.named["arms"]))
        elif reference == name:
            self.builder.faults.add(where, "it is the arm itself", "name another")
        elif _mapping(self.nodes[reference]).get("reference") is not None:
            self.builder.faults.add(where, f"{reference} has a reference of its own", "name one that has none")
        else:  # its faults are its own, and named there
            return self._single(reference, config, Builder(self.builder.allowed, Faults()))
        return None

    def _walk(self, planned: PlannedArm, beside: PlannedArm | None) -> Model | None:
        """What walks texts with an arm's model; None (and a fault) where the model cannot score."""
        sides = [side for side in (planned, beside) if side is not None]
        for side in sides:
            fault = _why_not(side.model)
            if fault is None:
                continue
            if side is planned:  # a reference's fault is its own arm's, and named there
                self.builder.faults.add(f"arms.{side.name}.model", *fault)
            return None
        walked = [Walked(side.model, side.scoring) for side in sides if side.scoring is not None]
        return Forced(*walked)

    def _single(self, name: str, config: Mapping[str, Any], builder: Builder) -> PlannedArm | None:
        """An arm by itself; its faults go to the builder's."""
        where, node = f"arms.{name}", self.nodes[name]
        whole = {"_target_": "evalflow.arm.Arm", **node} if isinstance(node, Mapping) else node
        arm = builder.build(whole, where)
        if arm is None or not self._fits(arm, "arms", where):
            return None
        model = self._overlaid(config.get("model"), arm.model, f"{where}.model", builder.faults)
        decoding = self._overlaid(config.get("decoding"), arm.decoding, f"{where}.decoding", builder.faults)
        scoring = None
        if config.get("scoring") is not None:
            scoring = self._overlaid(config["scoring"], arm.scoring, f"{where}.scoring", builder.faults)
        if model is None or decoding is None or (scoring is None and config.get("scoring") is not None):
            return None
        if not (self._fits(model, "model", f"{where}.model") and self._fits(decoding, "decoding", f"{where}.decoding")):
            return None
        try:
            digest(dict(model.identity()))
        except (Exception, SystemExit) as fault:  # noqa: BLE001 - the model may be the user's
            said = " ".join(f"{type(fault).__name__}: {fault}".split())
            builder.faults.add(f"{where}.model", f"its identity cannot be had ({said})", "give plain, finite values")
            return None
        if arm.cache not in getattr(model, "regimes", ("cold",)):
            said = f"{type(model).__name__} has no {arm.cache} cache to offer"
            cure = getattr(model, "isolated_by", Model.isolated_by)
            builder.faults.add(f"{where}.cache", said, f"use cold, or {cure}")
        if scoring is not None and not self._fits(scoring, "scoring", f"{where}.scoring"):
            return None
        return PlannedArm(name, arm, model, decoding, scoring)

    def _overlaid(self, base: Any, over: Mapping[str, Any], where: str, known: Faults) -> Any | None:
        """An arm's own part; a fault that lies in the base is the base's, and named once for all arms."""
        faults = Faults()
        built = Builder(self.builder.allowed, faults).build(overlay(base, over), where)
        for fault in faults.found:
            inside = fault.where.removeprefix(where).lstrip(".")
            if inside.split(".")[0] not in over and "_target_" not in over:
                root = where.rpartition(".")[2]
                place = f"{root}.{inside}" if inside else root
                fault = replace(fault, where=place, todo=fault.todo.replace(f"{fault.where}=", f"{place}="))
            if all(fault.where != one.where for one in known.found):
                known.found.append(fault)
        return built


def _why_not(model: Any) -> tuple[str, str] | None:
    """Why a model cannot score texts, and what to do; None where it can."""
    if not any(all(hasattr(model, part) for part in parts) for parts in (SCORES, SCORES_TEXT)):
        return f"{type(model).__name__} scores no texts", "use tiny_gpt, hf, a recording, or a seat"
    if not getattr(model, "scores_texts", True):
        return "it was not asked to score prompts", "set model.scoring to echo or prompt_logprobs"
    return None


def overlay(base: Any, over: Mapping[str, Any]) -> Any:
    """`over` laid on `base` key by key; an overlay that names another class stands alone."""
    if not isinstance(base, Mapping):
        return over
    if "_target_" in over and over["_target_"] != base.get("_target_"):
        return dict(over)
    return {**base, **over}


def _mapping(node: Any) -> Mapping[Any, Any]:
    return node if isinstance(node, Mapping) else {}
