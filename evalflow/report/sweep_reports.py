"""The reports of a sweep's jobs, read back from their folders, wherever the outputs have moved to meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from evalflow.errors import EvalflowError
from evalflow.report.stored_report import load_report


def job_folder(job: Mapping[str, Any], sweep: Path) -> Path | None:
    """Where a job's run is kept: beside the sweep's folder, or where the job left it; None where it is not there."""
    if not job["folder"] or not job["run_id"]:
        return None
    left = Path(job["folder"])
    beside = sweep.resolve().parent.parent / left.parent.name / left.name
    found = next((folder for folder in (beside, left) if (folder / "report.json").is_file()), None)
    return found if left.name == job["run_id"] else None


def job_reports(summary: Mapping[str, Any], sweep: Path) -> dict[int, dict[str, Any]]:
    """The report of each job of a summary, by the job's number; one that is gone or cannot be read is left out."""
    found = {}
    for job in summary["jobs"]:
        folder = job_folder(job, sweep)
        if folder is not None:
            with suppress(EvalflowError):
                found[job["job"]] = load_report(folder)
    return found
