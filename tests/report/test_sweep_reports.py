"""The reports of a sweep's jobs: found where they lie now, and only those that are theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalflow.report.sweep_reports import job_folder, job_reports
from tests.report.by_hand import RUN_ID, made


def outputs_in(folder: Path, experiment: str = "four") -> Path:
    """Outputs with a sweep's folder and one run with a report."""
    run = folder / "outputs" / experiment / RUN_ID
    run.mkdir(parents=True)
    (run / "report.json").write_text(json.dumps(made(folder)[0]), encoding="utf-8")
    sweep = folder / "outputs" / ".sweeps" / "20261130-000000-abcdef"
    sweep.mkdir(parents=True)
    return sweep


def job(folder: str | None, run_id: str | None = RUN_ID, number: int = 0) -> dict[str, Any]:
    return {"job": number, "folder": folder, "run_id": run_id}


def test_a_run_is_found_beside_the_sweep_whatever_its_path_was(tmp_path: Path) -> None:
    """The outputs were moved since, or the sweep ran in another working folder."""
    sweep = outputs_in(tmp_path)
    found = job_folder(job(f"results/four/{RUN_ID}"), sweep)
    assert found == tmp_path / "outputs" / "four" / RUN_ID
    assert job_reports({"jobs": [job(f"results/four/{RUN_ID}", number=7)]}, sweep)[7]["run_id"] == RUN_ID


def test_one_that_lies_elsewhere_is_found_by_its_path(tmp_path: Path) -> None:
    """As it was written down."""
    outputs_in(tmp_path / "there")
    sweep = outputs_in(tmp_path / "here", "other")
    path = tmp_path / "there" / "outputs" / "four" / RUN_ID
    assert job_folder(job(str(path)), sweep) == path


def test_what_is_not_there_or_another_has_no_folder(tmp_path: Path) -> None:
    """Never run, removed, under another id; a path cannot lead out of what it names."""
    sweep = outputs_in(tmp_path)
    for one in (
        job(None),
        job(None, None),
        job("outputs/four/20200101-000000-000000", "20200101-000000-000000"),
        job(f"outputs/four/{RUN_ID}", "20200101-000000-000000"),
        job("outputs/four/..", ".."),
    ):
        assert job_folder(one, sweep) is None
        assert job_reports({"jobs": [one]}, sweep) == {}


def test_a_report_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    """Damaged, or of another schema: the others are there."""
    sweep = outputs_in(tmp_path)
    path = tmp_path / "outputs" / "four" / RUN_ID / "report.json"
    for text in ("{", "[]", json.dumps({**json.loads(path.read_text(encoding="utf-8")), "schema_version": 9})):
        path.write_text(text, encoding="utf-8")
        assert job_reports({"jobs": [job(f"outputs/four/{RUN_ID}")]}, sweep) == {}
