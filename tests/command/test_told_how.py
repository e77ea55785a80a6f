"""`--full`, `--json` and `--quiet`: the same answer in three ways, with nothing else on standard output."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli, Lab

Experiment = Callable[..., list[str]]

GATE = {"floor": {"figure": "quality/exact", "floor": 0.5}}


def test_json_is_the_report_as_it_is_written(cli: Cli, experiment: Experiment) -> None:
    """One document on standard output, byte for byte the file; where the run lies is no part of it."""
    ran = cli(*experiment(gates=GATE), "--json")
    assert ran.folder is not None and ran.code == 0
    assert ran.out == (ran.folder / "report.json").read_text(encoding="utf-8")
    assert ran.err == ""


def test_what_is_said_beside_it_goes_to_standard_error(cli: Cli, experiment: Experiment) -> None:
    """The lines that `summary=json` adds are none of the document."""
    words = [*experiment(gates=GATE), "summary=json"]
    ran = cli(*words, "--json")
    assert json.loads(ran.out)["verdict"] == "pass"
    (line,) = ran.err.splitlines()
    assert json.loads(line)["arm"] == "one"


@pytest.mark.parametrize("way", [["--json"], ["--json", "--quiet"], ["--quiet", "--json"]])
def test_a_stored_run_is_told_as_it_was(cli: Cli, lab: Lab, way: list[str]) -> None:
    """`score` answers with the same document, whatever stands before the command."""
    ran = lab(gates=GATE)
    assert ran.folder is not None
    for words in (["score", str(ran.folder), *way], [*way, "score", str(ran.folder)]):
        told = cli(*words)
        assert (told.code, told.err) == (0, "")
        assert told.out == (ran.folder / "report.json").read_text(encoding="utf-8")


def test_a_verdict_that_is_no_pass_is_told_as_json_too(cli: Cli, lab: Lab) -> None:
    """The exit code is the answer in every way of telling."""
    ran = lab(
        gates={"floor": {**GATE["floor"], "floor": 1.0}}, model={"_target_": "tests.stand_ins.Raising", "fails": ["b"]}
    )
    codes = {
        way: cli("score", str(ran.folder), "--allow", "tests", *way.split())
        for way in ("", "--full", "--json", "--quiet")
    }
    assert {told.code for told in codes.values()} == {ran.code}
    assert json.loads(codes["--json"].out)["exit_code"] == ran.code
    assert codes["--quiet"].out == f"{ran.report['verdict']}\n"
    last = f"Verdict: {ran.report['verdict']} (exit code {ran.code})"
    assert codes[""].out.splitlines()[-1].startswith(last) and codes["--full"].out.splitlines()[-1].startswith(last)
    assert len(codes["--full"].out) > len(codes[""].out)


def test_the_last_lines_say_where_it_lies_and_what_it_is_worth(lab: Lab) -> None:
    """Page, folder, verdict: in this order, at the end."""
    ran = lab(gates=GATE)
    assert ran.folder is not None
    folder = ran.folder.relative_to(Path.cwd())
    ends = [f"Page: {folder / 'report.html'}", f"Folder: {folder}", "Verdict: pass (exit code 0)"]
    assert ran.out.splitlines()[-3:] == ends


def test_a_sweep_is_one_document_too(cli: Cli, home: Path, experiment: Experiment) -> None:
    """Its summary as it is written; what its jobs say goes to standard error."""
    ran = cli("-m", *experiment(gates=GATE), "seed=0,1", "--json")
    (path,) = home.glob("outputs/.sweeps/*/summary.json")
    assert ran.code == 0
    assert ran.out == path.read_text(encoding="utf-8")
    assert "job 0 of 2: seed=0" in ran.err and "Verdict: pass (exit code 0)" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--json", "--full"], "--json and --full: the one is a document, the other tables; give one of them"),
        (["--json", "dry_run=true"], "--json: a plan (dry_run=true) is no document; leave one of the two out"),
        (["-m", "seed=0,1", "--json", "dry_run=true"], "--json: a plan (dry_run=true) is no document"),
    ],
)
def test_what_cannot_be_told_so_is_refused(cli: Cli, experiment: Experiment, words: list[str], said: str) -> None:
    """One line, exit code 64, an empty standard output and no run."""
    ran = cli(*experiment(gates=GATE), *words)
    assert (ran.code, ran.out, ran.folder) == (64, "", None)
    assert len(ran.faults) == 1 and ran.faults[0].startswith(f"evalflow: {said}")


def test_a_fault_leaves_standard_output_empty(cli: Cli) -> None:
    """There is no document where nothing was run; what is wrong is on standard error."""
    ran = cli("experiment=nothing_like_it", "--json")
    assert (ran.code, ran.out) == (64, "")
    assert ran.faults


def test_compare_needs_no_file_for_its_json(cli: Cli, lab: Lab) -> None:
    """`--json` alone is standard output; with a file, that file."""
    first, second = lab(gates=GATE), lab(gates=GATE, seed=1)
    runs = [str(first.folder), str(second.folder)]
    told = json.loads(cli("compare", *runs, "--json").out)
    assert told == json.loads(cli("compare", *runs, "--json", "-").out)
    assert cli("compare", *runs, "--json", "told.json").out.splitlines()[-1].startswith("Compared: ")
    assert json.loads(Path("told.json").read_text(encoding="utf-8")) == told
    assert cli("--json", "compare", *runs).out == cli("compare", *runs, "--json").out
    assert len(cli("compare", *runs, "--full").out.splitlines()) > len(cli("compare", *runs).out.splitlines())
