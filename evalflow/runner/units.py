"""An arm's rows as the units that metrics are computed over."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evalflow.metric.protocol import Answer, Metric, Repeats, RowPair
from evalflow.record import Item, Probe, Row
from evalflow.runner.claim import CacheClaim, cache_claim
from evalflow.runner.parts import PlannedArm
from evalflow.runner.trace import ArmTrace

Stats = tuple[float, ...]
PER_ROW = ("row", "document")
"""Grains of one row at a time, whose statistics are kept with it."""


class Unit(NamedTuple):
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
    walked: tuple[Item, ...]
    """The items in the order of the dataset, which `items` are not."""

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
    def faulty(self) -> str | None:
        """Why none of its figures can be read: it was not one instrument throughout."""
        fault = None if self.trace is None else self.trace.facts.get("instrument_fault")
        return None if fault is None else str(fault)

    @property
    def unfinished(self) -> bool:
        """Whether it has not come to its end."""
        return self.trace is None or self.trace.ended is None

    @cached_property
    def untimed(self) -> str | None:
        """Why no time of this arm can be read: the driver was too late or nobody knows, or its cache was another."""
        if self.trace is None:
            return "the driver's own lag is not known"
        saturated = self.trace.driver.get("saturated")
        if saturated is None:
            return "the driver's own lag is not known"
        if saturated:
            return "the driver was saturated"
        claim = self.cache_claim
        return f"the arm was not what it claims: {claim.why}" if claim.outcome == "broken" else None

    @cached_property
    def cache_claim(self) -> CacheClaim:
        """Whether its cache was what its regime claims."""
        return cache_claim(self.planned, self.walked, self.rows.values())


def stats_of(metric: Metric, unit: object) -> Stats | None:
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
    if type(value) is float:
        return value
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise TypeError(f"{value!r:.60} is no number")
    return float(value)


def units_of(key: str, metric: Metric, arm: ArmScores, where: Mapping[str, object], seeds: Sequence[int]) -> list[Unit]:
    """The units of a metric over an arm: its probes, its rows, or its items' rows over seeds."""
    if metric.grain == "probe":
        probes = [probe for probe in arm.probes if probe.name == metric.probe]
        taken = [(stats_of(metric, probe), probe.session) for probe in probes]
        return [Unit(stats, str(i), str(i), False, (session,)) for i, (stats, session) in enumerate(taken)]
    if metric.grain in PER_ROW:
        return row_units(key, metric, arm, where, seeds)
    units = []
    for item in arm.items:
        rows = tuple(arm.rows.get((seed, item.id)) for seed in seeds)
        if all(row is None or row_matches(row, where) for row in rows):
            failed = any(row is None or row.status == "error" for row in rows)
            stats = stats_of(metric, Repeats(item, rows))
            sessions = tuple(row.session for row in rows if row is not None)
            units.append(Unit(None if failed else stats, item.id, item.dependence, failed, sessions))
    return units


def answers_of(arm: ArmScores, where: Mapping[str, object], seeds: Sequence[int]) -> tuple[list[Answer], int, int]:
    """The answers that match `where`, how many were planned, and how many of those have none."""
    planned = planned_rows(arm, where, seeds)
    answers = answered(planned)
    return answers, len(planned), len(planned) - len(answers)


def planned_rows(arm: ArmScores, where: Mapping[str, object], seeds: Sequence[int]) -> list[tuple[Item, Row | None]]:
    """Each item with each of its rows that match `where`, None for one that is not there."""
    every = ((item, arm.rows.get((seed, item.id))) for item in arm.items for seed in seeds)
    return [
        (item, row) for item, row in every if (item_matches(item, where) if row is None else row_matches(row, where))
    ]


def answered(planned: Sequence[tuple[Item, Row | None]]) -> list[Answer]:
    """Those of them that have an answer."""
    return [Answer(item, row) for item, row in planned if row is not None and row.status != "error"]


def pair_units(
    metric: Metric, arm: ArmScores, beside: ArmScores, where: Mapping[str, object], seeds: Sequence[int]
) -> list[Unit]:
    """A unit per planned row that matches `where`, beside the other arm's row of the same item and seed."""
    units = []
    for seed in seeds:
        for item in arm.items:
            row, other = arm.rows.get((seed, item.id)), beside.rows.get((seed, item.id))
            if not (item_matches(item, where) if row is None else row_matches(row, where)):
                continue
            sessions = tuple(one.session for one in (row, other) if one is not None)
            if row is None or other is None or "error" in (row.status, other.status):
                units.append(Unit(None, item.id, item.dependence, True, sessions))
            else:
                pair = RowPair(item, other, row)
                units.append(Unit(stats_of(metric, pair), item.id, item.dependence, False, sessions))
    return units


def row_units(
    key: str, metric: Metric, arm: ArmScores, where: Mapping[str, object], seeds: Sequence[int]
) -> list[Unit]:
    """A unit per planned row that matches `where`; one that is not there has the metric's `missing` statistics."""
    units = []
    for seed in seeds:
        for item in arm.items:
            row = arm.rows.get((seed, item.id))
            if row is None:
                if item_matches(item, where):
                    units.append(Unit(metric.missing, item.id, item.dependence, metric.missing is None))
            elif row_matches(row, where):
                stats = row.stats[key]
                failed = stats is None and row.status == "error"
                units.append(Unit(stats, item.id, item.dependence, failed, (row.session,)))
    return units


def averaged(units: Sequence[Unit]) -> list[Unit]:
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


def row_matches(row: Row, where: Mapping[str, object]) -> bool:
    """Whether a row has every value of `where`."""
    return all(_is(getattr(row, "item_id" if key == "id" else key), wanted) for key, wanted in where.items())


def item_matches(item: Item, where: Mapping[str, object]) -> bool:
    """Whether a row that never came could have matched: what only an answer has, it had not."""
    return all(hasattr(item, key) and _is(getattr(item, key), wanted) for key, wanted in where.items())


def _is(value: object, wanted: object) -> bool:
    return value in wanted if isinstance(wanted, list | tuple) else value == wanted
