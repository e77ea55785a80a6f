"""A metric's figures over one arm: its units stacked, counted, and read; or why there is no number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from evalflow.metric.corpus import Corpus
from evalflow.metric.protocol import Clusters, Metric, Reading, Stack
from evalflow.metric.spread import Spread
from evalflow.numeric.undefined import Undefined
from evalflow.record import Figure
from evalflow.runner.positions import positions_of
from evalflow.runner.units import ArmScores, Unit, answered, averaged, number, pair_units, planned_rows, units_of

LEVEL = 0.95


def figures_of(
    key: str,
    metric: Metric,
    arm: ArmScores,
    beside: ArmScores | None,
    where: Mapping[str, object],
    seeds: Sequence[int],
) -> dict[str, Figure]:
    """The figures of the metric under `key` by name, over the rows that match `where`, under these seeds.

    `beside` is the arm that a metric over pairs holds the others against.
    """
    if isinstance(metric, Spread):
        return _spread(metric, arm, where, seeds)
    if isinstance(metric, Corpus):
        return _of_corpus(key, metric, arm, where, seeds)
    if beside is None:
        units = units_of(key, metric, arm, where, seeds)
    else:
        units = pair_units(metric, arm, beside, where, seeds)
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
    if metric.grain == "document":
        shape = _counting_positions(shape, units)
    base = metric.figure or f"quality/{key}"
    reason = _why_undefined(metric, arm, shape, where, len(units)) or (beside and _why_alone(metric, arm, beside))
    names = {f"{base}/{suffix}" if suffix else base: reading for suffix, reading in metric.readings().items()}
    if reason:
        return dict.fromkeys(names, replace(shape, reason=reason))
    kept = [unit for unit in (averaged(units) if metric.averages_seeds else units) if unit.stats is not None]
    stack: Stack = np.array([unit.stats for unit in kept], dtype=np.float64)
    clusters = np.array([unit.cluster for unit in kept], dtype=object)
    return {name: _read(reading, stack, clusters, shape) for name, reading in names.items()}


def _counting_positions(shape: Figure, units: Sequence[Unit]) -> Figure:
    """The counts of a figure over texts: their positions, and of a text that has none as many as the longest has."""
    scored = [unit.stats for unit in units if unit.stats is not None]
    known, positions = int(sum(stats[0] for stats in scored)), int(sum(stats[1] for stats in scored))
    each = max((int(stats[1]) for stats in scored), default=0) or 1
    total, n_error = positions + each * (shape.n_error + shape.n_excluded), each * shape.n_error
    return replace(shape, n_total=total, n_scored=known, n_excluded=total - known - n_error, n_error=n_error)


def _of_corpus(
    key: str, metric: Corpus, arm: ArmScores, where: Mapping[str, object], seeds: Sequence[int]
) -> dict[str, Figure]:
    """The figures of a metric over all answers at once."""
    planned = planned_rows(arm, where, seeds)
    concerned = [one for one in planned if metric.concerns(*one)]
    units, n_total = answered(concerned), len(concerned)
    n_error = n_total - len(units)
    stack = metric.stack(units) if units else np.empty((0, 1))
    known = np.isfinite(stack).all(axis=1)
    n_scored = int(known.sum())
    shape = Figure(
        None,
        unit=metric.measured_in,
        n_total=n_total,
        n_scored=n_scored,
        n_excluded=n_total - n_scored - n_error,
        n_error=n_error,
        reason="not read yet",
        metric_version=metric.version,
    )
    base = metric.figure or f"quality/{key}"
    readings = {f"{base}/{suffix}" if suffix else base: reading for suffix, reading in metric.readings().items()}
    reason = _why_undefined(metric, arm, shape, where, len(planned), metric.why_none(units) if not n_scored else "")
    if reason:
        return dict.fromkeys(readings, replace(shape, reason=reason))
    clusters = np.array([unit.item.dependence for unit in units], dtype=object)[known]
    return {name: _read(reading, stack[known], clusters, shape) for name, reading in readings.items()}


def _spread(metric: Spread, arm: ArmScores, where: Mapping[str, object], seeds: Sequence[int]) -> dict[str, Figure]:
    """The figures of a metric over positions."""
    found = positions_of(metric, arm, where, seeds)
    shape = Figure(
        None,
        unit=metric.measured_in,
        n_total=found.n_total,
        n_scored=found.n_scored,
        n_excluded=found.n_total - found.n_scored - found.n_error,
        n_error=found.n_error,
        reason="not read yet",
        metric_version=metric.version,
    )
    reason = _why_undefined(metric, arm, shape, where, found.n_texts)
    readings = {f"{metric.figure}/{suffix}": reading for suffix, reading in metric.readings().items()}
    if reason:
        return dict.fromkeys(readings, replace(shape, reason=reason))
    return {name: _read(reading, found.stack, found.clusters, shape) for name, reading in readings.items()}


def _n_sessions(units: Sequence[Unit]) -> int | None:
    """Sessions that what was scored was taken in; None where nothing was."""
    return len({session for unit in units if unit.stats is not None for session in unit.sessions}) or None


def _why_undefined(
    metric: Metric, arm: ArmScores, shape: Figure, where: Mapping[str, object], n_units: int, empty: str = ""
) -> str | None:
    """Why a figure over so many units (probes, rows, items, texts) has no value; `empty` where none of them counts."""
    if arm.unavailable:
        return f"arm unavailable: {arm.unavailable}"
    if arm.trace is None and not arm.rows:
        return "the arm was not run"
    if arm.faulty:
        return arm.faulty
    if metric.timed and arm.untimed:
        return arm.untimed
    if metric.grain == "probe" and arm.unfinished:
        return "the arm did not finish"
    if n_units == 0 and metric.grain == "probe":
        return f"no measurement {metric.probe} was taken, or the model has none"
    if n_units == 0:
        return f"empty: no row is {', '.join(f'{key} {wanted}' for key, wanted in where.items())}"
    if metric.one_session and (shape.n_sessions or 1) > 1:
        return f"taken in {shape.n_sessions} sessions, whose clocks and pauses do not add up"
    if metric.lockstep and arm.planned.reference is None:
        return "the arm has no reference"
    if shape.n_scored == 0:
        lost = f" ({shape.n_error} errors, {shape.n_excluded} excluded)" if shape.n_total else ""
        return f"{empty or metric.empty}{lost}"
    return None


def _why_alone(metric: Metric, arm: ArmScores, beside: ArmScores) -> str | None:
    """Why an arm has no figure over pairs with another."""
    if arm is beside:
        return "the others are held against this arm"
    if beside.unavailable:
        return f"arm unavailable: {beside.unavailable}"
    return beside.faulty or (beside.untimed if metric.timed else None)


def _read(reading: Reading, stack: Stack, clusters: Clusters, shape: Figure) -> Figure:
    shape = replace(shape, unit=getattr(reading, "measured_in", shape.unit))  # one of several may have its own
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
