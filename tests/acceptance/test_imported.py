"""Two models that other tools asked, compared from their logs: our figures are the tools' own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalflow.report.build import schema
from tests.conftest import Cli, Ran
from tests.imported.by_hand import INSPECT, LM_EVAL, lines_in, written


def compared(cli: Cli, reference: Path, candidate: Path, score: str, *words: str) -> Ran:
    logs = (f"dataset.path={reference}", f"arms.candidate.model.path={candidate}")
    return cli("experiment=imported", *logs, f"metrics.score.score={score}", "tracking=none", *words)


def figure(ran: Ran, arm: str, name: str = "quality/score") -> dict[str, Any]:
    return dict(ran.report["arms"][arm]["figures"][name])


def told(folder: Path, task: str, name: str) -> float:
    """A figure of the tool's own table of results."""
    (table,) = folder.glob("results_*.json")
    return float(json.loads(table.read_text(encoding="utf-8"))["results"][task][name])


@pytest.mark.parametrize(
    ("task", "score", "filters"),
    [("facts_choice", "acc", "none"), ("facts_choice", "acc_norm", "none"), ("facts_said", "exact_match", "last")],
)
def test_figures_of_lm_evals_samples_are_those_of_its_own_table(cli: Cli, task: str, score: str, filters: str) -> None:
    """Both models', to the last digit, and paired: the difference is that of the two."""
    whole, four = LM_EVAL / "whole", LM_EVAL / "four"
    ran = compared(cli, whole, four, score, f"dataset.task={task}", f"dataset.filter={filters}")
    own = {arm: told(folder, task, f"{score},{filters}") for arm, folder in (("reference", whole), ("candidate", four))}
    assert {arm: figure(ran, arm)["value"] for arm in own} == pytest.approx(own, rel=1e-12)
    delta = ran.report["comparisons"]["candidate_vs_reference"]["quality/score"]
    assert delta["delta"] == pytest.approx(own["candidate"] - own["reference"], rel=1e-12)
    assert (delta["n_pairs"], delta["unpaired"]) == (60 if task == "facts_choice" else 30, [])
    Draft202012Validator(schema()).validate(ran.report)


def test_a_score_that_is_no_share_is_refused_before_anything_runs(cli: Cli, tmp_path: Path) -> None:
    """The log says what it holds: one fault that names the item, the arm and what reads it instead."""
    told = json.loads((INSPECT / "good.json").read_text(encoding="utf-8"))
    told["samples"][0]["scores"]["brevity"]["value"] = 2
    log = tmp_path / "log.json"
    log.write_text(json.dumps(told), encoding="utf-8")
    ran = compared(cli, log, log, "brevity")
    assert (ran.code, ran.folder) == (64, None)
    (fault,) = ran.faults
    assert fault.startswith("evalflow: metrics.score: score brevity of item ")
    assert fault.endswith("is 2, beyond 0 and 1; read it by given_number or given_loss")
    assert compared(cli, log, log, "brevity", "metric@metrics.score=given_number").code != 64


def test_metrics_of_our_own_read_the_recorded_answers(cli: Cli) -> None:
    """The chosen choice against the right one is what lm-eval calls acc."""
    folder = LM_EVAL / "whole"
    words = ("dataset.task=facts_choice", "+metric@metrics.chosen=exact_match")
    ran = compared(cli, folder, folder, "acc", *words)
    assert figure(ran, "reference", "quality/chosen")["value"] == figure(ran, "reference")["value"]


def test_figures_of_an_inspect_log_are_its_own(cli: Cli) -> None:
    """Over two epochs of four questions: 0.625 and 0.375. Four questions show nothing, which is no pass."""
    ran = compared(cli, INSPECT / "good.json", INSPECT / "worse.json", "includes", "arms.reference.seeds=[0,1]")
    own = {
        arm: json.loads((INSPECT / f"{name}.json").read_text(encoding="utf-8"))["results"]["scores"][0]["metrics"]
        for arm, name in (("reference", "good"), ("candidate", "worse"))
    }
    assert {arm: figure(ran, arm)["value"] for arm in own} == {"reference": 0.625, "candidate": 0.375}
    assert {arm: metrics["accuracy"]["value"] for arm, metrics in own.items()} == {
        "reference": 0.625,
        "candidate": 0.375,
    }
    assert (ran.code, ran.report["gates"]["not_worse"]["outcome"]) == (2, "unreadable")


def test_what_the_tool_could_not_score_is_excluded_as_it_does(cli: Cli) -> None:
    """Its mean leaves the unscored question out, and so does ours; coverage fails for it."""
    ran = compared(cli, INSPECT / "good.json", INSPECT / "worse.json", "brevity", "arms.reference.seeds=[0,1]")
    candidate = figure(ran, "candidate")
    assert (candidate["value"], candidate["n_scored"], candidate["n_excluded"]) == (pytest.approx(5 / 12), 6, 2)
    assert ran.report["gates"]["coverage"]["outcome"] == "fail"
    facts = ran.report["arms"]["candidate"]["facts"]
    assert facts == {"answers_in_log": 8, "answers_used": 8, "scores_left_out": {"brevity: not finite": 2}}


def test_logs_of_other_questions_are_not_paired(cli: Cli, home: Path) -> None:
    """Another prompt under the same id, and an id that the candidate lacks: errors with names, and no pass."""
    reference = lines_in(home / "a.jsonl", *(written(doc_id=i) for i in range(3)))
    other = written(arguments={"gen_args_0": {"arg_0": "Who?", "arg_1": {"until": []}}})
    candidate = lines_in(home / "b.jsonl", other, written(doc_id=1))
    ran = compared(cli, reference, candidate, "exact_match")
    assert [(row["item_id"], row["error"]["kind"]) for row in ran.rows if row["error"]] == [
        ("0", "other_question"),
        ("2", "no_output"),
    ]
    assert (ran.code, ran.report["gates"]["errors"]["outcome"]) == (1, "fail")
    assert ran.report["comparisons"]["candidate_vs_reference"]["quality/score"]["n_pairs"] == 1


def test_a_score_that_no_log_has_is_met_with_those_that_they_have(cli: Cli) -> None:
    """Before anything is started."""
    ran = compared(cli, INSPECT / "good.json", INSPECT / "worse.json", "include")
    assert ran.code == 64
    assert "no arm's answers come with a score 'include'" in ran.err and "did you mean includes?" in ran.err


def test_a_log_that_cannot_be_read_is_told_once(cli: Cli, home: Path) -> None:
    """By its place; nothing is started, and nothing kept."""
    (home / "torn.jsonl").write_text('{"doc_id": 0, "arg', encoding="utf-8")
    ran = compared(cli, INSPECT / "good.json", home / "torn.jsonl", "includes")
    assert (ran.code, ran.err.count("torn.jsonl:1: not JSON")) == (64, 1)


def test_two_such_runs_are_held_against_each_other(cli: Cli) -> None:
    """As any two are: their arms by name, the same questions paired."""
    words = ("arms.reference.seeds=[0,1]",)
    first = compared(cli, INSPECT / "good.json", INSPECT / "worse.json", "includes", *words)
    second = compared(cli, INSPECT / "good.json", INSPECT / "good.json", "includes", *words)
    assert first.folder is not None and second.folder is not None
    held = cli("compare", str(first.folder), str(second.folder), "--json")
    (beside,) = json.loads(held.out)["candidates"]
    assert [(one["field"], one["figures"]) for one in beside["differences"]] == [("model.log", [])]
    deltas = {one["arms"][0]: one["delta"] for one in beside["figures"] if one["figure"] == "quality/score"}
    assert {arm: (delta["delta"], delta["n_pairs"]) for arm, delta in deltas.items()} == {
        "reference": (0.0, 4),
        "candidate": (0.25, 4),
    }


def test_a_log_that_was_not_finished_says_so_in_the_report(cli: Cli) -> None:
    """A note with what is there, and the questions that it has."""
    ran = compared(cli, INSPECT / "stopped.json", INSPECT / "good.json", "includes")
    assert any("3 of 8 samples are there" in note for note in ran.report["notes"])
    assert ran.report["dataset"]["n"] == 3
