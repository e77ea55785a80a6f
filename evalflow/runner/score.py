"""From rows to figures. Scoring again is the same function over the same rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from evalflow.errors import MetricError, StoredRunError
from evalflow.metric.document import DocumentMetric, Place
from evalflow.metric.protocol import Answer, Metric, Stack
from evalflow.metric.rate import Rate
from evalflow.metric.spread import Spread
from evalflow.record import Figure, Item, Probe, Row, digest
from evalflow.runner.figures import figures_of
from evalflow.runner.plan import Plan
from evalflow.runner.trace import Traces, merged
from evalflow.runner.units import (
    PER_ROW,
    ArmScores,
    Stats,
    averaged,
    number,
    row_matches,
    row_units,
    stats_of,
)
from evalflow.strict_json import plain


@dataclass(frozen=True)
class Scores:
    """A whole run, scored."""

    plan: Plan
    arms: Mapping[str, ArmScores]
    _known: dict[tuple[str, str, str, tuple[int, ...]], Mapping[str, Figure]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def rows(self) -> list[Row]:
        """Every scored row, in the plan's order."""
        items = self.plan.items
        return [
            arm.rows[seed, item.id]
            for arm in self.arms.values()
            for seed in arm.planned.arm.seeds
            for item in items
            if (seed, item.id) in arm.rows
        ]

    def figures(
        self,
        arm: str,
        where: Mapping[str, object] | None = None,
        seeds: Sequence[int] | None = None,
        keys: Sequence[str] | None = None,
    ) -> dict[str, Figure]:
        """Every figure of an arm, over the rows that match `where`, under some of its seeds or all.

        `keys` names the metrics that are wanted; all where it is None.
        """
        found: dict[str, Figure] = {}
        for key in self.plan.metrics if keys is None else keys:
            found |= self._of_metric(arm, key, where or {}, seeds or self.arms[arm].planned.arm.seeds)
        return found

    def figure(self, arm: str, name: str, where: Mapping[str, object]) -> Figure:
        """One figure of an arm, over the rows that match `where`."""
        key, _ = self.plan.owner(name)
        return self._of_metric(arm, key, where, self.arms[arm].planned.arm.seeds)[name]

    def _of_metric(self, arm: str, key: str, where: Mapping[str, object], seeds: Sequence[int]) -> Mapping[str, Figure]:
        """A metric's figures, computed once: gates and the report ask for the same ones."""
        asked = (arm, key, digest(dict(where)) if where else "", tuple(sorted(seeds)))
        if asked not in self._known:
            metric = self.plan.metrics[key]
            with blamed(f"metrics.{key}"):
                self._known[asked] = figures_of(key, metric, self.arms[arm], self._beside(metric), where, asked[3])
        return self._known[asked]

    def _beside(self, metric: Metric) -> ArmScores | None:
        """The arm that a metric over pairs holds the others against."""
        return self.arms[metric.reference] if metric.grain == "pair" else None

    def item_stats(self, arm: str, key: str) -> dict[str, Stats]:
        """Item id -> the arm's statistics under a metric over rows, its seeds averaged.

        An item that lacks one of its seeds is left out, and so is a text that lacks one of its positions: what is
        missing is seldom missing by chance.
        """
        scored, metric = self.arms[arm], self.plan.metrics[key]
        units = row_units(key, metric, scored, {}, sorted(scored.planned.arm.seeds))
        partly = {unit.item_id for unit in units if unit.stats is None or not _whole(metric, unit.stats)}
        return {u.item_id: u.stats for u in averaged(units) if u.stats is not None and u.item_id not in partly}

    def worst(self, arm: str, key: str, where: Mapping[str, object]) -> tuple[str, ...]:
        """The rows that drag a metric down, worst first, as `item id (seed s)`."""
        metric = self.plan.metrics[key]
        if isinstance(metric, DocumentMetric | Spread):
            return tuple(f"{item_id} {place}" for item_id, place in self.worst_positions(arm, key, where))
        if metric.grain != "row":
            return ()
        sign = 1.0 if metric.higher_is_better else -1.0
        with blamed(f"metrics.{key}"):
            found = [
                (sign * number(metric.point(stats)), row)
                for row in self.arms[arm].rows.values()
                if row_matches(row, where) and (stats := row.stats.get(key)) is not None
            ]
        best = max((score for score, _ in found), default=0.0)
        if isinstance(metric, Rate):  # its best is known, also where no row reached it
            best = 1.0 if metric.higher_is_better else 0.0
        losing = sorted((pair for pair in found if pair[0] < best), key=lambda pair: pair[0])
        return tuple(f"{row.item_id} (seed {row.seed})" for _, row in losing)

    def worst_positions(self, arm: str, key: str, where: Mapping[str, object]) -> list[tuple[str, Place]]:
        """(item id, place) of what drags a figure over texts down, worst first, what is not finite before all."""
        metric = self.plan.metrics[key]
        assert isinstance(metric, DocumentMetric | Spread), "positions are what these are over"
        items = {item.id: item for item in self.plan.items}
        found: list[tuple[str, Place]] = []
        with blamed(f"metrics.{key}"):
            for row in self.arms[arm].rows.values():
                if row_matches(row, where):
                    unit = Answer(items[row.item_id], row)
                    found += [(row.item_id, place) for place in metric.places(unit)]
        return sorted(found, key=lambda one: (-one[1].rank, one[0], one[1].at))


def score(plan: Plan, rows: Iterable[Row], probes: Sequence[Probe], traces: Traces) -> Scores:
    """Score every row that the plan knows; rows of other arms, seeds or items are left out.

    What a row is of (kind, cluster, prefix group) is its item's to say; the row's own copy is not read. Seeds and items
    are taken in their own order, not in the config's or the dataset's, so that neither can move a figure's last digit.
    """
    return _laid_out(plan, rows, probes, traces, lambda item, row: _scored(plan, item, row))


def as_scored(plan: Plan, rows: Iterable[Row], probes: Sequence[Probe], traces: Traces) -> Scores:
    """The scores of rows that hold their statistics already, as they were kept: no metric reads an answer again."""
    return _laid_out(plan, rows, probes, traces, lambda _, row: row)


def _laid_out(
    plan: Plan, rows: Iterable[Row], probes: Sequence[Probe], traces: Traces, read: Callable[[Item, Row], Row]
) -> Scores:
    by_key = {row.key: row for row in rows}
    items = tuple(sorted(plan.items, key=lambda item: item.id))
    arms = {}
    for name, planned in plan.arms.items():
        found = {
            (seed, item.id): read(item, row)
            for seed in sorted(planned.arm.seeds)
            for item in items
            if (row := by_key.get((name, seed, item.id))) is not None
        }
        own = tuple(probe for probe in probes if probe.arm == name)
        trace = merged(traces.get(name, ()), {row.session for row in found.values()})
        arms[name] = ArmScores(planned, items, found, own, trace, plan.items)
    return Scores(plan, arms)


def _scored(plan: Plan, item: Item, row: Row) -> Row:
    """The row with its item's groupings, what is served of it, and its statistics.

    Statistics come metric by metric: a later one may read an earlier one's.
    """
    stats: dict[str, Stats | None] = {}
    detail = dict(row.detail)
    served = row.served
    if plan.serving is not None and row.draft is not None:
        with blamed("serving", f" on item {item.id!r}"):
            given = plan.serving.serve(item, row.draft)
            served, detail["serving"] = given.text, _as_plain(given.detail)
    # nobody else has the two dicts, so they may grow in a row that is frozen to everybody
    scored = replace(
        row,
        kind=item.kind,
        cluster=item.cluster,
        prefix_group=item.prefix_group,
        served=served,
        stats=stats,
        detail=detail,
    )
    answer, place = Answer(item, scored), ""
    try:
        for key, metric in plan.metrics.items():
            if metric.grain in PER_ROW:
                place = f"metrics.{key}"
                detail[key] = _as_plain(metric.detail(answer))
                stats[key] = stats_of(metric, answer)
    except (KeyboardInterrupt, StoredRunError):  # a file that is gone is no metric's fault
        raise
    except BaseException as fault:
        raise blame(place, fault, f" on item {item.id!r}") from fault
    return scored


def _whole(metric: Metric, stats: Stats) -> bool:
    """Whether a unit has all of its number: of a text, every position, and one at least."""
    return metric.grain != "document" or 0 < stats[0] == stats[1]


def _as_plain(told: Mapping[str, object]) -> Mapping[str, object]:
    """Details as plain values: they are kept in the run's folder."""
    if not told:
        return {}
    made: dict[str, object] = json.loads(json.dumps(dict(told), allow_nan=False, default=plain))
    return made


def coerced(value: Callable[[Stack], object]) -> Callable[[Stack], float]:
    """A metric's value over a stack, as a float."""
    return lambda stack: number(value(stack))


@contextmanager
def blamed(where: str, on: str = "") -> Iterator[None]:
    """Name the metric, which may be the user's, when it raises.

    Raises:
        MetricError: instead of whatever was raised.
        StoredRunError: the file that a row's columns are in cannot be read any more.
    """
    try:
        yield
    except (KeyboardInterrupt, StoredRunError):  # a file that is gone is no metric's fault
        raise
    except BaseException as fault:
        raise blame(where, fault, on) from fault


def blame(where: str, fault: BaseException, on: str = "") -> MetricError:
    """The error of a metric that raised, be it a SystemExit: it must not end the process with a code of its own."""
    return MetricError(f"{where}: {type(fault).__name__}: {fault}{on}; mend the metric and score the run again")
