"""report.json: what a run says, in one document with a schema version."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from evalflow.record import SCHEMA_VERSION, Figure, Row
from evalflow.runner.instrument import instrument
from evalflow.runner.judge import Judgement
from evalflow.runner.score import ArmScores, Scores
from evalflow.runner.stored_run import StoredRun
from evalflow.strict_json import plain


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
        "started": run.state["started"],
        "finished": run.state["finished"],
        "sessions": sorted({row.session for row in run.rows}),
        "part": plan.selection.part,
        "instrument": instrument(plan, run.state["environment"]),
        "dataset": {"name": plan.dataset_name, "n": len(plan.items), **plan.fingerprints},
        "arms": {name: _arm(name, scores) for name in plan.arms},
        "comparisons": {
            name: {figure: asdict(delta) for figure, delta in deltas.items()}
            for name, deltas in judgement.comparisons.items()
        },
        "gates": {name: asdict(gate) for name, gate in judgement.gates.items()},
        "coverage": _coverage(scores),
        "driver": {name: _driver(arm) for name, arm in scores.arms.items()},
        "notes": list(plan.notes),
        "limits": list(plan.limits),
    }
    # tuples become lists here, so that what is validated and logged is what is written
    written: dict[str, Any] = json.loads(json.dumps(report, ensure_ascii=True, allow_nan=False, default=plain))
    return written


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
    return {
        "conditions": arm.planned.conditions(),
        "order": arm.trace.order if arm.trace else None,
        "unavailable": arm.unavailable,
        "errors": errors_of(arm),
        "claims": {"cache": "cannot_say"},
        "figures": _plain(scores.figures(name)),
        "breakdown": {f"kind={kind}": _of_rows(scores, name, kind) for kind in kinds},
        "by_seed": {str(seed): _plain(scores.figures(name, seeds=(seed,))) for seed in seeds},
        "driver": _driver(arm),
        "facts": dict(arm.trace.facts) if arm.trace else {},
    }


def errors_of(arm: ArmScores, most: int = 5, width: int = 200) -> list[dict[str, Any]]:
    """What its rows failed with, the most frequent first."""
    failed = [row.error for row in arm.rows.values() if row.error is not None and row.status == "error"]
    counted = Counter((error.kind, error.message[:width]) for error in failed)
    return [{"kind": kind, "message": said, "count": n} for (kind, said), n in counted.most_common(most)]


def _of_rows(scores: Scores, name: str, kind: str) -> dict[str, Any]:
    """The arm's figures over one kind; those that are not of rows have no kind."""
    plan = scores.plan
    found = scores.figures(name, {"kind": kind})
    return _plain({f: figure for f, figure in found.items() if plan.metrics[plan.owner(f)[0]].grain != "probe"})


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
