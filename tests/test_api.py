"""evalflow from Python: the same runs as the command line's, with values in the place of what it prints."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import evalflow
from evalflow.errors import ConfigError, OutputLostError, StoredRunError
from evalflow.model.protocol import Model
from evalflow.record import Completion, Request
from evalflow.tracking.finished_run import FinishedRun, Logged
from tests.conftest import ITEMS, Cli, config, faults_of

GATE = {"floor": {"figure": "quality/exact", "arm": "one", "floor": 0.9}}
HALF = {"_target_": "tests.stand_ins.Fixed", "right": ["a", "b", "c"]}


@dataclass(frozen=True)
class Interrupting(Model):
    """Is right, and at item `at` does what Ctrl-C does, unless the file `once` is there."""

    at: str = "c"
    once: str = "interrupted.txt"

    def identity(self) -> Mapping[str, Any]:
        return {"model": "interrupting"}

    async def complete(self, request: Request) -> Completion:
        if request.item_id == self.at and not Path(self.once).exists():
            Path(self.once).touch()
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.05)
        return Completion("right", "stop")


def said(fault: pytest.ExceptionInfo[ConfigError]) -> list[str]:
    return [str(one) for one in fault.value.faults]


def test_a_run_answers_as_the_command_line_does(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Verdict, exit code, report and folder; nothing is printed."""
    run = evalflow.run(config(gates=GATE))
    assert (run.verdict, run.exit_code, run.notices) == ("pass", 0, ())
    assert run.report == json.loads((run.folder / "report.json").read_text(encoding="utf-8"))
    assert run.folder.parent == Path("outputs/case")
    assert capsys.readouterr() == ("", "")
    assert (run.folder / "scores.jsonl").is_file() and (run.folder / "junit.xml").is_file()


def test_a_verdict_that_is_no_pass_is_an_answer(home: Path) -> None:
    """It is returned, with the exit code of the command line."""
    run = evalflow.run(config(model=HALF, gates=GATE), allow=["tests"])
    assert (run.verdict, run.exit_code) == ("fail", 1)
    assert evalflow.run(config(limit=2, gates=GATE)).exit_code == 2
    broken = config(model={"_target_": "tests.stand_ins.Unstartable"}, gates=GATE)
    assert evalflow.run(broken, allow=["tests"]).exit_code == 3


def test_its_tables_are_those_of_the_run(home: Path) -> None:
    """A frame each of rows, figures, comparisons and gates."""
    comparison = {"new": {"reference": "one", "candidate": "two", "figures": ["quality/exact"]}}
    arms = {"one": {}, "two": {"model": {"_target_": "evalflow.model.scripted.Scripted", "otherwise": "wrong"}}}
    run = evalflow.run(config(arms=arms, comparisons=comparison, gates=GATE))
    rows = run.rows()
    assert len(rows) == 12
    assert rows.groupby("arm")["metric.exact"].mean().to_dict() == {"one": 1.0, "two": 0.0}
    assert rows["prompt"].tolist()[:2] == ["question a", "question b"]
    assert (rows["e2e_s"] >= 0).all()
    figures = run.figures()
    assert figures[(figures.figure == "quality/exact") & (figures.breakdown == "")]["value"].tolist() == [1.0, 0.0]
    assert run.comparisons()["delta"].tolist() == [-1.0]
    assert run.gates()["outcome"].tolist() == ["pass"]
    assert [path.name for path in run.to_csv("tables")] == ["rows.csv", "figures.csv", "comparisons.csv", "gates.csv"]
    read = pandas.read_csv("tables/rows.csv")
    assert read["metric.exact"].sum() == 6


def test_a_stored_run_is_the_run_that_was(home: Path) -> None:
    """By its folder or its id: the same report, the same tables, nothing computed or written."""
    run = evalflow.run(config(model=HALF, gates=GATE), allow=["tests"])
    files = {path.name: path.stat().st_mtime_ns for path in run.folder.iterdir()}
    for named, outputs in ((run.folder, "outputs"), (str(run.folder), "outputs"), (run.folder.name, Path("outputs"))):
        stored = evalflow.load(named, outputs)
        assert (stored.report, stored.exit_code, stored.verdict) == (run.report, 1, "fail")
        assert stored.folder.resolve() == run.folder.resolve()
        for table in ("rows", "figures", "comparisons", "gates"):
            pandas.testing.assert_frame_equal(getattr(stored, table)(), getattr(run, table)())
    assert {path.name: path.stat().st_mtime_ns for path in run.folder.iterdir()} == files


def test_what_cannot_be_loaded_is_refused(home: Path) -> None:
    """No such run, one that was not scored, and one of an unknown schema version are each named."""
    with pytest.raises(StoredRunError, match="there is no such run"):
        evalflow.load("20261130-000000-abcdef")
    run = evalflow.run(config(gates=GATE))
    path = run.folder / "report.json"
    report = path.read_text(encoding="utf-8")
    path.write_text(report.replace('"schema_version": 1', '"schema_version": 7'), encoding="utf-8")
    with pytest.raises(StoredRunError, match=r"schema version 7 is unknown here \(this evalflow reads 1\)"):
        evalflow.load(run.folder)
    path.unlink()
    with pytest.raises(StoredRunError, match=r"report\.json: not there; evalflow score .* writes it anew"):
        evalflow.load(run.folder)


def test_a_run_tells_of_itself_on_a_line(home: Path) -> None:
    """Where it is, what it answered, how its gates and rows stand; whatever its experiment is called."""
    run = evalflow.run(config(model=HALF, gates={**GATE, "none": {**GATE["floor"], "floor": 0.1}}), allow=["tests"])
    assert repr(run) == f"<Run '{run.folder}': fail (exit code 1); gates: 1 pass, 1 fail; 6 of 6 rows>"
    odd = evalflow.run(config(name="die Prüfung\x1b\udc80"))
    told = repr(odd)
    assert told.isprintable() and "no gates" in told
    assert run != odd and len({run, odd}) == 2


def test_a_notebook_has_a_loop_of_its_own(home: Path) -> None:
    """Inside a running event loop, in a thread, and in a plain script a run is the same."""

    async def cell() -> evalflow.Run:
        return evalflow.run(config(gates=GATE))

    assert asyncio.run(cell()).verdict == "pass"
    found: list[evalflow.Run] = []
    thread = threading.Thread(target=lambda: found.append(evalflow.run(config(gates=GATE))))
    thread.start()
    thread.join()
    assert found[0].verdict == "pass"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's own answer to Ctrl-C, which is there again afterwards."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("place", ["script", "notebook"])
def test_an_interrupted_run_is_on_disk_and_goes_on(home: Path, interruptible: None, place: str) -> None:
    """KeyboardInterrupt comes after the report; the same call then resumes the run and says so."""
    whole = config(model={"_target_": "tests.test_api.Interrupting"}, gates=GATE)

    async def cell() -> evalflow.Run:
        return evalflow.run(whole, allow=["tests"])

    def go() -> evalflow.Run:
        return evalflow.run(whole, allow=["tests"]) if place == "script" else asyncio.run(cell())

    with pytest.raises(KeyboardInterrupt) as stopped:
        go()
    (folder,) = Path("outputs/case").iterdir()
    assert str(stopped.value) == f"interrupted; run {folder.name} is on disk, and the same call goes on with it"
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert report["verdict"] == "incomplete"
    assert report["coverage"]["n_rows"] == 3
    assert evalflow.load(folder).exit_code == 3
    run = go()
    assert (run.folder, run.verdict, len(run.rows())) == (folder, "pass", 6)
    assert run.notices == (f"resuming run {folder.name}: 3 of 6 rows are there",)


def test_where_a_run_was_tracked_is_a_notice(home: Path) -> None:
    """A link, or why there is none; the verdict stands."""
    notebook = {"_target_": "tests.stand_ins.Notebook", "path": "notes.txt"}
    assert evalflow.run(config(gates=GATE, tracking=notebook), allow=["tests"]).notices == ()
    linking = {"_target_": "tests.test_api.Linking"}
    (told,) = evalflow.run(config(gates=GATE, tracking=linking), allow=["tests"]).notices
    assert told == "MLflow: http://here/1 (while `evalflow ui` runs)"
    run = evalflow.run(config(gates=GATE, tracking={**notebook, "raises": True}), allow=["tests"])
    assert run.notices == ("not tracked: tracking: ValueError: no such notebook",)
    assert run.verdict == "pass"


@dataclass(frozen=True)
class Linking:
    """A tracker that answers with a link."""

    def log(self, run: FinishedRun, outputs: Path) -> Logged:
        return Logged("http://here/1", ("1",), "evalflow ui")


def test_a_report_that_cannot_be_written_is_a_fault(home: Path) -> None:
    """Whoever reads the folder next would not find what was returned."""
    whole = config(gates=GATE, model={"_target_": "tests.test_api.Obstructing"})
    with pytest.raises(OutputLostError, match=r"report\.json: cannot be written"):
        evalflow.run(whole, allow=["tests"])


@dataclass(frozen=True)
class Obstructing(Model):
    """Puts a folder where the report goes."""

    def identity(self) -> Mapping[str, Any]:
        return {"model": "obstructing"}

    async def complete(self, request: Request) -> Completion:
        (folder,) = Path("outputs/case").iterdir()
        (folder / "report.json").mkdir(exist_ok=True)
        return Completion("right", "stop")


def test_all_faults_of_a_config_are_raised_together(home: Path) -> None:
    """As the command line prints them."""
    bad = config(gates={"floor": {**GATE["floor"], "figure": "quality/exat"}}, comparisons={"c": {"reference": "two"}})
    with pytest.raises(ConfigError) as refused:
        evalflow.run(bad)
    assert said(refused) == faults_of(bad)
    assert len(said(refused)) > 1
    assert not Path("outputs").exists()


def test_a_class_of_somebody_elses_needs_leave(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given with the call, or by the environment."""
    whole = config(model=HALF, gates=GATE)
    with pytest.raises(ConfigError, match=r"tests\.stand_ins\.Fixed is not under an allowed prefix"):
        evalflow.run(whole)
    monkeypatch.setenv("EVALFLOW_ALLOW", "tests")
    assert evalflow.run(whole).exit_code == 1


class Word(StrEnum):
    """A text of somebody's own type."""

    RIGHT = "right"


def test_values_of_python_are_taken_for_what_they_are(home: Path) -> None:
    """Paths, numpy's numbers, tuples and enums of texts have a plain form; the stored config can be scored again."""
    floor = {"figure": "quality/exact", "arm": "one", "floor": np.float64(0.5)}
    whole = config(gates={"floor": floor}, seed=np.int64(3), arms={"one": {"seeds": (0, np.int32(1))}})
    whole["dataset"]["path"] = Path("items.jsonl")
    whole["model"]["otherwise"] = Word.RIGHT
    run = evalflow.run(whole)
    assert (run.verdict, run.report["instrument"]["seed"], len(run.rows())) == ("pass", 3, 12)
    assert evalflow.load(run.folder).verdict == "pass"
    assert type(whole["seed"]) is np.int64  # the caller's own config is as it was


def itself() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


@pytest.mark.parametrize(
    ("key", "value", "faults"),
    [
        ("limits", [object(), {1}], ["limits[0]: it is object; give a text", "limits[1]: it is set; give a text"]),
        ("name", b"case", ["name: it is bytes; give a text"]),
        ("limits", itself(), ["config: it is nested too deep; take out what contains itself"]),
        ("dry_run", True, ["dry_run: it asks for a plan to be printed; run the config without it"]),
        ("seed", math.nan, ["seed: nan is float"]),
        (3, "x", ["3: the key 3 is not text"]),
    ],
)
def test_what_no_config_can_hold_is_refused(home: Path, key: Any, value: Any, faults: list[str]) -> None:
    """With the place of each, and before anything is written."""
    with pytest.raises(ConfigError) as refused:
        evalflow.run({**config(gates=GATE), key: value})
    assert len(said(refused)) == len(faults)
    assert all(one.startswith(fault) for one, fault in zip(said(refused), faults, strict=True)), said(refused)
    assert not Path("outputs").exists()


def test_a_config_is_a_mapping(home: Path) -> None:
    """A list of overrides is for `compose`."""
    with pytest.raises(ConfigError, match="config: it is list; give a mapping, as compose returns"):
        evalflow.run(["experiment=tiny_gpt"])  # type: ignore[arg-type]


def test_a_composed_config_is_what_the_command_line_runs(cli: Cli, experiment: Any, home: Path) -> None:
    """Plain values, from the shipped folder and one's own; changed at will and run, it gives the same rows."""
    words = experiment(gates=GATE)
    plain = evalflow.compose("experiment=case", "seed=4", config_dir="conf")
    assert (plain["name"], plain["seed"], plain["gates"]) == ("case", 4, GATE)
    assert json.loads(json.dumps(plain)) == plain
    assert evalflow.compose("experiment=case", config_dir=[Path("conf")])["seed"] == 0
    plain["arms"]["two"] = {"model": {"otherwise": "wrong"}}
    run = evalflow.run(plain)
    assert run.rows()["metric.exact"].tolist() == [1.0] * len(ITEMS) + [0.0] * len(ITEMS)
    ran = cli(*words, "seed=4")
    assert ran.code == 0
    own = evalflow.run(evalflow.compose("experiment=case", "seed=4", config_dir="conf"))
    stored = [json.loads((folder / "run.json").read_text())["resume_key"] for folder in (own.folder, ran.folder)]
    assert stored[0] == stored[1]


def test_the_faults_of_overrides_are_raised_together(home: Path) -> None:
    """Each with the override that it came from."""
    with pytest.raises(ConfigError) as refused:
        evalflow.compose("sede=1", "experiment=tiny_gpt", "arms.lonk.concurrency=1", "seed=0,1")
    told = sorted(said(refused))
    assert [one.split(":")[0] for one in told] == ["arms.lonk", "sede", "seed=0,1"]
    assert "did you mean seed?" in told[1]
    with pytest.raises(ConfigError, match="nowhere: it is no folder"):
        evalflow.compose(config_dir=Path("nowhere"))


def test_progress_is_shown_where_it_is_wanted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only on a terminal: here it stays silent and changes nothing."""
    assert evalflow.run(config(gates=GATE), progress=True).verdict == "pass"
    assert capsys.readouterr().out == ""


def test_a_run_that_is_named_is_resumed_or_refused(home: Path) -> None:
    """`resume` is a key of the config as of the command line."""
    run = evalflow.run(config(gates=GATE))
    again = evalflow.run(config(gates=GATE, resume=run.folder.name))
    assert again.folder.name == run.folder.name and len(again.notices) == 1
    with pytest.raises(ConfigError, match=f"resume: run {run.folder.name} has other rows"):
        evalflow.run(config(gates=GATE, seed=1, resume=run.folder.name))


def test_importing_it_loads_nothing_heavy(home: Path) -> None:
    """What is needed is loaded where it is: composing needs no torch, and a table nothing but pandas."""
    heavy = ("torch", "mlflow", "hydra", "pandas", "numpy", "rich", "asyncio", "yaml", "scipy")
    code = (
        "import sys, evalflow\n"
        f"print([name for name in {heavy!r} if name in sys.modules])\n"
        "evalflow.compose()\n"
        "print([name for name in ('torch', 'mlflow', 'pandas') if name in sys.modules])\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == ["[]", "[]"]
