"""The plan, printed instead of carried out."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from rich.console import Console

from evalflow.report.dry_run import print_plan
from tests.report.by_hand import ARMS, GATES, plan_of


def printed(folder: Path, **parts: Any) -> list[str]:
    out = io.StringIO()
    print_plan(plan_of(folder, **parts), Console(file=out, width=300, highlight=False, markup=False))
    assert "\x1b" not in out.getvalue()
    return out.getvalue().splitlines()


def test_items_and_requests_are_counted(tmp_path: Path):
    """Four items asked once by two arms and twice by one are 16 requests."""
    assert printed(tmp_path)[0] == "four: 4 items of questions, 16 requests"
    assert printed(tmp_path, limit=3)[0] == "four: 3 items of questions (smoke run: limit 3), 12 requests"


def test_every_arm_is_told(tmp_path: Path):
    """Decoding, seeds, concurrency, cache regime and requests of each arm, and which model it is."""
    lines = printed(tmp_path)
    assert "  arm base: greedy, seeds 0, concurrency 1, cold, 4 requests" in lines
    new = lines.index("  arm new: temperature 1, seeds 0, 1, concurrency 1, cold, 8 requests")
    assert lines[new + 1].startswith("    model scripted, table ")


def test_figures_comparisons_and_gates_are_told(tmp_path: Path):
    """What would be computed, compared and held, by name."""
    lines = printed(tmp_path)
    (figures,) = [line for line in lines if line.startswith("  figures: ")]
    assert figures == (
        "  figures: quality/exact, lat/ttft_s/p50, lat/ttft_s/p95, stability/seed_sd, mem/param_bytes, "
        "n/coverage, n/error_share, n/truncated_share"
    )
    assert "  comparison new_vs_base: new against base" in lines
    assert "  gate new_floor: quality/exact of new >= 0.8" in lines
    assert "  gate gain: quality/exact of new_vs_base non_inferior within 0.1" in lines
    everywhere = printed(tmp_path, gates={"all": {"figure": "quality/exact", "floor": 0.5}})
    assert "  gate all: quality/exact of every arm >= 0.5" in everywhere


def test_a_gate_says_what_it_reads(tmp_path: Path):
    """The end of the interval, the rows, a control's opposite and that it decides nothing are part of a gate."""
    gate = {"figure": "quality/exact", "arm": "new", "floor": 0.8, "bound": "lower", "where": {"kind": "a"}}
    lines = printed(tmp_path, gates={"g": {**gate, "expect": "fail", "report_only": True}})
    assert "  gate g: low end of quality/exact of new where kind is a not >= 0.8 (report only)" in lines


def test_notes_are_told(tmp_path: Path):
    """Seeds that cannot matter are said before anything is spent on them."""
    lines = printed(tmp_path, arms={**ARMS, "base": {"seeds": [0, 1, 2]}})
    assert "  note: arm base is greedy: its 3 seeds give the same answers" in lines


def test_hostile_names_are_shown_as_they_are(tmp_path: Path):
    """Markup in a gate's name is text, and an escape code in it is shown instead of sent."""
    lines = printed(tmp_path, gates={"[red]g[/]\x1b[2J": GATES["new_floor"]})
    assert "  gate [red]g[/]\\x1b[2J: quality/exact of new >= 0.8" in lines
