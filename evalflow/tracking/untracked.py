"""Not tracking: results stay in the run's folder only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalflow.tracking.finished_run import FinishedRun
from evalflow.tracking.finished_sweep import FinishedSweep


@dataclass(frozen=True)
class Untracked:
    """The choice to log nowhere."""

    def log(self, run: FinishedRun, outputs: Path) -> None:
        """Log nothing."""
        del run, outputs

    def log_sweep(self, sweep: FinishedSweep, outputs: Path) -> None:
        """Log nothing."""
        del sweep, outputs
