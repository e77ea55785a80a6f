"""A finished run written by hand: two arms, four passes, three items."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalflow.record import Item, Row, RowError, Times, fingerprints
from evalflow.tracking.finished_run import FinishedRun

ARMS = {"greedy": [0], "long_sampled": [0, 1, 2]}
ITEMS = [
    Item("copy:tree", "Copy the word: tree", target="tree", kind="copy", cluster="tree"),
    Item("flip:tree", "Flip the word: tree", target="eert", kind="flip", cluster="tree"),
    Item("copy:oak|x", "Copy the word: oak", target="oak", kind="copy", cluster="oak"),
]

MakeRun = Callable[..., FinishedRun]


def figure(value: float | None, unit: str = "", **more: Any) -> dict[str, Any]:
    reason = None if value is not None else "needs 20 rows, has 3"
    counts = {"n_total": 3, "n_scored": 3, "n_excluded": 0, "n_error": 0, "metric_version": 1}
    return {"value": value, "unit": unit, "low": None, "high": None, "reason": reason, **counts, **more}


def arm(seeds: list[int], temperature: float) -> dict[str, Any]:
    by_seed = {
        str(seed): {
            "quality/exact": figure(2 / 3 - 0.1 * seed),
            "lat/ttft_s/p50": figure(0.123456789, "s"),
            "lat/ttft_s/p95": figure(None, "s"),
        }
        for seed in seeds
    }
    return {
        "conditions": {
            "model": {"name": "tiny_gpt", "digest": "d" * 64},
            "decoding": {"temperature": temperature, "top_p": 1.0, "max_tokens": 24, "stop": ["END"]},
            "seeds": seeds,
            "concurrency": 2,
            "cache": "isolated",
            "control": False,
        },
        "order": "sequential",
        "unavailable": None,
        "figures": {
            "quality/exact": figure(2 / 3, low=0.2, high=0.94, method="wilson", level=0.95),
            "lat/ttft_s/p50": figure(0.123456789, "s"),
            "lat/ttft_s/p95": figure(None, "s"),
            "mem/kv_bytes": figure(12_345_678.9, "bytes"),
        },
        "by_seed": by_seed,
    }


def gate(outcome: str, expected: str = "pass", **more: Any) -> dict[str, Any]:
    return {
        "outcome": outcome,
        "expected": expected,
        "figure": "quality/exact",
        "value": 2 / 3,
        "bound": "value",
        "threshold": ">= 0.5",
        "denominator": 3,
        "rows": [],
        "n_rows": 0,
        "reason": None,
        "report_only": False,
        "arm": "greedy",
        "comparison": None,
        "on_fail": None,
        "noise_floor": None,
        **more,
    }


def session(name: str, state: str = "finished") -> dict[str, Any]:
    began = {"session": name, "started": "2026-11-29T10:00:00+00:00"}
    return {**began, "finished": "2026-11-29T10:05:00+00:00", "state": state, "n_rows": 12}


def report(run_id: str) -> dict[str, Any]:
    delta = {
        "delta": -0.1,
        "low": -0.3,
        "high": 0.1,
        "p": 0.5,
        "p_adjusted": 1.0,
        "n_pairs": 3,
        "unpaired": [],
    }
    return {
        "schema_version": 1,
        "run_id": run_id,
        "experiment": "word_tasks",
        "verdict": "fail",
        "exit_code": 1,
        "reasons": [],
        "started": "2026-11-29T10:00:00+00:00",
        "finished": "2026-11-29T10:05:00+00:00",
        "sessions": [session("s1")],
        "instrument": {"hash": "0123456789abcdef" * 4},
        "dataset": {"name": "words", "n": 3, **fingerprints(ITEMS)},
        "arms": {name: arm(seeds, 1.0 if "sampled" in name else 0.0) for name, seeds in ARMS.items()},
        "comparisons": {
            "sampled_vs_greedy": {"quality/exact": {**delta, "words": "worse by 0.1, not shown", "reason": None}}
        },
        "gates": {
            "good": gate("pass"),
            "bad": gate("fail", rows=["copy:oak|x (seed 0)"], on_fail="look at <b>copying</b>"),
            "control": gate("pass", expected="fail", reason="failed, as it should"),
            "p95": gate("unreadable", value=None, denominator=None, reason="needs 20 rows, has 3"),
        },
        "coverage": {},
        "driver": {},
        "notes": ["its rows come from one session"],
        "limits": ["three items show little"],
    }


def row(arm_name: str, seed: int, item: Item, place: int) -> Row:
    failed = place == 2
    answer = None if failed else f"{item.target} said {arm_name}"
    begun = 100.0 + place
    return Row(
        run_id="r",
        session="s1",
        arm=arm_name,
        seed=seed,
        item_id=item.id,
        status="error" if failed else "ok",
        draft=answer,
        served=answer,
        error=RowError("timeout", "no answer to: Copy the word: oak") if failed else None,
        times=Times(scheduled=begun, end=begun + 0.5),
        stats={"exact": None if failed else (1.0,), "f1": (1.0, 0.0, 2.0)},
        detail={"exact": {"expected": item.target}},
    )


def made_in(folder: Path, run_id: str, **changes: Any) -> FinishedRun:
    """A finished run in a folder of its own under `folder`; keyword arguments replace parts of its report."""
    own = folder / "runs" / run_id
    own.mkdir(parents=True, exist_ok=True)
    content = {**report(run_id), **changes}
    rows = [
        row(name, seed, item, place)
        for name, seeds in ARMS.items()
        for seed in seeds
        for place, item in enumerate(ITEMS)
    ]
    (own / "report.json").write_text(json.dumps(content))
    (own / "config.yaml").write_text("name: word_tasks\n")
    answers = "\n".join(f"{one.draft}" for one in rows)
    for name in ("rows.jsonl", "junit.xml", "report.html"):
        (own / name).write_text(answers)
    return FinishedRun(own, content, rows, ITEMS)
