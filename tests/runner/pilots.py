"""Pilot runs written by hand: two arms on numbered questions, a letter per answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.trace import ArmTrace
from tests.report.by_hand import trace
from tests.runner.compared import EXACT, compared

GREEDY: Mapping[str, Any] = {"old": {}, "new": {}}
PAIR = {"reference": "old", "candidate": "new", "figures": ["quality/exact"]}
UP_6_DOWN_2 = {("old", 0): "r" * 2 + "w" * 6 + "r" * 12, ("new", 0): "w" * 2 + "r" * 18}
"""Twenty items: on two the new arm alone is wrong, on six the old one."""
DRIVER = {"saturated": False, "wall_s": 4.0, "requests": 20.0, "warm_calls": 0}


def items(n: int, per_cluster: int = 1) -> tuple[dict[str, Any], ...]:
    """Numbered questions, so many of them depending on one another."""
    clusters = [{"cluster": f"c{place // per_cluster:02}"} if per_cluster > 1 else {} for place in range(n)]
    return tuple({"id": f"q{n:03}", "input": "?", "target": "right", **one} for n, one in enumerate(clusters))


def pilot_run(
    folder: Path,
    said: Mapping[tuple[str, int], str] = UP_6_DOWN_2,
    per_cluster: int = 1,
    arms: Mapping[str, Any] = GREEDY,
    comparison: Mapping[str, Any] = PAIR,
    **parts: Any,
) -> ComparedRun:
    """A scored run of arms `old` and `new`; `parts` are those of `by_hand.made`."""
    n = len(next(iter(said.values())))
    whole = {
        "items": items(n, per_cluster),
        "later": (),
        "metrics": {"exact": EXACT},
        "gates": {},
        "traces": {name: went(name) for name in arms},
        **parts,
    }
    made = compared(folder, "A", said=said, arms=arms, comparisons={"pair": {**PAIR, **comparison}}, **whole)
    return replace(made, stored=replace(made.stored, state={**made.stored.state, "shared": False}))


def went(name: str, **driver: Any) -> tuple[ArmTrace, ...]:
    """How an arm went: twenty requests in four seconds."""
    return (trace("s1", 0, 13, driver={**DRIVER, **driver}),)
