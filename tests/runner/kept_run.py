"""The folder of a run written by hand, down to what a listing reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SEEDS: Mapping[str, Sequence[int]] = {"one": [0, 1], "two": [0]}
CODES = {"pass": 0, "fail": 1, "unreadable": 2, "incomplete": 3}


def kept(
    outputs: Path,
    run_id: str,
    verdict: str | None = "pass",
    state: str = "finished",
    experiment: str = "case",
    n_rows: int = 6,
    **parts: Any,
) -> Path:
    """A run of two items under three passes; `parts` replace keys of its run.json. Without a verdict: no report."""
    folder = outputs / experiment / run_id
    folder.mkdir(parents=True)
    finished = None if state == "running" else "2026-11-30T10:00:01.000+00:00"
    session = {
        "session": "0a1b2c3d",
        "started": "2026-11-30T10:00:00.000+00:00",
        "finished": finished,
        "state": state,
        "pid": 1,
        "host": "here",
        "config_digest": "0" * 64,
        "environment": {},
    }
    run = {
        "schema_version": 1,
        "run_id": run_id,
        "experiment": experiment,
        "resume_key": "1" * 64,
        "conditions": {"arms": {arm: {"seeds": seeds} for arm, seeds in SEEDS.items()}},
        "part": None,
        "shard": None,
        "fingerprints": {},
        "sweep_id": None,
        "shared": False,
        "calibration": None,
        "swept": {},
        "state": state,
        "started": session["started"],
        "finished": finished,
        "sessions": [session],
        **parts,
    }
    write(folder / "run.json", run)
    (folder / "items.jsonl").write_text('{"id": "a"}\n{"id": "b"}\n', encoding="utf-8")
    (folder / "rows.jsonl").write_text('{"arm": "one"}\n' * n_rows, encoding="utf-8")
    if verdict is not None:
        report = {"schema_version": 1, "run_id": run_id, "verdict": verdict, "exit_code": CODES[verdict]}
        sessions = [{key: one[key] for key in ("session", "started", "finished", "state")} for one in run["sessions"]]
        write(folder / "report.json", {**report, "sessions": sessions, "part": run["part"], "instrument": {}})
    return folder


def write(path: Path, value: Any) -> None:
    """A JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def read(path: Path) -> Any:
    """The value of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))
