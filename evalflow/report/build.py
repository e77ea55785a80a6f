"""report.json: what a run says, in one document with a schema version."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from evalflow.metric.document import DocumentMetric
from evalflow.metric.protocol import Metric
from evalflow.metric.rate import Rate
from evalflow.record import SCHEMA_VERSION, Figure, Row
from evalflow.runner.claim import Corpus, corpus
from evalflow.runner.instrument import instrument
from evalflow.runner.judge import Judgement
from evalflow.runner.plan import Plan
from evalflow.runner.score import Scores
from evalflow.runner.stored_run import StoredRun
from evalflow.runner.units import ArmScores
from evalflow.runner.walk import reachable
from evalflow.strict_json import plain

_ITEM = "\0"
"""Stands for an item's id where messages are held against each other: one character, which no cut halves."""


def build_report(run: StoredRun, scores: Scores, judgement: Judgement) -> dict[str, Any]:
    """The report of a scored and judged run, as plain JSON values."""
    plan = scores.plan
    report = {
        "schema_version": SCHEMA_VERSION,
        "run_id": run.run_id,
        "experiment": plan.name,
        "verdict": judgement.verdict,
        "exit_code": int(judgement.exit_code),
        "reasons": list(judgement.reasons),
        "step": plan.step,
        "started": run.state["started"],
        "finished": run.state["finished"],
        "sessions": [_session(session, run) for session in run.state["sessions"]],
        "part": plan.selection.part,
        "instrument": instrument(plan, _taken_in(run), _seats(scores)),
        "dataset": {"name": plan.dataset_name, "n": len(plan.items), **plan.fingerprints},
        "arms": {name: _arm(name, scores) for name in plan.arms},
        "comparisons": {
            name: {figure: asdict(delta) for figure, delta in deltas.items()}
            for name, deltas in judgement.comparisons.items()
        },
        "gates": {name: asdict(gate) for name, gate in judgement.gates.items()},
        "asked": _asked(plan),
        "coverage": _coverage(scores),
        "driver": {name: _driver(arm) for name, arm in scores.arms.items()},
        "calibration": run.state["calibration"],
        "notes": [*plan.notes, *_notes(run), *_without_intervals(scores), *_limits_of(scores)],
        "limits": list(plan.limits),
    }
    # tuples become lists here, so that what is validated and logged is what is written
    written: dict[str, Any] = json.loads(json.dumps(report, ensure_ascii=True, allow_nan=False, default=plain))
    return written


def _asked(plan: Plan) -> dict[str, Any]:
    """What a reader must know of the plan to read the rest: what a metric means, whom a comparison or gate reads."""
    return {
        "metrics": {key: _meaning(key, metric) for key, metric in plan.metrics.items()},
        "comparisons": {
            name: {"reference": one.reference, "candidate": one.candidate} for name, one in plan.comparisons.items()
        },
        "gates": {
            name: {"where": dict(gate.where), "margin": gate.margin, "count": gate.count}
            for name, gate in plan.gates.items()
        },
    }


def _meaning(key: str, metric: Metric) -> dict[str, Any]:
    return {
        "figure": metric.figure or f"quality/{key}",
        "grain": metric.grain,
        "unit": metric.measured_in,
        "higher_is_better": metric.higher_is_better,
        "is_rate": isinstance(metric, Rate),
    }


def _without_intervals(scores: Scores) -> list[str]:
    """Figures that have a value and no interval, for want of what their metric says that one needs."""
    notes = []
    for key, metric in scores.plan.metrics.items():
        for name in scores.plan.arms if metric.no_interval else ():
            found = scores.figures(name, keys=[key])
            without = [figure for figure, one in found.items() if one.value is not None and one.low is None]
            if without:
                notes.append(f"no interval of {', '.join(without)} of {name}: {metric.no_interval}")
    return notes


def _session(session: Mapping[str, Any], run: StoredRun) -> dict[str, Any]:
    kept = {key: session[key] for key in ("session", "started", "finished", "state")}
    return {**kept, "n_rows": sum(row.session == session["session"] for row in run.rows)}


def _taken_in(run: StoredRun) -> dict[str, Any]:
    """The environment of the sessions that gave rows; each one's where they differ."""
    working = {row.session for row in run.rows}
    taken = [s["environment"] for s in run.state["sessions"] if s["session"] in working or not working]
    distinct = [one for place, one in enumerate(taken) if one not in taken[:place]]
    return dict(distinct[0]) if len(distinct) == 1 else {"sessions": distinct}


def _notes(run: StoredRun) -> list[str]:
    """What a reader must know of a run that was taken in several sessions."""
    working = dict.fromkeys(row.session for row in run.rows)
    notes = [f"its rows come from {len(working)} sessions: times over more than one are marked"] * (len(working) > 1)
    if "sessions" in _taken_in(run):
        notes.append("its sessions ran in different environments, which the instrument lists")
    if run.state["shared"]:
        notes.append("jobs of its sweep may have run at the same time: its times are of a shared machine")
    for name, parts in run.traces.items():
        own = {row.session for row in run.rows if row.arm == name}
        levels = dict.fromkeys(part.concurrency for part in parts if part.session in own)
        if len(levels) > 1:
            notes.append(f"arm {name} was asked at concurrency {', then '.join(map(str, levels))}")
    return notes


def _seats(scores: Scores) -> dict[str, Any]:
    """What each arm's model found out about itself before it answered: a part of the instrument."""
    facts = {name: arm.trace.facts for name, arm in scores.arms.items() if arm.trace is not None}
    return {name: told["seat"] for name, told in facts.items() if "seat" in told}


def _limits_of(scores: Scores) -> list[str]:
    """Arms that could not be all that was asked of them."""
    told = []
    for name, arm in scores.arms.items():
        asked, most = arm.planned.arm.concurrency, reachable(arm.planned, arm.items)
        if most is not None and most < asked:
            whose = "its largest group has" if arm.planned.arm.cache == "warm" else "there are"
            told.append(f"arm {name} asks {asked} at a time, and can have {most} in flight: {whose} {most} items")
        told += [*_unlisted(name, arm), *_quantised(name, arm)]
        if arm.trace is not None and "settle_failed" in arm.trace.facts:
            told.append(f"arm {name} was not looked at after its last answer: {arm.trace.facts['settle_failed']}")
        share = corpus_of(arm).share
        if share is not None and share > 1:
            told.append(f"arm {name}'s prompts are at least {share:.2g} times what its seat's cache holds")
        if arm.cache_claim.outcome == "broken":
            told.append(f"arm {name} was not what it claims: {arm.cache_claim.why}")
    return told


def _quantised(name: str, arm: ArmScores) -> list[str]:
    """What a reference whose log-probabilities are in steps leaves unknown of a KL."""
    reference = arm.trace.facts.get("reference") if arm.trace else None
    scorer = reference.get("scorer") if isinstance(reference, Mapping) else None
    floor = scorer.get("kl_floor_nats") if isinstance(scorer, Mapping) else None
    if not isinstance(floor, float) or not isinstance(scorer, Mapping):
        return []
    step, least = scorer["step_nats"], scorer["kl_least_logp"]
    steps = f"log-probabilities in steps of up to {step:.3g} nats, none below {least:g}"
    return [f"arm {name}'s reference holds {steps}: a KL is known to about {floor:.1g} nats a position, either way"]


def _unlisted(name: str, arm: ArmScores) -> list[str]:
    """That a seat answered to a model's name that it does not list."""
    seat = arm.trace.facts.get("seat") if arm.trace else None  # facts may be of anybody's model
    identity = seat.get("identity") if isinstance(seat, Mapping) else None
    listed = identity.get("models") if isinstance(identity, Mapping) else None
    if not isinstance(seat, Mapping) or not listed or not arm.rows or seat.get("model") in listed:
        return []
    said = f"arm {name} asked for the model {seat.get('model')}, which its seat answered to and does not list"
    return [f"{said} (it has {', '.join(map(str, listed[:5]))})"]


def to_text(report: Mapping[str, Any]) -> str:
    """The report as it is stored."""
    return json.dumps(report, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def schema() -> dict[str, Any]:
    """The JSON Schema that every report obeys."""
    text = (files("evalflow.report") / "report.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def scores_text(rows: list[Row]) -> str:
    """Each row's statistics and details as JSON lines, beside the raw rows."""
    kept = ("arm", "seed", "item_id", "status", "stats", "detail")
    told = ({name: getattr(row, name) for name in kept} for row in rows)
    return "".join(f"{json.dumps(row, ensure_ascii=True, allow_nan=False, default=plain)}\n" for row in told)


def _arm(name: str, scores: Scores) -> dict[str, Any]:
    arm = scores.arms[name]
    kinds = sorted({item.kind for item in arm.items if item.kind})
    seeds = arm.planned.arm.seeds
    figures = _plain(scores.figures(name))
    held = corpus_of(arm)
    return {
        "conditions": arm.planned.conditions(),
        "order": arm.trace.order if arm.trace else None,
        "unavailable": arm.unavailable,
        "errors": errors_of(arm),
        "concurrency": _concurrency(arm),
        "corpus": {**asdict(held), "share": held.share},
        "claims": {"cache": arm.cache_claim.outcome, "cache_why": arm.cache_claim.why},
        "figures": figures,
        "breakdown": {f"kind={kind}": _of_rows(scores, name, kind) for kind in kinds},
        "by_seed": {str(s): figures if len(seeds) == 1 else _plain(scores.figures(name, seeds=(s,))) for s in seeds},
        "driver": _driver(arm),
        "facts": dict(arm.trace.facts) if arm.trace else {},
        "worst_positions": _worst_positions(scores, name),
    }


def _worst_positions(scores: Scores, name: str, most: int = 5) -> dict[str, list[dict[str, Any]]]:
    """The arm's worst positions under each metric over texts, with the text around them."""
    arm, told = scores.arms[name], {}
    for key, metric in scores.plan.metrics.items():
        if isinstance(metric, DocumentMetric) and not (metric.lockstep and arm.planned.reference is None):
            worst = scores.worst_positions(name, key, {})[:most]
            told[key] = [{"item": item_id, **vars(place)} for item_id, place in worst]
    return told


def _concurrency(arm: ArmScores) -> dict[str, float | None]:
    """Requests at a time: asked for, within reach of the walk, and really in flight."""
    driver = arm.trace.driver if arm.trace else {}
    return {
        "asked": None if arm.planned.arm.rate is not None else arm.planned.arm.concurrency,
        "reachable": reachable(arm.planned, arm.items),
        "in_flight_mean": driver.get("in_flight_mean"),
        "in_flight_max": driver.get("in_flight_max"),
    }


def corpus_of(arm: ArmScores) -> Corpus:
    """How the arm's prompts stand to its seat's cache."""
    return corpus(arm.items, arm.rows.values(), arm.trace.facts if arm.trace else {})


def errors_of(arm: ArmScores, most: int = 5, width: int = 200) -> list[dict[str, Any]]:
    """What its rows failed with, the most frequent first; the rest is counted in one.

    Messages that differ in the item's id alone are one, which names the first item and how many others there are.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for row in arm.rows.values():
        if row.error is not None and row.status == "error":
            said = row.error.message.replace(repr(row.item_id), _ITEM)[:width]
            alike.setdefault((row.error.kind, said), []).append(row.item_id)
    ranked = sorted(alike.items(), key=lambda one: -len(one[1]))
    told = [
        {"kind": kind, "message": said.replace(_ITEM, _first_of(ids))[:width], "count": len(ids)}
        for (kind, said), ids in ranked[:most]
    ]
    if rest := sum(len(ids) for _, ids in ranked[most:]):
        told.append({"kind": "others", "message": f"{len(ranked) - most} other messages", "count": rest})
    return told


def _first_of(ids: Sequence[str]) -> str:
    """The first item, and how many others."""
    n = len(set(ids)) - 1
    return repr(ids[0]) + (f" and {n} other{'s' * (n > 1)}" if n else "")


def _of_rows(scores: Scores, name: str, kind: str) -> dict[str, Any]:
    """The arm's figures over one kind; what is not of rows has none, and percentiles of positions are told whole."""
    plan = scores.plan
    wanted = [key for key, metric in plan.metrics.items() if metric.grain not in ("probe", "position")]
    return _plain(scores.figures(name, {"kind": kind}, keys=wanted))


def _plain(figures: Mapping[str, Figure]) -> dict[str, Any]:
    return {name: asdict(figure) for name, figure in figures.items()}


def _driver(arm: ArmScores) -> dict[str, Any]:
    return dict(arm.trace.driver) if arm.trace else {}


def _coverage(scores: Scores) -> dict[str, int]:
    """Rows planned, there, and in error, over all arms."""
    rows = scores.rows
    return {
        "n_planned": scores.plan.n_requests,
        "n_rows": len(rows),
        "n_error": sum(row.status == "error" for row in rows),
    }
