"""Runs that are not tracked."""

from __future__ import annotations

from pathlib import Path

from evalflow.tracking.finished_sweep import FinishedSweep
from evalflow.tracking.untracked import Untracked
from tests.tracking.written_run import MakeRun


def test_untracked_logs_nowhere(make_run: MakeRun, tmp_path: Path) -> None:
    """Logging without tracking returns nothing and writes no file."""
    run = make_run("r")
    before = sorted(tmp_path.rglob("*"))
    assert Untracked().log(run, tmp_path) is None
    assert Untracked().log_sweep(FinishedSweep(tmp_path, {}), tmp_path) is None
    assert sorted(tmp_path.rglob("*")) == before
