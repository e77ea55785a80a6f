"""From a composed config to a plan: typed, cross-checked, and with every fault of it found at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from evalflow.arm import Arm
from evalflow.comparison import Paired
from evalflow.dataset.protocol import ITEM_KEYS, Dataset, Selection, Shard, collect, select
from evalflow.errors import ConfigError, EvalflowError
from evalflow.gate import Gate
from evalflow.metric.health import HEALTH
from evalflow.metric.protocol import Metric, figure_names
from evalflow.model.protocol import Model
from evalflow.record import Decoding, Item, digest, fingerprints
from evalflow.runner.build import Builder, Faults, nearest
from evalflow.runner.settings import Runner

ROW_KEYS = (*ITEM_KEYS, "status", "finish_reason")
"""What a gate's `where` may name."""
CONDITIONS = ("concurrency", "cache", "greedy")
"""What a gate's `when` may name."""
PROTOCOLS: Mapping[str, type | tuple[str, ...]] = {
    "arms": Arm,
    "metrics": Metric,
    "comparisons": Paired,
    "gates": Gate,
    "decoding": Decoding,
    "runner": Runner,
    "dataset": ("name", "items"),
    "model": ("identity", "start", "complete", "measure", "facts", "close"),
    "tracking": ("log",),
}
"""What each part must be (a class), or must have."""


@dataclass(frozen=True)
class Root:
    """The keys of a composed config; the nodes below them are typed one by one."""

    name: str
    dataset: Any
    model: Any
    decoding: Any
    runner: Any
    tracking: Any = None
    description: str = ""
    seed: int = 0
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
        if self.concurrency < 1 or (self.limit is not None and self.limit < 1):
            raise ValueError(f"concurrency is {self.concurrency}, limit {self.limit}; give at least 1")


@dataclass(frozen=True)
class PlannedArm:
    """An arm with its own model and decoding, the overlays applied."""

    name: str
    arm: Arm
    model: Model
    decoding: Decoding

    def conditions(self) -> dict[str, Any]:
        """What the arm ran under, as the report and the instrument carry it."""
        return {
            "model": dict(self.model.identity()),
            "decoding": asdict(self.decoding),
            "greedy": self.decoding.greedy,
            "seeds": list(self.arm.seeds),
            "concurrency": self.arm.concurrency,
            "cache": self.arm.cache,
            "control": self.arm.control,
            "optional": self.arm.optional,
        }


@dataclass(frozen=True)
class Plan:
    """Everything a run needs, checked. Nothing is looked up by name in the config after this."""

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
    limits: tuple[str, ...]
    config: Mapping[str, Any]
    notes: tuple[str, ...] = ()

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

    def resume_key(self) -> str:
        """The digest of everything that can change a row; two runs with one key would give the same rows."""
        arms = {name: _row_conditions(planned) for name, planned in self.arms.items()}
        return digest({"dataset": dict(self.fingerprints), "seed": self.seed, "arms": list(arms.items())})


def owners(metrics: Mapping[str, Metric]) -> dict[str, tuple[str, str]]:
    """Figure name -> (metric key, reading suffix), for every figure that the metrics produce."""
    found = {}
    for key, metric in metrics.items():
        for name, suffix in zip(figure_names(key, metric), metric.readings(), strict=True):
            found[name] = (key, suffix)
    return found


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
    root = builder.construct(Root, config, "")
    parts = _Parts(builder, config)
    selection = stored or _selection(parts.dataset, root, faults)
    if root is not None and root.resume is not None:
        faults.add("resume", "this evalflow cannot resume a run", "drop it; an unfinished run is left as it is")
    _check(parts, selection, faults)
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
        metrics={**parts.metrics, **HEALTH},
        comparisons=parts.comparisons,
        gates=parts.gates,
        runner=parts.runner,
        tracking=parts.tracking,
        limits=root.limits,
        config=config,
        notes=_notes(parts.arms),
    )


class _Parts:
    """The typed parts of a config; one that could not be built is absent, and its fault noted."""

    def __init__(self, builder: Builder, config: Mapping[str, Any]) -> None:
        self.builder = builder
        self.dataset: Dataset | None = self._one(config, "dataset")
        self.runner: Runner | None = self._one(config, "runner")
        self.tracking = self._one(config, "tracking") if config.get("tracking") is not None else None
        self.metrics: dict[str, Metric] = self._many(config, "metrics")
        self.comparisons: dict[str, Paired] = self._many(config, "comparisons")
        self.gates: dict[str, Gate] = self._many(config, "gates")
        self.named = {kind: set(_mapping(config.get(kind))) for kind in ("arms", "metrics", "comparisons", "gates")}
        self.arms: dict[str, PlannedArm] = {}
        for name, node in _mapping(config.get("arms")).items():
            planned = self._arm(str(name), node, config)
            if planned is not None:
                self.arms[str(name)] = planned

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
            fits, todo = not absent, f"give it {', '.join(absent)}"
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

    def _arm(self, name: str, node: Any, config: Mapping[str, Any]) -> PlannedArm | None:
        where = f"arms.{name}"
        whole = {"_target_": "evalflow.arm.Arm", **node} if isinstance(node, Mapping) else node
        arm = self.builder.build(whole, where)
        if arm is None or not self._fits(arm, "arms", where):
            return None
        model = self._overlaid(config.get("model"), arm.model, f"{where}.model")
        decoding = self._overlaid(config.get("decoding"), arm.decoding, f"{where}.decoding")
        if model is None or decoding is None:
            return None
        if not (self._fits(model, "model", f"{where}.model") and self._fits(decoding, "decoding", f"{where}.decoding")):
            return None
        if arm.cache not in getattr(model, "regimes", ("cold",)):
            said = f"{type(model).__name__} has no {arm.cache} cache to offer"
            self.builder.faults.add(f"{where}.cache", said, "use cold, or a model that caches prompts")
        return PlannedArm(name, arm, model, decoding)

    def _overlaid(self, base: Any, over: Mapping[str, Any], where: str) -> Any | None:
        """An arm's own part; a fault that lies in the base is the base's, and named once for all arms."""
        faults = Faults()
        built = Builder(self.builder.allowed, faults).build(overlay(base, over), where)
        for fault in faults.found:
            inside = fault.where.removeprefix(where).lstrip(".")
            if inside.split(".")[0] not in over and "_target_" not in over:
                root = where.rpartition(".")[2]
                fault = replace(fault, where=f"{root}.{inside}" if inside else root)
            if all(fault.where != known.where for known in self.builder.faults.found):
                self.builder.faults.found.append(fault)
        return built


def overlay(base: Any, over: Mapping[str, Any]) -> Any:
    """`over` laid on `base` key by key; an overlay that names another class stands alone."""
    if not isinstance(base, Mapping):
        return over
    if "_target_" in over and over["_target_"] != base.get("_target_"):
        return dict(over)
    return {**base, **over}


def _mapping(node: Any) -> Mapping[Any, Any]:
    return node if isinstance(node, Mapping) else {}


def _selection(dataset: Dataset | None, root: Root | None, faults: Faults) -> Selection | None:
    if dataset is None:
        return None
    try:
        items = collect(dataset)
        if root is None:
            return Selection(items, None)
        unknown = sorted(set(root.where) - set(ITEM_KEYS))
        for key in unknown:
            faults.add(f"where.{key}", "items have no such key", nearest(key, ITEM_KEYS))
        return None if unknown else select(items, root.where, root.shard, root.limit)
    except EvalflowError as refused:
        where, _, message = str(refused).partition(": ")
        faults.add_said(where, message)
        return None


def _check(parts: _Parts, selection: Selection | None, faults: Faults) -> None:
    """Faults between parts: names that do not meet, figures that nobody produces, targets that are not there."""
    if not parts.named["arms"]:
        faults.add("arms", "there is none", "compose at least one, such as +arm@arms.one=greedy")
    metrics = {**parts.metrics, **HEALTH}
    for key in set(parts.metrics) & set(HEALTH):
        faults.add(f"metrics.{key}", "the name is taken by a figure that every run has", "choose another")
    figures = _figures(metrics, faults)
    for name, comparison in parts.comparisons.items():
        _check_comparison(name, comparison, parts, metrics, figures, faults)
    for name, gate in parts.gates.items():
        _check_gate(name, gate, parts, metrics, figures, faults)
    for key, metric in parts.metrics.items():
        of = getattr(metric, "of", None)
        if metric.grain == "item" and of is not None and of not in parts.named["metrics"]:
            faults.add(f"metrics.{key}.of", f"there is no metric {of}", nearest(str(of), parts.named["metrics"]))
        untargeted = [item.id for item in (selection.items if selection else ()) if item.target is None]
        if metric.needs_target and untargeted:
            said = f"{len(untargeted)} items have no target, {untargeted[0]!r} first"
            faults.add(f"metrics.{key}", said, "give every item a target, or remove the metric")


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
    parts: _Parts,
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
        elif metrics[figures[figure][0]].grain != "row":
            faults.add(f"{where}.figures", f"{figure} is not per item, so it cannot be paired", "name another figure")


def _check_gate(
    name: str,
    gate: Gate,
    parts: _Parts,
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
    for key in gate.when:
        if key not in CONDITIONS:
            faults.add(f"{where}.when.{key}", "arms have no such condition", nearest(str(key), CONDITIONS))


def _unproduced(where: str, figure: str, parts: _Parts, figures: Mapping[str, Any], faults: Faults) -> None:
    """A figure that nobody produces, unless a metric that could not be built may be the one that would."""
    unbuilt = parts.named["metrics"] - set(parts.metrics)
    group, _, key = figure.partition("/")
    if not unbuilt or (group == "quality" and key.split("/")[0] not in unbuilt):
        faults.add(where, f"no metric produces {figure}", nearest(figure, figures))


def _notes(arms: Mapping[str, PlannedArm]) -> tuple[str, ...]:
    return tuple(
        f"arm {name} is greedy: its {len(planned.arm.seeds)} seeds give the same answers"
        for name, planned in arms.items()
        if planned.decoding.greedy and len(planned.arm.seeds) > 1
    )


def _row_conditions(planned: PlannedArm) -> dict[str, Any]:
    """The conditions that can change a row: all but concurrency, which no model may let show."""
    cannot_matter = ("concurrency", "control", "optional")
    return {key: value for key, value in planned.conditions().items() if key not in cannot_matter}
