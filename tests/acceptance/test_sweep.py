"""A sweep: every job is a run of its own, none can end the others, and what is finished is not run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalflow.runner.sweep_record import JobRecord, open_sweep
from tests.conftest import Cli

Experiment = Callable[..., list[str]]
ROOT = Path(__file__).resolve().parents[2]
ITEMS = [{"id": f"q{i:02}", "input": f"question {i}", "target": "right"} for i in range(12)]
MODEL = {"_target_": "evalflow.model.scripted.Scripted", "otherwise": "right", "calls": "calls.txt"}
GATES = {"floor": {"figure": "quality/exact", "floor": 0.9}}
GRID = ["seed=0,1,2", "concurrency=1,6"]


def sweep(home: Path) -> dict[str, Any]:
    """The only sweep's summary."""
    (path,) = (home / "outputs/.sweeps").glob("*/summary.json")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def calls(home: Path) -> int:
    path = home / "calls.txt"
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


def runs(home: Path) -> list[Path]:
    return sorted(path.parent for path in home.glob("outputs/case/*/report.json"))


def test_a_gate_that_fails_in_one_job_fails_the_sweep_alone(cli: Cli, home: Path, experiment: Experiment) -> None:
    """Six jobs, one of them wrong everywhere: five pass, the sixth and its gate are named, the exit code is 1."""
    model = {"_target_": "tests.stand_ins.WrongOnce", "path": "asked.txt", "after": 2 * len(ITEMS)}
    ran = cli("-m", *experiment(ITEMS, model=model, gates=GATES), *GRID)
    assert ran.code == 1
    told = sweep(home)
    assert [job["verdict"] for job in told["jobs"]] == ["pass", "pass", "fail", "pass", "pass", "pass"]
    assert (told["verdict"], told["exit_code"]) == ("fail", 1)
    assert told["axes"] == {"seed": ["0", "1", "2"], "concurrency": ["1", "6"]}
    assert len({job["run_id"] for job in told["jobs"]}) == 6
    assert ran.out.splitlines()[-1] == "Sweep: fail (exit code 1)"
    listed = cli("list", "case").out.splitlines()
    assert listed[-1] == f"sweep {told['sweep_id']}  case  6 of 6 jobs finished, exit code 1"
    assert json.loads(cli("list", "--json").out)["sweeps"][0]["n_finished"] == 6
    assert "failed: floor" in ran.out


def test_a_job_that_cannot_run_is_named_and_the_others_run(cli: Cli, home: Path, experiment: Experiment) -> None:
    """A config that is wrong in one job: 64 is the worst code, its one line is in the table and on standard error."""
    ran = cli("-m", *experiment(ITEMS, model=MODEL, gates=GATES), "gates.floor.floor=0.5,2,0.9")
    assert ran.code == 64
    told = sweep(home)
    assert [job["exit_code"] for job in told["jobs"]] == [0, 64, 0]
    assert "quality/exact can never be >= 2" in told["jobs"][1]["said"]
    assert len(ran.faults) == 1
    assert "could not run" in ran.out


def test_a_model_that_ends_the_process_ends_its_job_alone(cli: Cli, home: Path, experiment: Experiment) -> None:
    """SystemExit in an answer is an error row; the sweep goes on, and its exit code is the job's."""
    gates = {"errors": {"figure": "n/error_share", "ceiling": 0.0}}
    model = {"_target_": "tests.stand_ins.Exiting", "of": "q03"}
    ran = cli("-m", *experiment(ITEMS, model=model, gates=gates), "model.of=q03,none")
    assert ran.code == 1
    assert [job["verdict"] for job in sweep(home)["jobs"]] == ["fail", "pass"]


def test_started_again_a_finished_sweep_is_a_new_one(cli: Cli, home: Path, experiment: Experiment) -> None:
    """What is finished is never used again in silence."""
    words = ["-m", *experiment(ITEMS, model=MODEL, gates=GATES), "seed=0,1"]
    assert cli(*words).code == cli(*words).code == 0
    assert calls(home) == 4 * len(ITEMS)
    assert len(list((home / "outputs/.sweeps").iterdir())) == 2


def test_started_again_only_what_is_not_finished_runs(cli: Cli, home: Path, experiment: Experiment) -> None:
    """The job that could not run is run, under the same sweep id; those that passed or failed are not."""
    words = ["-m", *experiment(ITEMS, model=MODEL, gates=GATES), "seed=0,1", "dataset.path=items.jsonl,later.jsonl"]
    first = cli(*words)
    assert first.code == 64
    before = sweep(home)
    assert [job["exit_code"] for job in before["jobs"]] == [0, 64, 0, 64]
    (home / "later.jsonl").write_text((home / "items.jsonl").read_text(encoding="utf-8"), encoding="utf-8")
    asked = calls(home)
    second = cli(*words)
    assert second.code == 0
    after = sweep(home)
    assert after["sweep_id"] == before["sweep_id"]
    assert [job["skipped"] for job in after["jobs"]] == [True, False, True, False]
    assert [job["run_id"] for job in after["jobs"]][::2] == [job["run_id"] for job in before["jobs"]][::2]
    assert calls(home) == asked + 2 * len(ITEMS)
    assert "finished before" in second.out


def test_a_finished_job_whose_config_has_changed_is_run_again(cli: Cli, home: Path, experiment: Experiment) -> None:
    """The experiment's file was edited between two starts of a sweep: nothing of before stands for it."""
    grid = ["seed=0,1", "dataset.path=items.jsonl,later.jsonl"]
    assert cli("-m", *experiment(ITEMS, model=MODEL, gates=GATES), *grid).code == 64
    (home / "later.jsonl").write_text((home / "items.jsonl").read_text(encoding="utf-8"), encoding="utf-8")
    edited = {"floor": {"figure": "quality/exact", "floor": 0.8}}
    assert cli("-m", *experiment(ITEMS, model=MODEL, gates=edited), *grid).code == 0
    assert [job["skipped"] for job in sweep(home)["jobs"]] == [False] * 4


def test_one_run_cannot_be_resumed_by_many_jobs(cli: Cli, experiment: Experiment) -> None:
    """`resume=RUN` is for one run, and is refused in a sweep; `resume=new` asks for a new sweep."""
    words = ["-m", *experiment(ITEMS, model=MODEL, gates=GATES), "seed=0,1"]
    refused = cli(*words, "resume=20260101-000000-abcdef")
    assert (refused.code, len(refused.faults)) == (64, 1)
    assert "a sweep has many runs" in refused.err
    assert cli(*words, "resume=new").code == 0


def test_a_grid_may_be_the_experiments_own(cli: Cli, home: Path, experiment: Experiment) -> None:
    """`hydra.sweeper.params` in the experiment gives the values; one on the command line overrules its own."""
    own = {"hydra": {"sweeper": {"params": {"seed": "0,1,2", "concurrency": "1,6"}}}}
    words = experiment(ITEMS, model=MODEL, gates=GATES, **own)
    assert cli("-m", *words, "seed=7").code == 0
    assert [job["swept"] for job in sweep(home)["jobs"]] == [{"concurrency": "1"}, {"concurrency": "6"}]


def test_a_dry_sweep_prints_plans_and_leaves_nothing(cli: Cli, home: Path, experiment: Experiment) -> None:
    """Each job's plan, and no sweep is begun."""
    ran = cli("-m", *experiment(ITEMS, model=MODEL, gates=GATES), "seed=0,1", "dry_run=True")
    assert ran.code == 0
    assert ran.out.count("12 requests") == 2 + 2  # of the plan, and of its arm
    assert not (home / "outputs/.sweeps").exists()


def start(home: Path, words: list[str]) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "evalflow", *words],
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_killed_sweep_goes_on(home: Path, experiment: Experiment) -> None:
    """Killed in its third job: two jobs are not run again, the third goes on in its own run, with its rows."""
    model = {**MODEL, "delay_s": 0.05}
    words = ["-m", *experiment(ITEMS, model=model, gates=GATES), *GRID, "--quiet"]
    process = start(home, words)
    deadline = time.monotonic() + 90
    while calls(home) < 2 * len(ITEMS) + 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    asked, finished = calls(home), runs(home)
    assert len(finished) == 2
    again = start(home, words)
    out, err = again.communicate(timeout=120)
    assert (again.returncode, err) == (0, "")
    told = sweep(home)
    assert [job["skipped"] for job in told["jobs"]] == [True, True, False, False, False, False]
    assert len(runs(home)) == 6, "the third job has one run, not two"
    assert calls(home) <= 6 * len(ITEMS) + 6
    assert asked < calls(home)
    assert out.splitlines()[-1] == "pass"


def test_ctrl_c_ends_a_sweep_in_order(home: Path, experiment: Experiment) -> None:
    """The job at work reports what it has, no other begins, the table names them, and the exit code is 130."""
    model = {**MODEL, "delay_s": 0.2}
    words = ["-m", *experiment(ITEMS, model=model, gates=GATES), *GRID]
    process = start(home, words)
    deadline = time.monotonic() + 90
    while calls(home) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out.splitlines()[-1] == "Sweep: incomplete (exit code 130)"
    assert "not run: 5 of 6 jobs" in out
    assert "finishing what is in flight" in err
    again = start(home, [*words, "--quiet"])
    assert again.communicate(timeout=120) and again.returncode == 0


def test_jobs_may_run_at_the_same_time(home: Path, experiment: Experiment) -> None:
    """joblib, two at once, one of them killing its process, which takes the other along: that one is tried again by
    itself and passes, the dead one is named, and a second start runs it alone. Times of a shared machine say so."""
    model = {"_target_": "tests.stand_ins.Dying", "seed": 1, "cure": "cure.txt"}
    words = ["-m", *experiment(ITEMS, model=model, gates=GATES), "seed=0,1,2"]
    launcher = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    first = start(home, [*words, *launcher])
    out, err = first.communicate(timeout=180)
    assert first.returncode == 3, out + err
    told = sweep(home)
    assert told["parallel"] is True
    assert told["jobs"][1]["said"] == "its process ended before the job did"
    assert [job["verdict"] for job in told["jobs"]] == ["pass", None, "pass"]
    assert "Sweep: incomplete (exit code 3)" in out.splitlines()
    (home / "cure.txt").touch()
    second = start(home, [*words, *launcher])
    out, err = second.communicate(timeout=180)
    assert second.returncode == 0, out + err
    assert [job["skipped"] for job in sweep(home)["jobs"]] == [True, False, True]
    report = json.loads((runs(home)[0] / "report.json").read_text(encoding="utf-8"))
    assert any("shared machine" in note for note in report["notes"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dry_run=true,false"], "all jobs are dry or none is"),
        (["concurrency=interval(1,2)"], "its values cannot be listed"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(
    cli: Cli, home: Path, experiment: Experiment, words: list[str], said: str
) -> None:
    """One line, exit code 64, and nothing is begun."""
    ran = cli("-m", *experiment(ITEMS, model=MODEL, gates=GATES), "seed=0,1", *words)
    assert (ran.code, len(ran.faults), said in ran.err) == (64, 1, True), ran.err
    assert not (home / "outputs/.sweeps").exists()


def test_what_an_earlier_start_still_does_is_not_this_ones(home: Path) -> None:
    """A process that outlives its killed sweep neither stops the next start nor tells of its jobs."""
    told = {"overrides": [], "jobs": [["seed=0"]], "axes": {}}
    old, lock = open_sweep(Path("outputs"), told, (), False)
    lock.release()
    new, lock = open_sweep(Path("outputs"), told, (), False)
    assert (new.folder, new.start != old.start) == (old.folder, True)
    old.stop()
    old.write(JobRecord(0, "ended", old.start, "then", exit_code=130))
    assert (old.stopped, new.stopped, new.read(0)) == (True, False, None)
    new.write(JobRecord(0, "ended", new.start, "now", exit_code=0))
    assert new.read(0) == JobRecord(0, "ended", new.start, "now", exit_code=0)
    lock.release()


def test_a_sweep_whose_process_was_killed_leaves_nothing_at_work(home: Path, experiment: Experiment) -> None:
    """joblib's processes outlive their sweep: they end by themselves, and the next start, at once, waits for their runs
    and goes on in them. No job has two runs, and no more is asked again than was in flight."""
    model = {**MODEL, "delay_s": 0.5}
    launcher = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    words = ["-m", *experiment(ITEMS, model=model, gates=GATES), "seed=0,1,2", *launcher]
    process = start(home, words)
    deadline = time.monotonic() + 90
    while calls(home) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    again = start(home, words)
    out, err = again.communicate(timeout=180)
    process.communicate(timeout=30)  # its pipes are closed once its last process is gone
    assert again.returncode == 0, out + err
    assert [job["verdict"] for job in sweep(home)["jobs"]] == ["pass"] * 3
    assert len(runs(home)) == len(list(home.glob("outputs/case/2*"))) == 3
    assert 3 * len(ITEMS) <= calls(home) <= 3 * len(ITEMS) + 2


def test_a_sweep_that_cannot_keep_its_records_is_no_pass(home: Path, experiment: Experiment, cli: Cli) -> None:
    """Its own record went away while a job ran: exit code 3, and a line that says so."""
    model = {"_target_": "tests.stand_ins.Removing", "pattern": "outputs/.sweeps/*/sweep.json"}
    ran = cli("-m", *experiment(ITEMS, model=model, gates=GATES), "seed=0,1")
    assert ran.code == 3
    assert "sweep.json: it cannot be read any more" in ran.err
