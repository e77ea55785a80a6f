"""`evalflow track`: runs that are on disk, logged later: the verdict and the rows as they were scored."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalflow.command.options import Options
from evalflow.command.track import track
from evalflow.runner.lock import hold
from evalflow.runner.mark import read_mark
from tests.conftest import Cli, Ran
from tests.tracking.conftest import client_of

Experiment = Callable[..., list[str]]
Store = tuple[str, str]
GATE = {"good": {"figure": "quality/exact", "floor": 0.5}}
NOTEBOOK = ("tracking._target_=tests.stand_ins.Notebook", "tracking.path=notes.txt")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose store the tests of this file share: its first use takes seconds."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def store(kept: Path) -> Store:
    """The settings that name the shared store and, there, an experiment of the test's own."""
    return f"tracking.uri=sqlite:///{kept}/mlflow.db", f"tracking.experiment={uuid.uuid4().hex}"


@pytest.fixture
def done(cli: Cli, experiment: Experiment) -> Ran:
    """A run that passed and was not tracked."""
    return cli(*experiment(gates=GATE))


def id_of(ran: Ran) -> str:
    assert ran.folder is not None, ran.err
    return ran.folder.name


def logged(kept: Path, store: Store) -> list[Any]:
    """What is in the test's experiment, the newest first."""
    client = client_of(kept)
    experiment = client.get_experiment_by_name(store[1].partition("=")[2])
    return [] if experiment is None else list(client.search_runs([experiment.experiment_id]))


def named(runs: list[Any]) -> list[str]:
    return sorted(run.info.run_name for run in runs)


def test_an_untracked_run_is_logged_as_it_was_scored(cli: Cli, done: Ran, kept: Path, store: Store) -> None:
    """The runs in the store have the report's figures and verdict, the link is printed, and the run is marked."""
    tracked = cli("track", id_of(done), *store)
    assert (tracked.code, tracked.faults) == (0, [])
    assert tracked.out.startswith(f"{id_of(done)}  MLflow: http://127.0.0.1:5000/#/experiments/")
    runs = logged(kept, store)
    assert named(runs) == ["one s0", "report: pass"]
    assert runs[1].data.metrics["quality/exact"] == 1.0
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert {run.data.tags["evalflow.run_id"] for run in runs} == {id_of(done)}
    assert done.folder is not None
    mark = read_mark(done.folder)
    assert mark is not None and mark.state == "logged"


def test_tracking_again_is_one_set_of_runs(cli: Cli, done: Ran, kept: Path, store: Store) -> None:
    """A second time continues the same MLflow runs, named by folder or by id."""
    cli("track", id_of(done), *store)
    first = [run.info.run_id for run in logged(kept, store)]
    assert cli("track", str(done.folder), *store).code == 0
    assert [run.info.run_id for run in logged(kept, store)] == first
    assert len(first) == 2


def test_a_run_whose_store_was_away_is_logged_once_it_is_back(
    cli: Cli, experiment: Experiment, kept: Path, store: Store
) -> None:
    """The verdict stands while the server is away; tracking then answers 3, and 0 with a store that can be used."""
    mlflow = "evalflow.tracking.mlflow_store.MLflow"
    away = (f"tracking._target_={mlflow}", "tracking.uri=http://127.0.0.1:9")
    ran = cli(*experiment(gates=GATE), *away)
    assert ran.code == 0
    assert "not tracked: http://127.0.0.1:9: the tracking store cannot be used" in ran.err
    assert ran.folder is not None
    mark = read_mark(ran.folder)
    assert mark is not None and mark.state == "failed"

    still = cli("track", id_of(ran))
    assert still.code == 3
    assert still.err.startswith(f"evalflow: {id_of(ran)}: not tracked: http://127.0.0.1:9: ")
    assert cli("track", id_of(ran), *store).code == 0
    assert named(logged(kept, store)) == ["one s0", "report: pass"]


def test_an_interrupted_run_is_logged_as_killed(cli: Cli, done: Ran, kept: Path, store: Store) -> None:
    """The report of a run that was stopped before its end, scored all the same, is a killed run in the store."""
    assert done.folder is not None
    path = done.folder / "run.json"
    state = json.loads(path.read_text(encoding="utf-8"))
    state["state"] = state["sessions"][-1]["state"] = "interrupted"
    path.write_text(json.dumps(state), encoding="utf-8")
    rows = done.folder / "rows.jsonl"
    rows.write_text("".join(rows.read_text(encoding="utf-8").splitlines(keepends=True)[:4]), encoding="utf-8")
    cli("score", id_of(done))
    assert cli("track", id_of(done), *store).code == 0
    runs = logged(kept, store)
    assert named(runs) == ["one s0", "report: incomplete"]
    assert {run.info.status for run in runs} == {"KILLED"}


def test_what_one_run_lacks_keeps_no_other_from_the_store(
    cli: Cli, experiment: Experiment, kept: Path, store: Store
) -> None:
    """Of two runs the one without a report is refused, the other logged, and the worse code is the answer."""
    first, second = cli(*experiment(gates=GATE)), cli(*experiment(gates=GATE))
    assert first.folder is not None
    (first.folder / "report.json").unlink()
    both = cli("track", id_of(first), id_of(second), *store)
    assert both.code == 64
    relative = Path("outputs") / "case" / id_of(first)
    assert both.faults == [f"evalflow: {relative}/report.json: not there; evalflow score {relative} writes it anew"]
    runs = logged(kept, store)
    assert [run.data.tags["evalflow.run_id"] for run in runs] == [id_of(second)] * 2


def test_nothing_is_logged_where_a_name_is_wrong(cli: Cli, done: Ran, kept: Path, store: Store) -> None:
    """A run that is not there is told before the other is logged."""
    tracked = cli("track", id_of(done), "20261129-101112-abcdef", *store)
    assert (tracked.code, len(tracked.faults)) == (64, 1)
    assert tracked.err.startswith("evalflow: 20261129-101112-abcdef: there is no such run under outputs")
    assert logged(kept, store) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tracking.urii=x"], "tracking.urii: MLflow has no such key; did you mean uri?"),
        (["tracking.private=3"], "tracking.private: 3 is int; give true or false"),
        (["tracking.uri.deep=x"], "tracking.uri: {'deep': 'x'} is dict; give text"),
        (["tracking.uri"], "it is not of the form key=value"),
        (["tracking.uri=a,b"], "several values make a sweep"),
        (["--nope"], "unrecognized arguments: --nope"),
    ],
)
def test_a_wrong_setting_is_a_usage_error(cli: Cli, done: Ran, words: list[str], said: str) -> None:
    """A setting that the tracker has not, of a wrong type or form, is told as on the line of a run."""
    tracked = cli("track", id_of(done), *words)
    assert tracked.code == 64
    assert said in tracked.err


def test_no_run_is_a_usage_error(cli: Cli, home: Path) -> None:
    """Without a run the command says what it takes."""
    tracked = cli("track", "tracking.uri=x")
    assert tracked.code == 64
    assert "it takes runs or sweeps (folders, or ids under outputs or --outputs DIR)" in tracked.err


def test_a_run_at_work_is_left_alone(cli: Cli, done: Ran, store: Store) -> None:
    """A run that another process holds is a usage error."""
    assert done.folder is not None
    lock = hold(done.folder)
    try:
        tracked = cli("track", id_of(done), *store)
    finally:
        lock.release()
    assert tracked.code == 64
    assert "another process works on this run" in tracked.err


def test_a_tracker_of_ones_own_must_be_allowed_and_has_no_link(cli: Cli, experiment: Experiment, home: Path) -> None:
    """The run's own tracker logs it again where its module is allowed, and is refused where it is not."""
    ran = cli(*experiment(gates=GATE), *NOTEBOOK)
    refused = cli("track", id_of(ran))
    assert refused.code == 64
    assert "tests.stand_ins.Notebook is not under an allowed prefix" in refused.err
    assert cli("track", id_of(ran), "--allow", "tests").out == f"{id_of(ran)}  its tracker has no link\n"
    notes = (home / "notes.txt").read_text(encoding="utf-8").splitlines()
    assert notes == [f"{id_of(ran)} None {{}}"] * 2


def test_a_sweep_is_logged_after_its_jobs(
    cli: Cli, experiment: Experiment, home: Path, kept: Path, store: Store
) -> None:
    """The id of a sweep logs every job's run and then the sweep's own, which is on top and has one set of runs."""
    cli(*experiment(gates=GATE), "-m", "seed=0,1")
    [sweep] = (home / "outputs" / ".sweeps").iterdir()
    for word in (sweep.name, str(sweep)):
        tracked = cli("track", word, *store)
        assert (tracked.code, tracked.faults) == (0, [])
        assert tracked.out.splitlines()[-1].startswith(f"{sweep.name}  MLflow: ")
    found = logged(kept, store)
    assert [run.info.run_name for run in found] == [
        "sweep: pass",
        "report: pass seed=1",
        "one s0 seed=1",
        "report: pass seed=0",
        "one s0 seed=0",
    ]
    assert found[0].data.metrics["quality/exact one"] == 1.0


def test_a_sweep_whose_outputs_moved_is_found_beside_its_runs(
    cli: Cli, experiment: Experiment, home: Path, store: Store
) -> None:
    """The jobs of a sweep are looked up by their ids where the sweep lies, not where they were."""
    cli(*experiment(gates=GATE), "-m", "seed=0,1")
    (home / "outputs").rename(home / "archive")
    [sweep] = (home / "archive" / ".sweeps").iterdir()
    tracked = cli("track", sweep.name, "--outputs", "archive", *store)
    assert (tracked.code, len(tracked.out.splitlines())) == (0, 3)


def test_the_store_is_where_the_run_lies(
    cli: Cli, experiment: Experiment, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a setting the store is the one under the run's own outputs, wherever the command is given."""
    ran = cli(*experiment(gates=GATE), "runner.outputs=results")
    [folder] = (home / "results" / "case").glob("2*")
    assert ran.folder is None
    asked: list[Path] = []
    monkeypatch.setattr("evalflow.job.track", lambda tracking, done, outputs: asked.append(outputs) or _tracked())
    for words in ([str(folder)], [folder.name, "--outputs", "results"]):
        assert track(words, Options()) == 0
    moved = folder.rename(home / folder.name)
    assert track([str(moved)], Options()) == 0
    assert asked == [home / "results", Path("results"), Path("outputs")]


def _tracked() -> Any:
    from evalflow.job import Tracked

    return Tracked("a link")


def test_quiet_says_nothing_of_what_went_well(cli: Cli, done: Ran, store: Store) -> None:
    """With --quiet a run that was logged is no line."""
    tracked = cli("track", id_of(done), *store, "--quiet")
    assert (tracked.code, tracked.out, tracked.err) == (0, "", "")
