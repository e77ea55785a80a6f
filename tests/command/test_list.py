"""`evalflow list`: what can be run, and what was."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evalflow.runner.experiments import shipped_folder
from tests.conftest import Cli, Lab
from tests.runner.kept_run import kept
from tests.runner.test_lock import holder

GATE = {"floor": {"figure": "quality/exact", "arm": "one", "floor": 0.9}}
SHIPPED = sorted(path.stem for path in (shipped_folder() / "experiment").glob("*.yaml"))
IDS = [f"20261130-10000{n}-00000{n}" for n in range(3)]


def runs(out: str) -> list[list[str]]:
    """The words of each run's line."""
    return [line.split() for line in out.splitlines() if re.match(r" ?\d{8}-\d{6}-", line)]


def test_a_run_is_listed_with_its_answer(lab: Lab, cli: Cli) -> None:
    """First the run, how it ended and how far it came; then the experiments, with what each is for before any ran."""
    bare = cli("list")
    assert re.search(r"^tiny_gpt +Two checkpoints of a small model", bare.out, re.MULTILINE)
    ran = lab(gates=GATE)
    listed = cli("list")
    assert (listed.code, listed.err) == (0, "")
    assert listed.out.startswith("run ")
    assert " tiny_gpt" in listed.out and "Two checkpoints" not in listed.out
    assert ran.folder is not None
    assert runs(listed.out) == [[ran.folder.name, "case", "finished", "pass", "(0)", "6/6", "not", "tracked"]]


def test_an_interrupted_run_and_one_whose_process_died_are_told_apart(cli: Cli, home: Path) -> None:
    """And both from one at work; the newest comes first."""
    outputs = home / "outputs"
    kept(outputs, IDS[0], "incomplete", "interrupted", n_rows=2)
    kept(outputs, IDS[1], None, "running", n_rows=3)
    work = kept(outputs, IDS[2], None, "running", n_rows=4)
    with holder(work):
        assert runs(cli("list").out) == [
            [IDS[2], "case", "at", "work", "4/6", "not", "tracked"],
            [IDS[1], "case", "unfinished", "3/6", "not", "tracked"],
            [IDS[0], "case", "interrupted", "incomplete", "(3)", "2/6", "not", "tracked"],
        ]


def test_one_experiment_can_be_asked_for(cli: Cli, home: Path) -> None:
    """By the name that its runs are kept under, or that it is composed by; another is refused with the nearest name."""
    kept(home / "outputs", IDS[0], experiment="cats")
    kept(home / "outputs", IDS[1], experiment="dogs 試験")
    listed = cli("list", "dogs 試験")
    assert [words[0] for words in runs(listed.out)] == [IDS[1]]
    assert "tiny_gpt" not in listed.out
    assert "no runs under outputs" in cli("list", "tiny_gpt").out
    refused = cli("list", "cat")
    assert (refused.code, refused.out) == (64, "")
    assert refused.faults == ["evalflow: cat: there is no such experiment; did you mean cats?"]
    assert cli("list", "../outputs/cats").code == 64


def test_ones_own_experiments_are_listed(cli: Cli, experiment: Callable[..., list[str]]) -> None:
    """Those of the config folders on the line, beside the shipped ones."""
    experiment()
    listed = json.loads(cli("--config-dir", "conf", "list", "--json").out)["experiments"]
    assert [one["name"] for one in listed] == [*SHIPPED, "case"]


def test_json_is_for_programs(cli: Cli, home: Path) -> None:
    """Every run with the same keys, whatever is known of it; names of any script survive."""
    kept(home / "outputs", IDS[0], "fail", experiment="Prüfung")
    (kept(home / "outputs", IDS[1]) / "run.json").unlink()
    told = json.loads(cli("list", "--json").out)
    damaged, run = told["runs"]
    assert (run["experiment"], run["verdict"], run["exit_code"], run["n_rows"]) == ("Prüfung", "fail", 1, 6)
    assert (damaged["state"], damaged["verdict"], damaged["n_rows"]) == ("damaged", None, None)
    assert [*damaged] == [*run]
    assert [one["name"] for one in told["experiments"]] == SHIPPED


def test_what_is_damaged_is_named(cli: Cli, home: Path) -> None:
    """It is no reason to fail, nor to keep silent."""
    (kept(home / "outputs", IDS[0]) / "run.json").write_text("{}", encoding="utf-8")
    listed = cli("list")
    assert listed.code == 0
    assert runs(listed.out) == [[IDS[0], "case", "damaged"]]
    assert f"damaged: outputs/case/{IDS[0]}/run.json: schema version None is unknown here" in listed.out


def test_how_far_tracking_came_is_listed(cli: Cli, experiment: Callable[..., list[str]]) -> None:
    """A run that was refused by its store is told from one that nobody tracked."""
    notebook = ("tracking._target_=tests.stand_ins.Notebook", "tracking.path=notes.txt")
    cli(*experiment(gates=GATE), *notebook, "tracking.raises=true")
    assert runs(cli("list").out)[0][-2:] == ["tracking", "failed"]


def test_outputs_may_lie_elsewhere(cli: Cli, home: Path) -> None:
    """`--outputs` names the folder; one without runs says so."""
    kept(home / "results", IDS[0])
    assert runs(cli("list", "--outputs", "results").out)[0][0] == IDS[0]
    assert "no runs under nowhere" in cli("list", "--outputs", "nowhere").out


@pytest.mark.parametrize("words", [["one", "two"], ["--keep", "3"], ["--outputs"]])
def test_words_that_it_does_not_take_are_refused(cli: Cli, words: list[str]) -> None:
    """With what it takes, and exit code 64."""
    ran = cli("list", *words)
    assert (ran.code, ran.out, len(ran.faults)) == (64, "", 1)
    assert ran.faults[0].endswith("it takes an experiment's name, --outputs DIR, --json")


def test_runs_are_listed_without_their_rows(cli: Cli, home: Path) -> None:
    """Rows are counted and not read: what is in them cannot keep the run from the list."""
    folder = kept(home / "outputs", IDS[0])
    (folder / "rows.jsonl").write_text("no row\n" * 3, encoding="utf-8")
    (told,) = json.loads(cli("list", "--json").out)["runs"]
    assert (told["run_id"], told["n_rows"]) == (IDS[0], 3)
