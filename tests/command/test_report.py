"""`evalflow report`: the page of a stored run."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli, Lab

Experiment = Callable[..., list[str]]

GATE = {"floor": {"figure": "quality/exact", "arm": "one", "floor": 0.9}}
WRONG = {"_target_": "evalflow.model.scripted.Scripted", "otherwise": "wronganswer"}


def test_the_page_is_written_anew_and_its_path_printed(lab: Lab, cli: Cli, home: Path) -> None:
    """By the run's id or its folder; the verdict of the run has no part in the exit code."""
    ran = lab(gates=GATE, model=WRONG)
    assert ran.folder is not None and ran.code == 1
    path = ran.folder / "report.html"
    first = path.read_bytes()
    path.unlink()
    again = cli("report", ran.folder.name)
    assert (again.code, again.out, again.err) == (0, f"{path.relative_to(home)}\n", "")
    assert path.read_bytes() == first
    assert b"wronganswer" in first
    assert cli("report", str(ran.folder)).out == f"{path}\n"


def test_it_may_lie_elsewhere_and_be_private(lab: Lab, cli: Cli, home: Path) -> None:
    """`--to` names a file, whose folder is made; private, it has no answers, and the run's own page stays."""
    ran = lab(gates=GATE, model=WRONG)
    assert ran.folder is not None
    before = (ran.folder / "report.html").read_bytes()
    (home / "outputs").rename(home / "results")
    words = ["report", ran.folder.name, "--outputs", "results", "--to", "für/mich.html", "--private"]
    assert cli("--quiet", *words).out == ""
    text = (home / "für" / "mich.html").read_text(encoding="utf-8")
    assert "Private copy" in text and "wronganswer" not in text
    assert (home / "results" / "case" / ran.folder.name / "report.html").read_bytes() == before


def test_a_file_that_cannot_be_written_is_refused(lab: Lab, cli: Cli, home: Path) -> None:
    """One line, exit code 64."""
    ran = lab(gates=GATE)
    assert ran.folder is not None
    (home / "file").touch()
    refused = cli("report", ran.folder.name, "--to", "file/page.html")
    assert (refused.code, refused.out) == (64, "")
    assert refused.faults == ["evalflow: file/page.html: cannot be written (File exists); give another file"]


@pytest.mark.parametrize("name", ["", ".", "/", "..", "folder"])
def test_a_page_in_the_place_of_a_folder_is_refused(lab: Lab, cli: Cli, home: Path, name: str) -> None:
    """By whichever name, of a run and of a sweep alike: one line, exit code 64."""
    ran = lab(gates=GATE)
    assert ran.folder is not None
    (home / "folder").mkdir()
    refused = cli("report", ran.folder.name, "--to", name)
    assert (refused.code, refused.out, len(refused.faults)) == (64, "", 1)
    assert ("it is empty; name a path" if not name else f"{name}: cannot be written (Is a directory)") in (
        refused.faults[0]
    )
    assert list((home / "folder").iterdir()) == []


def test_a_page_may_go_into_a_device_and_through_a_link(lab: Lab, cli: Cli, home: Path) -> None:
    """Neither is replaced: the one swallows it, and the file that the other leads to has it."""
    ran = lab(gates=GATE)
    assert ran.folder is not None
    os.mkfifo(home / "pipe")
    (home / "link.html").symlink_to("far.html")
    reader = os.open(home / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 1 << 20)
    try:
        assert cli("report", ran.folder.name, "--to", "pipe").code == 0
        assert os.read(reader, 1 << 20) == (ran.folder / "report.html").read_bytes()
    finally:
        os.close(reader)
    assert (home / "pipe").is_fifo()
    assert cli("report", ran.folder.name, "--to", "link.html").code == 0
    assert (home / "link.html").is_symlink()
    assert (home / "far.html").read_bytes() == (ran.folder / "report.html").read_bytes()


def test_a_run_that_was_not_scored_is_refused(lab: Lab, cli: Cli) -> None:
    """Its report is what the page shows; nothing is written."""
    ran = lab(gates=GATE)
    assert ran.folder is not None
    (ran.folder / "report.json").unlink()
    (ran.folder / "report.html").unlink()
    refused = cli("report", ran.folder.name)
    assert (refused.code, len(refused.faults)) == (64, 1)
    assert not (ran.folder / "report.html").exists()
    assert cli("report", "20261130-000000-abcdef").code == 64


@pytest.mark.parametrize("words", [[], ["a", "b"], ["a", "--to"], ["a", "--json"]])
def test_words_that_it_does_not_take_are_refused(cli: Cli, words: list[str]) -> None:
    """With what it takes, and exit code 64."""
    ran = cli("report", *words)
    assert (ran.code, ran.out, len(ran.faults)) == (64, "", 1)
    assert (
        "it takes one run or sweep (its folder, or its id under outputs/ or --outputs DIR), --to FILE and"
        in ran.faults[0]
    )


def test_the_page_of_a_sweep_is_written_anew(cli: Cli, home: Path, experiment: Experiment) -> None:
    """By its id or its folder, from where the jobs lie now; private, without what a job said."""
    items = [{"id": "a", "input": "?", "target": "right"}]
    grid = ["seed=0,1", "gates.floor.floor=0.5,2"]
    assert cli("-m", *experiment(items, gates=GATE, tracking=None), *grid).code == 64
    (path,) = home.glob("outputs/.sweeps/*/sweep.html")
    first = path.read_bytes()
    assert b"can never be" in first
    path.unlink()
    again = cli("report", path.parent.name)
    assert (again.code, again.out, again.err) == (0, f"{path.relative_to(home)}\n", "")
    assert path.read_bytes() == first
    (home / "outputs").rename(home / "results")
    moved = home / "results" / ".sweeps" / path.parent.name
    assert cli("report", str(moved)).out == f"{moved / 'sweep.html'}\n"
    assert (moved / "sweep.html").read_bytes() == first
    assert (
        cli("report", path.parent.name, "--outputs", "results", "--private", "--to", "sent.html").out == "sent.html\n"
    )
    sent = (home / "sent.html").read_text(encoding="utf-8")
    assert "can never be" not in sent and 'href="results/case/' in sent


def test_a_sweep_without_a_summary_is_refused(cli: Cli, home: Path) -> None:
    """It was killed before its end; one line, exit code 64."""
    folder = home / "outputs" / ".sweeps" / "20261130-000000-abcdef"
    folder.mkdir(parents=True)
    (folder / "sweep.json").write_text("{}", encoding="utf-8")
    refused = cli("report", folder.name)
    assert (refused.code, refused.out, len(refused.faults)) == (64, "", 1)
    assert "run the sweep again" in refused.faults[0]


def test_a_job_whose_report_is_damaged_is_told_on_the_page(cli: Cli, home: Path, experiment: Experiment) -> None:
    """The sweep's page is there with its summary's numbers, and a note names the job."""
    items = [{"id": "a", "input": "?", "target": "right"}]
    assert cli("-m", *experiment(items, gates=GATE, tracking=None), "seed=0,1").code == 0
    first = min(home.glob("outputs/case/*/report.json"))
    told = json.loads(first.read_text(encoding="utf-8"))
    told["arms"]["one"]["figures"]["quality/exact"]["value"] = "x"
    first.write_text(json.dumps(told), encoding="utf-8")
    (page,) = home.glob("outputs/.sweeps/*/sweep.html")
    again = cli("report", page.parent.name)
    assert (again.code, again.err) == (0, "")
    assert "the reports of these jobs cannot be read any more: 0; the grid" in page.read_text(encoding="utf-8")
