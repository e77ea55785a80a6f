"""A stored report and its scored rows: read back as they were made, and refused where they are not of this run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import StoredRunError
from evalflow.job import rescored
from evalflow.report.stored_report import load_report, load_summary, scored_rows
from evalflow.runner.stored_run import load_run
from tests.conftest import Cli, Lab
from tests.tracking.written_sweep import summary, swept_in

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def run(lab: Lab) -> Path:
    """The folder of a finished run of six rows."""
    folder = lab(metrics={"m": {"_target_": "evalflow.metric.exact_match.ExactMatch"}}).folder
    assert folder is not None
    return folder


def change(path: Path, how: Change) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    how(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def changed_line(path: Path, number: int, how: Change) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    content = json.loads(lines[number])
    how(content)
    lines[number] = json.dumps(content)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def refused(of: Callable[[], object]) -> str:
    with pytest.raises(StoredRunError) as caught:
        of()
    return str(caught.value)


def test_what_is_read_is_what_scoring_made(run: Path) -> None:
    """Report and rows are equal, field by field, to those of scoring the run anew."""
    report, rows = load_report(run), scored_rows(load_run(run))
    with rescored(run, ()) as (_, done):
        assert report == done.report
        assert rows == list(done.rows)
    assert [row.stats["m"] for row in rows] == [(1.0,)] * 6
    assert rows[0].detail["m"] == {"expected": "right"}


def test_a_run_without_a_report_is_to_be_scored_first(run: Path) -> None:
    """The missing file is named, with the command that writes it."""
    (run / "report.json").unlink()
    assert refused(lambda: load_report(run)) == f"{run}/report.json: not there; evalflow score {run} writes it anew"


REPORTS: Mapping[str, tuple[Change, str]] = {
    "version": (lambda r: r.update(schema_version=2), "schema version 2 is unknown here"),
    "no version": (lambda r: r.pop("schema_version"), "schema version None is unknown here"),
    "another run": (
        lambda r: r.update(run_id="20261129-101112-abcdef"),
        "it is of run '20261129-101112-abcdef', not of",
    ),
    "a part is gone": (lambda r: (r.pop("gates"), r.pop("arms")), "it has no arms, gates"),
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_of_something_else_is_refused(run: Path, name: str) -> None:
    """An unknown version, another run's report and one with a part missing are told apart."""
    how, said = REPORTS[name]
    change(run / "report.json", how)
    assert said in refused(lambda: load_report(run))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema_version": NaN}', "\x00"])
def test_a_report_that_is_no_json_object_is_refused(run: Path, text: str) -> None:
    """A torn or foreign file is refused by name, whatever is in it."""
    (run / "report.json").write_text(text, encoding="utf-8")
    assert refused(lambda: load_report(run)).startswith(f"{run}/report.json: ")


def test_a_report_older_than_the_last_session_is_refused(run: Path) -> None:
    """A run that was taken up again after its report has rows that the report does not know."""
    more = {"session": "later", "started": "x", "finished": None, "state": "running"}
    change(run / "run.json", lambda state: state["sessions"].append(state["sessions"][0] | more))
    said = f"{run}/report.json: the run went on after it was written; evalflow score {run} writes it anew"
    assert refused(lambda: load_report(run)) == said


SCORES: Mapping[str, tuple[Change, str]] = {
    "item": (lambda s: s.update(item_id="z"), "the run has no such row, or another (arm 'one', seed 0, item 'z')"),
    "status": (lambda s: s.update(status="error"), "the run has no such row, or another (arm 'one', seed 0, item 'b')"),
    "twice": (lambda s: s.update(item_id="a"), "the run has no such row, or another (arm 'one', seed 0, item 'a')"),
    "stats": (lambda s: s["stats"].update(m=["x"]), "not what this evalflow wrote (stats is {"),
    "no detail": (lambda s: s.pop("detail"), "not what this evalflow wrote (it has no detail)"),
}


@pytest.mark.parametrize("name", SCORES)
def test_scores_of_other_rows_are_refused_by_their_line(run: Path, name: str) -> None:
    """A line about a row that the run lacks, tells otherwise or has told already is named; so is a wrong type."""
    how, said = SCORES[name]
    changed_line(run / "scores.jsonl", 1, how)
    assert refused(lambda: scored_rows(load_run(run))).startswith(f"{run}/scores.jsonl:2: {said}")


def test_scores_that_lack_a_row_are_refused(run: Path) -> None:
    """Five lines for six rows are a file of an earlier scoring."""
    path = run / "scores.jsonl"
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")
    assert "1 of 6 rows have no scores" in refused(lambda: scored_rows(load_run(run)))


def test_a_summary_is_read_as_it_was_written(tmp_path: Path) -> None:
    """The summary of a sweep is the mapping that was stored."""
    assert load_summary(swept_in(tmp_path).folder) == summary()


SHAPES: Mapping[str, tuple[Change, str]] = {
    "a number": (
        lambda r: r["arms"]["one"]["figures"]["quality/m"].update(value="x"),
        "arms.one.figures.quality/m.value is 'x'",
    ),
    "a field": (lambda r: r["arms"]["one"].pop("figures"), "arms.one has no figures"),
    "instrument": (
        lambda r: r.update(instrument={"metrics": r["instrument"]["metrics"]}),
        "instrument has no schema_version",
    ),
    "verdict": (lambda r: r.update(verdict="splendid"), "verdict is 'splendid'"),
    "coverage": (lambda r: r["coverage"].update(n_rows=-1), "coverage.n_rows is -1"),
    "time": (lambda r: r.update(started="yesterday"), "started is 'yesterday'"),
    "session": (lambda r: r["sessions"][0].update(n_rows="6"), "sessions[0].n_rows is '6'"),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("command", ["report", "export"])
def test_a_part_of_another_type_is_named(run: Path, cli: Cli, name: str, command: str) -> None:
    """However deep, by its place: one line with exit code 64 by every command that reads it."""
    how, said = SHAPES[name]
    change(run / "report.json", how)
    told = cli(command, str(run))
    assert (told.code, len(told.faults)) == (64, 1)
    assert f"report.json: not what this evalflow wrote ({said}); evalflow score" in told.faults[0]


SUMMARIES: Mapping[str, tuple[Change, str]] = {
    "version": (lambda s: s.update(schema_version=9), "schema version 9 is unknown here"),
    "id": (lambda s: s.update(sweep_id="x' OR 1"), "no id of a sweep"),
    "verdict": (lambda s: s.update(verdict="splendid"), "summary.json: not what this evalflow wrote (verdict is 'spl"),
    "seconds": (lambda s: s["jobs"][0].update(seconds="x"), "summary.json: a job: not what this evalflow wrote (sec"),
    "mean": (lambda s: s["grid"][0]["cells"][0].update(mean="x"), "not what this evalflow wrote (mean is 'x')"),
    "cells": (lambda s: s["grid"][0].pop("cells"), "summary.json: the grid: not what this evalflow wrote (it has no"),
    "time": (lambda s: s.update(finished="x"), "not what this evalflow wrote (finished is 'x')"),
    "parts": (lambda s: (s.pop("grid"), s.update(jobs=3)), "not what this evalflow wrote (jobs is 3)"),
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_summary_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    """An unknown version, an id that is none and missing parts are named."""
    folder = swept_in(tmp_path).folder
    how, said = SUMMARIES[name]
    change(folder / "summary.json", how)
    assert said in refused(lambda: load_summary(folder))


def test_a_sweep_without_a_summary_is_to_be_run_again(tmp_path: Path) -> None:
    """A sweep that was killed before its summary is completed by its own command."""
    said = f"{tmp_path}/summary.json: not there; run the sweep again: what is finished of it stays"
    assert refused(lambda: load_summary(tmp_path)) == said
