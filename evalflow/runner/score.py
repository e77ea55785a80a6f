"""From rows to figures. Scoring again is the same function over the same rows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from evalflow.errors import MetricError
from evalflow.metric.protocol import Answer, Metric, Reading, Repeats, Stack
from evalflow.metric.rate import Rate
from evalflow.numeric.undefined import Undefined
from evalflow.record import Figure, Item, Probe, Row
from evalflow.runner.parts import PlannedArm
from evalflow.runner.plan import Plan
from evalflow.runner.trace import ArmTrace, Traces, merged
from evalflow.strict_json import plain

LEVEL = 0.95
Stats = tuple[float, ...]


@dataclass(frozen=True)
class Unit:
    """One unit's statistics under one metric, and what it depends on; `stats` is None where it is excluded."""

    stats: Stats | None
    item_id: str
    cluster: str
    failed: bool
    sessions: tuple[str, ...] = ()


@dataclass(frozen=True)
class ArmScores:
    """One arm, scored: the planned rows that are there, by (seed, item id) in the plan's order, and its probes."""

    planned: PlannedArm
    items: tuple[Item, ...]
    rows: Mapping[tuple[int, str], Row]
    probes: tuple[Probe, ...]
    trace: ArmTrace | None

    @property
    def n_planned(self) -> int:
        """Rows that a complete arm has."""
        return len(self.planned.arm.seeds) * len(self.items)

    @property
    def complete(self) -> bool:
        """Whether every planned row is there."""
        return len(self.rows) == self.n_planned

    @property
    def sessions(self) -> set[str]:
        """The sessions that its rows come from."""
        return {row.session for row in self.rows.values()}

    @property
    def unavailable(self) -> str | None:
        """Why the arm could not run."""
        return None if self.trace is None else self.trace.unavailable

    @property
    def unfinished(self) -> bool:
        """Whether it has not come to its end."""
        return self.trace is None or self.trace.ended is None

    @property
    def untimed(self) -> str | None:
        """Why no time of this arm can be read: the driver was too late, or nobody knows."""
        if self.trace is None:
            return "the driver's own lag is not known"
        saturated = self.trace.driver.get("saturated")
        if saturated is None:
            return "the driver's own lag is not known"
        return "the driver was saturated" if saturated else None


@dataclass(frozen=True)
class Scores:
    """A whole run, scored."""

    plan: Plan
    arms: Mapping[str, ArmScores]

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
        self, arm: str, where: Mapping[str, object] | None = None, seeds: Sequence[int] | None = None
    ) -> dict[str, Figure]:
        """Every figure of an arm, over the rows that match `where`, under some of its seeds or all."""
        scored = self.arms[arm]
        found: dict[str, Figure] = {}
        for key, metric in self.plan.metrics.items():
            with blamed(f"metrics.{key}"):
                found |= _figures(key, metric, scored, where or {}, sorted(seeds or scored.planned.arm.seeds))
        return found

    def figure(self, arm: str, name: str, where: Mapping[str, object]) -> Figure:
        """One figure of an arm, over the rows that match `where`."""
        scored = self.arms[arm]
        key, _ = self.plan.owner(name)
        with blamed(f"metrics.{key}"):
            return _figures(key, self.plan.metrics[key], scored, where, sorted(scored.planned.arm.seeds))[name]

    def item_stats(self, arm: str, key: str) -> dict[str, Stats]:
        """Item id -> the arm's statistics under a metric over rows, its seeds averaged.

        An item that lacks one of its seeds is left out: what is missing is seldom missing by chance.
        """
        scored = self.arms[arm]
        units = _row_units(key, self.plan.metrics[key], scored, {}, sorted(scored.planned.arm.seeds))
        partly = {unit.item_id for unit in units if unit.stats is None}
        return {u.item_id: u.stats for u in _averaged(units) if u.stats is not None and u.item_id not in partly}

    def worst(self, arm: str, key: str, where: Mapping[str, object]) -> tuple[str, ...]:
        """The rows that drag a metric down, worst first, as `item id (seed s)`."""
        metric = self.plan.metrics[key]
        if metric.grain != "row":
            return ()
        sign = 1.0 if metric.higher_is_better else -1.0
        with blamed(f"metrics.{key}"):
            found = [
                (sign * number(metric.point(stats)), row)
                for row in self.arms[arm].rows.values()
                if _row_matches(row, where) and (stats := row.stats.get(key)) is not None
            ]
        best = max((score for score, _ in found), default=0.0)
        if isinstance(metric, Rate):  # its best is known, also where no row reached it
            best = 1.0 if metric.higher_is_better else 0.0
        losing = sorted((pair for pair in found if pair[0] < best), key=lambda pair: pair[0])
        return tuple(f"{row.item_id} (seed {row.seed})" for _, row in losing)


def score(plan: Plan, rows: Iterable[Row], probes: Sequence[Probe], traces: Traces) -> Scores:
    """Score every row that the plan knows; rows of other arms, seeds or items are left out.

    What a row is of (kind, cluster, prefix group) is its item's to say; the row's own copy is not read. Seeds and items
    are taken in their own order, not in the config's or the dataset's, so that neither can move a figure's last digit.
    """
    by_key = {row.key: row for row in rows}
    items = tuple(sorted(plan.items, key=lambda item: item.id))
    arms = {}
    for name, planned in plan.arms.items():
        found = {
            (seed, item.id): _scored(plan.metrics, Answer(item, _of(item, row)))
            for seed in sorted(planned.arm.seeds)
            for item in items
            if (row := by_key.get((name, seed, item.id))) is not None
        }
        own = tuple(probe for probe in probes if probe.arm == name)
        trace = merged(traces.get(name, ()), {row.session for row in found.values()})
        arms[name] = ArmScores(planned, items, found, own, trace)
    return Scores(plan, arms)


def _of(item: Item, row: Row) -> Row:
    return replace(row, kind=item.kind, cluster=item.cluster, prefix_group=item.prefix_group)


def _scored(metrics: Mapping[str, Metric], answer: Answer) -> Row:
    """The row with its statistics, metric by metric: a later one may read an earlier one's."""
    for key, metric in metrics.items():
        if metric.grain != "row":
            continue
        stats, detail = _computed(key, metric, answer)
        row = replace(
            answer.row,
            stats={**answer.row.stats, key: stats},
            detail={**answer.row.detail, key: detail},
        )
        answer = Answer(answer.item, row)
    return answer.row


def _computed(key: str, metric: Metric, unit: Answer) -> tuple[Stats | None, Mapping[str, object]]:
    """A row's statistics and why it got them, as plain values: both are kept in the run's folder."""
    with blamed(f"metrics.{key}", f" on item {unit.item.id!r}"):
        detail: dict[str, object] = json.loads(json.dumps(dict(metric.detail(unit)), allow_nan=False, default=plain))
        return _stats(metric, unit), detail


def _stats(metric: Metric, unit: object) -> Stats | None:
    """The unit's statistics as floats; None too where one of them is no number, so that the unit is excluded."""
    given = metric.stats(unit)
    if given is None:
        return None
    if not isinstance(given, tuple | list | np.ndarray):
        raise TypeError(f"stats gave {type(given).__name__}, not a tuple of numbers")
    stats = tuple(number(entry) for entry in given)
    return stats if all(math.isfinite(entry) for entry in stats) else None


def number(value: object) -> float:
    """A number of whatever kind (numpy's, a whole one, a bool) as a float.

    Raises:
        TypeError: it is none; a text is none either.
    """
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise TypeError(f"{value!r:.60} is no number")
    return float(value)


def coerced(value: Callable[[Stack], object]) -> Callable[[Stack], float]:
    """A metric's value over a stack, as a float."""
    return lambda stack: number(value(stack))


@contextmanager
def blamed(where: str, on: str = "") -> Iterator[None]:
    """Name the metric, which may be the user's, when it raises.

    Raises:
        MetricError: instead of whatever was raised.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # a SystemExit must not end the process with a code of its own
        said = f"{type(fault).__name__}: {fault}"
        raise MetricError(f"{where}: {said}{on}; mend the metric and score the run again") from fault


def _figures(
    key: str, metric: Metric, arm: ArmScores, where: Mapping[str, object], seeds: Sequence[int]
) -> dict[str, Figure]:
    units = _units(key, metric, arm, where, seeds)
    shape = Figure(
        None,
        unit=metric.measured_in,
        n_total=len(units),
        n_scored=sum(unit.stats is not None for unit in units),
        n_excluded=sum(unit.stats is None and not unit.failed for unit in units),
        n_error=sum(unit.failed for unit in units),
        reason="not read yet",
        metric_version=metric.version,
        n_sessions=_n_sessions(units) if metric.clocked or metric.timed else None,
    )
    base = metric.figure or f"quality/{key}"
    reason = _why_undefined(metric, arm, shape, where)
    found = {}
    for suffix, reading in metric.readings().items():
        name = f"{base}/{suffix}" if suffix else base
        found[name] = replace(shape, reason=reason) if reason else _read(reading, metric, units, shape)
    return found


def _n_sessions(units: Sequence[Unit]) -> int | None:
    """Sessions that what was scored was taken in; None where nothing was."""
    return len({session for unit in units if unit.stats is not None for session in unit.sessions}) or None


def _why_undefined(metric: Metric, arm: ArmScores, shape: Figure, where: Mapping[str, object]) -> str | None:
    if arm.unavailable:
        return f"arm unavailable: {arm.unavailable}"
    if arm.trace is None and not arm.rows:
        return "the arm was not run"
    if metric.timed and arm.untimed:
        return arm.untimed
    if metric.grain == "probe" and arm.unfinished:
        return "the arm did not finish"
    if shape.n_total == 0 and metric.grain == "probe":
        return f"no measurement {metric.probe} was taken, or the model has none"
    if shape.n_total == 0:
        return f"empty: no row is {', '.join(f'{key} {wanted}' for key, wanted in where.items())}"
    if shape.n_scored == 0:
        return f"nothing scored ({shape.n_error} errors, {shape.n_excluded} excluded)"
    return None


def _read(reading: Reading, metric: Metric, units: Sequence[Unit], shape: Figure) -> Figure:
    kept = [unit for unit in (_averaged(units) if metric.averages_seeds else units) if unit.stats is not None]
    stack: Stack = np.array([unit.stats for unit in kept], dtype=np.float64)
    clusters = np.array([unit.cluster for unit in kept], dtype=object)
    try:
        value = number(reading.value(stack))
    except (Undefined, ZeroDivisionError, OverflowError) as undefined:
        return replace(shape, reason=getattr(undefined, "reason", str(undefined)))
    if not math.isfinite(value):
        return replace(shape, reason=f"not finite ({value})")
    try:
        interval = reading.interval(stack, clusters, LEVEL)
        ends = None if interval is None else (number(interval.low), number(interval.high))
    except Undefined:
        interval = ends = None
    if interval is None or ends is None or not all(math.isfinite(end) for end in ends):
        return replace(shape, value=value, reason=None)
    return replace(
        shape,
        value=value,
        reason=None,
        low=ends[0],
        high=ends[1],
        level=number(interval.level),
        method=interval.method,
    )


def _units(key: str, metric: Metric, arm: ArmScores, where: Mapping[str, object], seeds: Sequence[int]) -> list[Unit]:
    if metric.grain == "probe":
        probes = [probe for probe in arm.probes if probe.name == metric.probe]
        return [Unit(_stats(metric, probe), str(i), str(i), False, (probe.session,)) for i, probe in enumerate(probes)]
    if metric.grain == "row":
        return _row_units(key, metric, arm, where, seeds)
    units = []
    for item in arm.items:
        rows = tuple(arm.rows.get((seed, item.id)) for seed in seeds)
        if all(row is None or _row_matches(row, where) for row in rows):
            failed = any(row is None or row.status == "error" for row in rows)
            stats = _stats(metric, Repeats(item, rows))
            sessions = tuple(row.session for row in rows if row is not None)
            units.append(Unit(None if failed else stats, item.id, item.dependence, failed, sessions))
    return units


def _row_units(
    key: str, metric: Metric, arm: ArmScores, where: Mapping[str, object], seeds: Sequence[int]
) -> list[Unit]:
    """A unit per planned row that matches `where`; one that is not there has the metric's `missing` statistics."""
    units = []
    for seed in seeds:
        for item in arm.items:
            row = arm.rows.get((seed, item.id))
            if row is None:
                if _item_matches(item, where):
                    units.append(Unit(metric.missing, item.id, item.dependence, metric.missing is None))
            elif _row_matches(row, where):
                stats = row.stats[key]
                failed = stats is None and row.status == "error"
                units.append(Unit(stats, item.id, item.dependence, failed, (row.session,)))
    return units


def _averaged(units: Sequence[Unit]) -> list[Unit]:
    """One unit per item: the mean over its seeds of what was scored."""
    clusters: dict[str, str] = {}
    stats: dict[str, list[Stats]] = {}
    for unit in units:
        if unit.stats is not None:
            clusters[unit.item_id] = unit.cluster
            stats.setdefault(unit.item_id, []).append(unit.stats)
    return [Unit(_mean(rows), item, clusters[item], False) for item, rows in stats.items()]


def _mean(rows: Sequence[Stats]) -> Stats:
    """The mean of each statistic (K,) over an item's rows; most items have one, and numpy is slow at that."""
    return rows[0] if len(rows) == 1 else tuple(np.mean(rows, axis=0).tolist())


def _row_matches(row: Row, where: Mapping[str, object]) -> bool:
    return all(_is(getattr(row, "item_id" if key == "id" else key), wanted) for key, wanted in where.items())


def _item_matches(item: Item, where: Mapping[str, object]) -> bool:
    """Whether a row that never came could have matched: what only an answer has, it had not."""
    return all(hasattr(item, key) and _is(getattr(item, key), wanted) for key, wanted in where.items())


def _is(value: object, wanted: object) -> bool:
    return value in wanted if isinstance(wanted, list | tuple) else value == wanted
