"""A finished run of four questions and three arms, its rows written by hand."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalflow.record import Row, RowError
from evalflow.report.build import build_report
from evalflow.runner.judge import judge
from evalflow.runner.plan import Plan, build_plan
from evalflow.runner.score import Scores, score
from evalflow.runner.stored_run import StoredRun
from evalflow.runner.trace import ArmTrace, Traces

RUN_ID = "20261129-101112-abcdef"
ITEMS = (
    {"id": "a", "input": "?", "target": "right", "kind": "x", "cluster": "w1"},
    {"id": "b", "input": "?", "target": "right", "kind": "y", "cluster": "w1"},
    {"id": "c", "input": "?", "target": "right", "kind": "x", "cluster": "w2"},
    {"id": "d", "input": "?", "target": "right", "kind": "y", "cluster": "w2"},
)
ARMS: Mapping[str, Any] = {
    "base": {},
    "new": {"decoding": {"temperature": 1.0}, "seeds": [0, 1]},
    "bad": {"control": True},
}
METRICS = {
    "exact": {"_target_": "evalflow.metric.exact_match.ExactMatch"},
    "ttft": {"_target_": "evalflow.metric.latency.Ttft"},
    "sd": {"_target_": "evalflow.metric.seed_sd.SeedSd", "of": "exact"},
    "params": {"_target_": "evalflow.metric.memory.ParamBytes"},
}
GATES: Mapping[str, Any] = {
    "new_floor": {"figure": "quality/exact", "arm": "new", "floor": 0.8},
    "base_floor": {"figure": "quality/exact", "arm": "base", "floor": 0.5, "on_fail": "train longer"},
    "control": {"figure": "quality/exact", "arm": "bad", "floor": 0.5, "expect": "fail"},
    "first_token": {"figure": "lat/ttft_s/p50", "arm": "new", "ceiling": 1.0, "report_only": True},
    "gain": {"comparison": "new_vs_base", "figure": "quality/exact", "verdict": "non_inferior", "margin": 0.1},
    "alone": {"figure": "quality/exact", "arm": "new", "floor": 0.1, "when": {"concurrency": 9}},
}
COMPARISONS = {"new_vs_base": {"reference": "base", "candidate": "new", "figures": ["quality/exact"]}}
# (arm, seed) -> right, wrong or error, for each item in order
SAID = {
    ("base", 0): "rwwe",
    ("new", 0): "rrrr",
    ("new", 1): "rrwr",
    ("bad", 0): "wwww",
}
ENVIRONMENT = {"python": "3"}
SESSIONS = (
    {
        "session": "s1",
        "started": "2026-11-29T10:11:12+00:00",
        "finished": "2026-11-29T10:11:40+00:00",
        "state": "interrupted",
        "environment": ENVIRONMENT,
    },
    {
        "session": "s2",
        "started": "2026-11-29T10:11:50+00:00",
        "finished": "2026-11-29T10:12:00+00:00",
        "state": "finished",
        "environment": ENVIRONMENT,
    },
)
"""The first was stopped before it came to the last arm."""


def trace(session: str, order: int, second: int, **known: Any) -> ArmTrace:
    """An arm's account of one session, begun at 10:11 and `second` s, ended a second later."""
    begun, ended = (f"2026-11-29T10:11:{s}+00:00" for s in (second, second + 1))
    return ArmTrace(session, order, begun, 1, **{"ended": ended, **known})


TRACES: Traces = {
    "base": (trace("s1", 1, 13, driver={"saturated": False, "loop_lag_p99_s": 0.001}, facts={"batch": 2.0}),),
    "new": (trace("s1", 2, 14, driver={"saturated": False, "loop_lag_p99_s": None}),),
    "bad": (trace("s2", 3, 51),),
}


def plan_of(folder: Path, items: Iterable[Mapping[str, Any]] = ITEMS, **parts: Any) -> Plan:
    """The experiment's plan, its items written to `folder`; `parts` replace keys of the config."""
    path = folder / "items.jsonl"
    path.write_text("".join(f"{json.dumps(item)}\n" for item in items), encoding="utf-8")
    config = {
        "name": "four",
        "dataset": {"_target_": "evalflow.dataset.jsonl.Jsonl", "path": str(path), "name": "questions"},
        "model": {"_target_": "evalflow.model.scripted.Scripted", "otherwise": "right"},
        "decoding": {"_target_": "evalflow.record.Decoding"},
        "runner": {"_target_": "evalflow.runner.settings.Runner"},
        "arms": ARMS,
        "metrics": METRICS,
        "comparisons": COMPARISONS,
        "gates": GATES,
        "limits": ["four questions show little"],
    }
    return build_plan({**config, **parts})


def rows_of(
    plan: Plan, said: Mapping[tuple[str, int], str] = SAID, later: Collection[str] = ("bad",)
) -> tuple[Row, ...]:
    """A row for each letter; `-` stands for a row that is not there. Arms and items in `later` were asked in s2."""
    answers = {"r": "right", "w": "wrong", "e": None}
    return tuple(
        Row(
            run_id=RUN_ID,
            session="s2" if {arm, item.id} & set(later) else "s1",
            arm=arm,
            seed=seed,
            item_id=item.id,
            status="error" if letter == "e" else "ok",
            draft=answers[letter],
            served=answers[letter],
            cluster=item.cluster,
            kind=item.kind,
            error=RowError("ModelError", "no answer") if letter == "e" else None,
            finish_reason=None if letter == "e" else "stop",
        )
        for (arm, seed), letters in said.items()
        for item, letter in zip(plan.items, letters, strict=False)
        if letter != "-"
    )


def made(
    folder: Path,
    said: Mapping[tuple[str, int], str] = SAID,
    traces: Traces = TRACES,
    sessions: Sequence[Mapping[str, Any]] = SESSIONS,
    later: Collection[str] = ("bad",),
    shared: bool = False,
    calibration: Mapping[str, Any] | None = None,
    **parts: Any,
) -> tuple[dict[str, Any], Scores]:
    """The report of the run, and its scores."""
    plan = plan_of(folder, **parts)
    state: dict[str, Any] = {
        "run_id": RUN_ID,
        "started": "2026-11-29T10:11:12+00:00",
        "finished": "2026-11-29T10:12:00+00:00",
        "sessions": sessions,
        "shared": shared,
        "calibration": calibration,
    }
    run = StoredRun(folder, state, plan.items, rows_of(plan, said, later), (), traces)
    scores = score(plan, run.rows, run.probes, run.traces)
    return build_report(run, scores, judge(scores)), scores


def bare(**changes: Any) -> dict[str, Any]:
    """A report with one arm, one figure and one passed gate, for what only prints it."""
    figure = {
        "value": 0.75,
        "unit": "share",
        "low": 0.5,
        "high": 0.9,
        "n_total": 60,
        "n_scored": 60,
        "reason": None,
        "n_sessions": 1,
    }
    gates = changes.pop("gates", {"floor": gate()})
    return {
        "experiment": "four",
        "run_id": RUN_ID,
        "part": None,
        "dataset": {"name": "questions", "n": 60},
        "arms": {
            "base": {
                "conditions": {"control": False},
                "unavailable": None,
                "errors": [],
                "facts": {},
                "figures": {"quality/exact": figure},
                "breakdown": {},
            }
        },
        "notes": [],
        "comparisons": {},
        "gates": gates,
        "asked": {"gates": {name: asked_of() for name in gates}, "comparisons": {}},
        "limits": [],
        "reasons": [],
        "verdict": "pass",
        "exit_code": 0,
        **changes,
    }


def asked_of(**changes: Any) -> dict[str, Any]:
    """What a report says was asked of a gate."""
    return {"where": {}, "margin": None, "count": False, **changes}


def gate(outcome: str = "pass", **changes: Any) -> dict[str, Any]:
    """One gate's entry in a report."""
    return {
        "outcome": outcome,
        "expected": "pass",
        "figure": "quality/exact",
        "value": 0.75,
        "bound": "value",
        "threshold": ">= 0.7",
        "denominator": 60,
        "arm": "base",
        "comparison": None,
        "rows": [],
        "n_rows": 0,
        "reason": None,
        "report_only": False,
        "on_fail": None,
        "noise_floor": None,
        **changes,
    }
