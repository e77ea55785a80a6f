"""From a pilot to a size: how many items and seeds a wanted difference takes, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evalflow.comparison import FEW, reach
from evalflow.numeric.power import items_equivalent, items_needed, items_non_inferior, mde
from evalflow.numeric.rate_power import items_for_count, items_to_bound
from evalflow.numeric.sign_power import normal_signs_at, pairs_for_signs, signs_at, tilted
from evalflow.numeric.undefined import Undefined
from evalflow.numeric.variance import sd_upper
from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.pilot import Pilot, read_pilot
from evalflow.runner.pilot_cost import ArmCost, Cost, cost_of

SEEDS = (1, 2, 3, 5, 10)
"""Passes that are weighed against items."""
CONFIDENCE = 0.8
"""In this share of pilots the true spread is under the upper one that is planned with beside the pilot's own."""
WILCOXON_LEAST = 0.864
"""The least that a Wilcoxon test can be worth beside a t-test of symmetric differences (Hodges and Lehmann 1956)."""
Kind = Literal["difference", "non-inferior", "equivalent"]


@dataclass(frozen=True)
class Wanted:
    """What is asked of the next run; None is as the comparison has it, or several of the pilot's own making."""

    difference: float | None = None
    margin: float | None = None
    power: float | None = None
    alpha: float | None = None


@dataclass(frozen=True)
class Target:
    """A difference to be shown, or a margin that arms without a difference are to be shown to keep."""

    kind: Kind
    value: float
    why: str


@dataclass(frozen=True)
class Size:
    """What a target takes: clusters and items that both arms score, and `asked`, with those that pilots lose.

    `by_t` are the items that a t-test over clusters takes, which the smallest difference that a report names goes by;
    the comparison's own test, and the interval where clusters are of unequal size, may take more. `asked_upper` is
    planned with the upper end of the spread.
    `cost` is of both arms. All are None, with a reason, where no number of items is the answer.
    """

    target: Target
    clusters: int | None = None
    items: int | None = None
    by_t: int | None = None
    asked: int | None = None
    asked_upper: int | None = None
    cost: Cost | None = None
    reason: str | None = None


@dataclass(frozen=True)
class SeedChoice:
    """A target under so many seeds of each sampled arm, and what the pilot's own items could then show."""

    target: Target
    seeds: int
    sd: float
    shows: float | None
    asked: int
    cost: Cost
    cheapest: bool = False


@dataclass(frozen=True)
class FigureSize:
    """The sizes of one comparison on one figure; `pilot` is None, with a reason, where there are none."""

    comparison: str
    figure: str
    alpha: float
    power: float
    pilot: Pilot | None = None
    sd_upper: float | None = None
    shows: float | None = None
    sizes: tuple[Size, ...] = ()
    seeds: tuple[SeedChoice, ...] = ()
    reason: str | None = None


def size_of(run: ComparedRun, name: str, figure: str, wanted: Wanted, costs: Mapping[str, ArmCost]) -> FigureSize:
    """What one comparison of a pilot run takes on one of its figures; `costs` are of its arms, and maybe of others.

    Raises:
        StoredRunError: its report is older than the comparison.
        MetricError: the metric raised.
    """
    comparison = run.plan.comparisons[name]
    alpha = 1 - comparison.level if wanted.alpha is None else wanted.alpha
    power = comparison.power if wanted.power is None else wanted.power
    blank = FigureSize(name, figure, alpha, power)
    try:
        pilot = read_pilot(run, name, figure)
        own = {arm: costs[arm] for arm in (comparison.reference, comparison.candidate)}
        planner = _Planner(pilot, alpha, power, own, len(run.plan.items))
        targets = planner.targets(wanted, _margins(run, name, figure))
        return FigureSize(
            name,
            figure,
            alpha,
            power,
            pilot,
            sd_upper=sd_upper(pilot.sd, pilot.n_clusters, CONFIDENCE),
            shows=reach(pilot.measure, pilot.by_cluster, alpha, power),
            sizes=tuple(planner.size(target) for target in targets),
            seeds=planner.seed_choices(planner.first(wanted)),
        )
    except Undefined as why:
        return FigureSize(**{**vars(blank), "reason": why.reason})


def _margins(run: ComparedRun, name: str, figure: str) -> list[Target]:
    """The margins that gates of the run hold the figure to."""
    kinds: Mapping[str | None, Kind] = {"non_inferior": "non-inferior", "equivalent": "equivalent"}
    return [
        Target(kinds[gate.verdict], gate.margin, f"gate {key}")
        for key, gate in run.plan.gates.items()
        if gate.comparison == name and gate.figure == figure and gate.verdict in kinds and gate.margin is not None
    ]


@dataclass(frozen=True)
class _Planner:
    """Sizes of one pilot at one alpha and power; `n_items` are those that were asked."""

    pilot: Pilot
    alpha: float
    power: float
    costs: Mapping[str, ArmCost]
    n_items: int

    def targets(self, wanted: Wanted, margins: Sequence[Target]) -> list[Target]:
        """What was asked for; of nothing, differences around what the pilot could show, and its gates' margins.

        Half a difference takes four times the items, so four of them span a factor of 64. The observed one is beside
        them because it is looked for; it is as uncertain as the pilot, and no target.
        """
        asked = [] if wanted.difference is None else [Target("difference", abs(wanted.difference), "asked for")]
        if wanted.margin is not None:
            asked += [Target(kind, wanted.margin, "asked for") for kind in ("non-inferior", "equivalent")]
        if asked:
            return asked
        shows = mde(self.pilot.sd, self.pilot.n_clusters, self.alpha, self.power)
        own = [Target("difference", shows * times, _why(times)) for times in (2.0, 1.0, 0.5, 0.25)]
        observed = abs(self.pilot.told["delta"])
        if observed > 0:
            own.append(Target("difference", observed, "seen in the pilot"))
        own = [target for target in own if target.value <= self._largest]
        return [*sorted(own, key=lambda target: -target.value), *margins]

    def first(self, wanted: Wanted) -> Target:
        """What seeds are weighed for: the difference asked for, else the margin, else what the pilot could show."""
        if wanted.difference is None and wanted.margin is not None:
            return Target("non-inferior", wanted.margin, "asked for")
        if wanted.difference is not None:
            return Target("difference", abs(wanted.difference), "asked for")
        shows = mde(self.pilot.sd, self.pilot.n_clusters, self.alpha, self.power)
        return Target("difference", min(shows, self._largest), _why(1.0))

    def size(self, target: Target) -> Size:
        """What a target takes under the pilot's own seeds."""
        try:
            clusters = self._clusters(target, self.pilot.sd)
            upper = self._clusters(target, sd_upper(self.pilot.sd, self.pilot.n_clusters, CONFIDENCE))
            by_t = self._clusters(target, self.pilot.sd, by_t=True)
        except Undefined as why:
            return Size(target, reason=why.reason)
        asked = self._asked(clusters)
        rows = {name: asked * len(cost.seeds) for name, cost in self.costs.items()}
        return Size(
            target=target,
            clusters=clusters,
            items=self._items(clusters),
            by_t=self._items(by_t),
            asked=asked,
            asked_upper=self._asked(upper),
            cost=cost_of(self.costs, rows),
        )

    def seed_choices(self, target: Target) -> tuple[SeedChoice, ...]:
        """The target under other numbers of seeds; none where the pilot cannot tell what they change."""
        split = self.pilot.split
        if split.parts is None:
            return ()
        own = {len(self.costs[arm].seeds) for arm in split.arms}
        choices = []
        for seeds in sorted({*SEEDS, *own}):
            sd = split.parts.sd(seeds)
            asked = self._asked(self._clusters(target, sd))
            passes = {arm: seeds if arm in split.arms else len(cost.seeds) for arm, cost in self.costs.items()}
            cost = cost_of(self.costs, {arm: asked * n for arm, n in passes.items()})
            choices.append(SeedChoice(target, seeds, sd, self._shows(sd), asked, cost))
        least = min(choices, key=lambda one: (one.cost.requests, one.seeds))
        return tuple(SeedChoice(**{**vars(one), "cheapest": one is least}) for one in choices)

    def _shows(self, sd: float) -> float | None:
        """What the pilot's own clusters could show with this spread; None where two rates cannot differ by it."""
        shows = mde(sd, self.pilot.n_clusters, self.alpha, self.power)
        return shows if shows <= self._largest else None

    @property
    def _largest(self) -> float:
        """What two arms can differ by at most."""
        return 1.0 if self.pilot.measure.is_rate else math.inf

    def _clusters(self, target: Target, sd: float, by_t: bool = False) -> int:
        """The clusters that a target takes with this spread; `by_t`, by a t-test over them alone."""
        needed = {
            "difference": items_needed,
            "non-inferior": items_non_inferior,
            "equivalent": items_equivalent,
        }[target.kind]
        n = needed(sd, target.value, self.alpha, self.power)
        if by_t:
            return n
        times = max(1.0, self.pilot.unequal)
        if target.kind == "difference":
            times = max(times, self._test(target.value))
        return max(math.ceil(n * times - 1e-9), self._least(target) if self.pilot.measure.is_rate else 0)

    def _test(self, difference: float) -> float:
        """How many times the items of a t-test the comparison's own test takes.

        Differences of one size are told apart by their signs alone, whatever the test. With another spread than the
        pilot's the share stays, as the items of both go with its square.
        """
        kind, by_cluster, sd = self.pilot.comparison.test, self.pilot.by_cluster, self.pilot.sd
        sizes = np.unique(np.abs(by_cluster[by_cluster != 0]))
        if kind == "sign" or (kind != "t" and len(sizes) == 1):
            level = bool((by_cluster == 0).any())
            tilts = level or self.pilot.measure.is_rate
            up, down = signs_at(by_cluster, difference) if tilts else normal_signs_at(sd, difference)
            pairs = pairs_for_signs(up, down, self.alpha, self.power)
            return pairs / items_needed(sd, difference, self.alpha, self.power)
        return 1 / WILCOXON_LEAST if kind == "wilcoxon" else 1.0

    def _least(self, target: Target) -> int:
        """The clusters under which the interval of two rates, widened by exact bounds, does not show a target.

        It is widened until `comparison.FEW` clusters lie on one side of the commonest difference. Fewer do where the
        exact bound of what is lost from there keeps to the target by itself; arms that are equal lose half of what
        differs.
        """
        by_cluster, power = self.pilot.by_cluster, self.power
        if target.kind == "difference":
            values, chances = tilted(by_cluster, target.value)
            commonest = float(values[chances.argmax()])
            side = max(float(chances[values < commonest].sum()), float(chances[values > commonest].sum()))
            share = max(0.0, commonest) / (1 + max(0.0, commonest))  # of what there is to lose, the loss down to level
            lost = float((np.maximum(commonest - values, 0.0) * chances).sum()) * (1 - share)
            bound, alpha = share, self.alpha / 2
        else:
            power = (1 + power) / 2 if target.kind == "equivalent" else power
            side, lost = float(np.mean(by_cluster != 0)) / 2, float(np.abs(by_cluster).mean()) / 2
            bound, alpha = target.value, self.alpha
        found = [items_for_count(side, FEW, power)] if side > 0 else []
        if lost < bound:
            found.append(items_to_bound(lost, bound, alpha, power))
        return min(found, default=FEW)

    def _items(self, clusters: int) -> int:
        """Items of so many clusters, as large as the pilot's."""
        return math.ceil(clusters * self.pilot.n_pairs / self.pilot.n_clusters - 1e-9)

    def _asked(self, clusters: int) -> int:
        """Items to ask for that many clusters to be paired, where as large a share is lost as in the pilot."""
        return math.ceil(self._items(clusters) * self.n_items / self.pilot.n_pairs - 1e-9)


def _why(times: float) -> str:
    return {2.0: "twice the MDE", 1.0: "the MDE", 0.5: "half the MDE", 0.25: "a quarter of it"}[times]
