"""Runs written by hand, as they are held against each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.stored_run import StoredRun
from tests.report.by_hand import ENVIRONMENT, RUN_ID, SESSIONS, TRACES, made

EXACT = {"_target_": "evalflow.metric.exact_match.ExactMatch"}
ITEMS = tuple({"id": name, "input": f"question {name}", "target": "right"} for name in "abcdefghijkl")
"""Twelve questions that depend on nothing but themselves."""
ONE: Mapping[str, Any] = {
    "items": ITEMS,
    "arms": {"base": {}},
    "metrics": {"exact": EXACT},
    "comparisons": {},
    "gates": {},
}
"""An experiment of one arm and one metric over them."""


def compared(folder: Path, label: str, shared: bool = False, **parts: Any) -> ComparedRun:
    """A run of `by_hand`, in a folder of its own; `parts` are those of `made`."""
    home = folder / label
    home.mkdir(exist_ok=True)
    report, scores = made(home, **parts)
    state = {"run_id": RUN_ID, "shared": shared, "conditions": scores.plan.conditions(), "state": "finished"}
    return ComparedRun(label, StoredRun(home, state, scores.plan.items, (), (), TRACES), report, scores)


def one(folder: Path, label: str, said: str, **parts: Any) -> ComparedRun:
    """A run of `ONE`, whose arm `base` said this."""
    return compared(folder, label, said={("base", 0): said}, later=(), **{**ONE, **parts})


def elsewhere(**environment: Any) -> list[dict[str, Any]]:
    """The sessions of a run that was taken in another environment."""
    return [{**session, "environment": {**ENVIRONMENT, **environment}} for session in SESSIONS]
