"""A stored run read back to be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import EvalflowError, StoredRunError
from evalflow.report.compared_run import load_compared
from evalflow.runner.score import score
from tests.conftest import Lab

METRICS = {"exact": {"_target_": "evalflow.metric.exact_match.ExactMatch"}}


@pytest.fixture
def run(lab: Lab) -> Path:
    folder = lab(metrics=METRICS, model={"_target_": "tests.stand_ins.Raising", "fails": ["b"]}).folder
    assert folder is not None
    return folder


def test_its_scores_are_those_that_were_kept(run: Path) -> None:
    """Statistics, figures and rows as scoring again would make them, and the report's own."""
    loaded = load_compared(run, "A", ("tests",))
    anew = score(loaded.plan, loaded.stored.rows, loaded.stored.probes, loaded.stored.traces)
    assert loaded.scores.figures("one") == anew.figures("one")
    assert loaded.scores.item_stats("one", "exact") == anew.item_stats("one", "exact") == dict.fromkeys("acdef", (1.0,))
    assert loaded.figure("one", "quality/exact")["value"] == 1.0
    assert (loaded.label, loaded.run_id) == ("A", run.name)


def test_no_metric_reads_an_answer_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was scored is not scored again, however a metric has changed since."""

    def refuse(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("evalflow.metric.exact_match.ExactMatch.stats", refuse)
    assert len(load_compared(run, "A", ("tests",)).scores.rows) == 6


def edited(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


def test_a_run_without_scores_is_to_be_scored(run: Path) -> None:
    """It says which command writes them."""
    (run / "scores.jsonl").unlink()
    with pytest.raises(StoredRunError, match=f"evalflow score {run}"):
        load_compared(run, "A", ("tests",))


def test_a_run_that_did_not_finish_is_refused(run: Path) -> None:
    """Its missing rows would be taken for the model's; it says how to go on."""
    edited(run / "run.json", state="interrupted")
    with pytest.raises(StoredRunError, match=rf"did not finish; go on with it \(resume={run.name}\)"):
        load_compared(run, "A", ("tests",))


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("report.json", lambda told: {**told, "arms": {}}),
        ("report.json", lambda told: {**told, "instrument": {**told["instrument"], "metrics": {}}}),
        ("report.json", lambda told: {**told, "instrument": {**told["instrument"], "conditions": {}}}),
    ],
)
def test_a_report_of_other_parts_is_refused(run: Path, file: str, change: Any) -> None:
    """One that lacks an arm or a metric of the plan is none of this run."""
    path = run / file
    path.write_text(json.dumps(change(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")
    with pytest.raises(StoredRunError, match="lack an arm or a metric; evalflow score"):
        load_compared(run, "A", ("tests",))


def test_scores_of_other_metrics_are_refused(run: Path) -> None:
    """A line that lacks a metric's statistics is not what this plan was scored with."""
    path = run / "scores.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    del lines[0]["stats"]["exact"]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    with pytest.raises(StoredRunError, match="lack an arm or a metric"):
        load_compared(run, "A", ("tests",))


def test_classes_that_are_not_allowed_are_refused(run: Path) -> None:
    """A run of somebody's own classes needs their prefix allowed again."""
    with pytest.raises(EvalflowError, match="tests"):
        load_compared(run, "A")
