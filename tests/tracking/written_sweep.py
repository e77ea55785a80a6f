"""A finished sweep written by hand: two seeds at two concurrencies, of which one job failed and one never ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalflow.tracking.finished_sweep import FinishedSweep

SWEEP_ID = "20261129-100000-abcdef"


def job(number: int, seed: str, concurrency: str, verdict: str | None = "pass", **more: Any) -> dict[str, Any]:
    return {
        "job": number,
        "overrides": [f"seed={seed}", f"concurrency={concurrency}"],
        "swept": {"seed": seed, "concurrency": concurrency},
        "state": "finished" if verdict else "failed",
        "verdict": verdict,
        "exit_code": {"pass": 0, "fail": 1}.get(str(verdict), 3),
        "run_id": f"20261129-10000{number}-00000{number}" if verdict else None,
        "folder": f"outputs/word_tasks/20261129-10000{number}-00000{number}" if verdict else None,
        "said": None,
        "skipped": False,
        "seconds": 2.0,
        "gates": {"failed": [], "unreadable": []},
        **more,
    }


def cell(mean: float | None, concurrency: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "at": {} if concurrency is None else {"concurrency": concurrency},
        "jobs": [0, 2],
        "n_jobs": 2,
        "n_defined": 0 if mean is None else 2,
        "mean": mean,
        "low": None,
        "high": None,
        "method": None,
        "reason": "one seed" if mean is None else None,
        "note": None,
        **more,
    }


def line(arm: str, figure: str, *cells: dict[str, Any], unit: str = "") -> dict[str, Any]:
    return {"arm": arm, "figure": figure, "unit": unit, "cells": list(cells)}


def summary(**changes: Any) -> dict[str, Any]:
    failed = {"failed": ["floor"], "unreadable": ["p95"]}
    return {
        "schema_version": 1,
        "sweep_id": SWEEP_ID,
        "experiment": "word_tasks",
        "overrides": ["experiment=word_tasks", "seed=0,1", "concurrency=1,6"],
        "verdict": "incomplete",
        "exit_code": 3,
        "started": "2026-11-29T10:00:00+00:00",
        "finished": "2026-11-29T10:00:08+00:00",
        "parallel": False,
        "axes": {"seed": ["0", "1"], "concurrency": ["1", "6"]},
        "jobs": [
            job(0, "0", "1"),
            job(1, "0", "6", "fail", gates=failed),
            job(2, "1", "1", skipped=True),
            job(3, "1", "6", None, said="model long: its answer was:\nzebra"),
        ],
        "grid": [
            line(
                "long",
                "lat/ttft_s/p50",
                cell(0.5, "1", low=0.25, high=0.75),
                cell(None, "6", reason="taken in 2 sessions"),
                unit="s",
            ),
            line("long", "quality/exact", cell(2 / 3, "1", n_defined=1), cell(1.0, "6", note="no variation")),
            line("long", "stability/seed_sd", cell(None, "1"), cell(None, "6", reason="the job has no report")),
            line("long_vs_short", "delta quality/exact", cell(-0.1, "1"), cell(0.0, "6")),
        ],
        "notes": ["jobs took a part of their dataset", "job 3 could not run: model long: its answer was: zebra"],
        **changes,
    }


def swept_in(folder: Path, **changes: Any) -> FinishedSweep:
    """The sweep in a folder of its own under `folder`; keyword arguments replace parts of its summary."""
    content = summary(**changes)
    own = folder / ".sweeps" / content["sweep_id"]
    own.mkdir(parents=True, exist_ok=True)
    (own / "sweep.json").write_text("{}")
    (own / "summary.json").write_text(json.dumps(content))
    (own / "summary.csv").write_text("arm,figure\n")
    return FinishedSweep(own, content)
