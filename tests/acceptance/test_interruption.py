"""A run that is stopped, that hangs, that shares its folder or loses its disk: it ends, says so, and loses no row."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.same import essence
from tests.conftest import Cli

Experiment = Callable[..., list[str]]
ROOT = Path(__file__).resolve().parents[2]
ITEMS = [{"id": f"q{i:02}", "input": f"question {i}", "target": "right"} for i in range(24)]
SLOW = {"_target_": "evalflow.model.scripted.Scripted", "otherwise": "right", "delay_s": 0.4, "calls": "calls.txt"}
GATES = {"floor": {"figure": "quality/exact", "floor": 0.5}}
IN_FLIGHT = 4


@dataclass
class Running:
    """One command line in a process of its own."""

    process: subprocess.Popen[str]
    folder: Path

    def until_rows(self, n: int) -> Running:
        """Wait until so many rows are on disk."""
        deadline = time.monotonic() + 60
        while rows(self.folder) < n:
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline, "it answers nothing"
            time.sleep(0.01)
        return self

    def send(self, number: int) -> Running:
        self.process.send_signal(number)
        return self

    def end(self, within: float = 60) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=within)
        return self.process.returncode, out, err


def rows(folder: Path) -> int:
    files = folder.glob("outputs/case/[0-9]*/rows.jsonl")
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def calls(folder: Path) -> int:
    path = folder / "calls.txt"
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


def runs(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("outputs/case/*/run.json") if path.parent.name[0] != ".")


def read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


@pytest.fixture
def start(home: Path) -> Iterator[Callable[..., Running]]:
    """`start(*words)`: evalflow in a process of its own, ended with the test whatever becomes of it."""
    begun = []

    def run(*words: str, most_bytes: int | None = None) -> Running:
        def limit() -> None:
            if most_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

        process = subprocess.Popen(
            [sys.executable, "-m", "evalflow", *words],
            cwd=home,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=limit,
        )
        begun.append(process)
        return Running(process, home)

    yield run
    for process in begun:
        with contextlib.suppress(OSError):
            process.kill()
        process.communicate()


def test_the_first_ctrl_c_finishes_what_is_in_flight(home: Path, experiment: Experiment, start: Any) -> None:
    """No answer is thrown away, nothing new is asked, the report says incomplete, the exit code is 130, and the same
    command goes on: not one call is repeated."""
    words = experiment(ITEMS, model=SLOW, concurrency=IN_FLIGHT, gates=GATES)
    code, out, err = start(*words).until_rows(8).send(signal.SIGINT).end()
    assert code == 130
    there = rows(home)
    calls = (home / "calls.txt").read_text(encoding="utf-8").splitlines()
    assert 8 <= there < len(ITEMS)
    assert len(calls) == there, "everything that was asked was answered"
    assert f"Verdict: incomplete (exit code 130); arm one did not finish: it has {there} of 24 rows" in out
    assert "finishing what is in flight" in err and "interrupted; what was answered is on disk" in err
    (folder,) = runs(home)
    assert read(folder / "run.json")["state"] == "interrupted"
    code, out, err = start(*words, "model.delay_s=0").end()
    assert (code, err) == (0, "")
    assert f"resuming run {folder.name}: {there} of 24 rows are there" in out
    assert len((home / "calls.txt").read_text(encoding="utf-8").splitlines()) == len(ITEMS)


def test_the_second_ctrl_c_ends_it_at_once(home: Path, experiment: Experiment, start: Any) -> None:
    """What is in flight is given up, what was answered is kept, and the process does not wait for a minute's answer."""
    model = {**SLOW, "delays": {f"q{i:02}": 60 for i in range(8, 12)}}
    words = experiment(ITEMS, model=model, concurrency=IN_FLIGHT, gates=GATES)
    running = start(*words).until_rows(8).send(signal.SIGINT)
    time.sleep(1)
    began = time.monotonic()
    code, out, err = running.send(signal.SIGINT).end()
    assert time.monotonic() - began < 20
    assert (code, "Verdict" in out) == (130, False)
    assert "interrupted" in err and "Traceback" not in err
    assert rows(home) == 8
    code, out, _ = start(*words, "~model.delays", "model.delay_s=0").end()
    assert code == 0
    assert "8 of 24 rows are there" in out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_termination_signal_does_not_wait(home: Path, experiment: Experiment, start: Any, number: int) -> None:
    """What is in flight is cancelled at once, the report of what there is is written, and the exit code is 130."""
    model = {**SLOW, "delays": {f"q{i:02}": 60 for i in range(8, 12)}}
    words = experiment(ITEMS, model=model, concurrency=IN_FLIGHT, gates=GATES)
    running = start(*words).until_rows(8)
    began = time.monotonic()
    code, out, err = running.send(number).end()
    assert time.monotonic() - began < 20
    assert code == 130
    assert "cancelling what is in flight" in err and "Verdict: incomplete" in out
    (folder,) = runs(home)
    assert read(folder / "report.json")["coverage"]["n_rows"] == 8


def test_a_termination_signal_before_the_first_row(home: Path, experiment: Experiment, start: Any) -> None:
    """A model that never starts is given up at once; the run is there, empty, and can be resumed."""
    words = experiment(ITEMS, model={"_target_": "tests.stand_ins.Stuck", "where": "start"}, gates=GATES)
    running = start(*words)
    deadline = time.monotonic() + 60
    while not runs(home) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.5)
    code, out, _ = running.send(signal.SIGTERM).end()
    assert code == 130
    assert "arm one did not finish: it has 0 of 24 rows" in out


@pytest.mark.parametrize("where", ["answer", "thread"])
def test_a_model_that_hangs_is_an_error_row(home: Path, experiment: Experiment, start: Any, where: str) -> None:
    """Whether it swallows its cancellation or sits in a thread: the row is a timeout, the others are answered, and
    neither the run nor the process waits for it."""
    model = {"_target_": "tests.stand_ins.Stuck", "where": where, "of": "q03"}
    words = experiment(ITEMS, model=model, concurrency=2, gates={"errors": {"figure": "n/error_share", "ceiling": 0.0}})
    began = time.monotonic()
    code, out, err = start(*words, "runner.timeout_s=0.5").end()
    assert time.monotonic() - began < 60
    assert code == 1, err
    assert "arm one, 1 error row: timeout: no answer in 0.5 s" in out
    (folder,) = runs(home)
    lines = (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    failed = [row for line in lines if (row := json.loads(line))["error"]]
    assert [row["item_id"] for row in failed] == ["q03"]
    assert rows(home) == len(ITEMS)


def test_a_model_that_never_starts_is_an_unavailable_arm(home: Path, experiment: Experiment, start: Any) -> None:
    """It is given `start_timeout_s`, and the run cannot be completed."""
    words = experiment(ITEMS, model={"_target_": "tests.stand_ins.Stuck", "where": "start"}, gates=GATES)
    code, out, _ = start(*words, "runner.start_timeout_s=0.5").end()
    assert code == 3
    assert "arm one is unavailable: it did not start within 0.5 s (runner.start_timeout_s)" in out


def test_a_model_that_never_lets_go_costs_nothing_but_time(home: Path, experiment: Experiment, start: Any) -> None:
    """Its answers count, and the report says that it did not end."""
    words = experiment(ITEMS, model={"_target_": "tests.stand_ins.Stuck", "where": "close"}, gates=GATES)
    code, _, err = start(*words, "runner.timeout_s=0.5").end()
    assert (code, err) == (0, "")
    (folder,) = runs(home)
    assert read(folder / "report.json")["arms"]["one"]["facts"] == {"close_failed": "no end within 0.5 s"}


def test_a_second_process_on_a_run_is_refused(home: Path, experiment: Experiment, start: Any) -> None:
    """By name it is refused in one line; without, it begins a run of its own and says that the first is at work."""
    words = experiment(ITEMS, model=SLOW, concurrency=IN_FLIGHT, gates=GATES)
    first = start(*words).until_rows(1)
    (folder,) = runs(home)
    for command in (["score", folder.name], [*words, f"resume={folder.name}"]):
        code, out, err = start("--allow", "tests", *command).end()
        assert (code, out) == (64, "")
        assert (
            err == f"evalflow: outputs/case/{folder.name}: another process works on this run; wait for it, or end it\n"
        )
    code, out, _ = start(*words, "model.delay_s=0").end()
    assert code == 0
    assert f"run {folder.name} of the same rows is at work in another process; this is a new one" in out
    assert first.end()[0] == 0
    assert len(runs(home)) == 2
    one, other = (essence(read(run / "report.json")) for run in runs(home))
    assert one == other


def test_a_full_disk_is_one_line_and_loses_nothing(home: Path, experiment: Experiment, start: Any) -> None:
    """The rows that were written stay, the process says what to do, and once there is room the run goes on."""
    words = experiment(ITEMS, model={**SLOW, "delay_s": 0.01}, gates=GATES)
    code, out, err = start(*words, most_bytes=6000).end()
    assert (code, out) == (3, "")
    (line,) = err.splitlines()
    assert "cannot be written any more (File too large); make room and run again" in line
    assert 0 < rows(home) < len(ITEMS)
    code, out, err = start(*words).end()
    assert (code, err) == (0, "")
    assert "of 24 rows are there" in out
    (folder,) = runs(home)
    assert len(read(folder / "report.json")["sessions"]) == 2
    assert len((home / "calls.txt").read_text(encoding="utf-8").splitlines()) <= len(ITEMS) + 2


def test_an_output_folder_that_cannot_be_written_starts_nothing(home: Path, experiment: Experiment, start: Any) -> None:
    """One line, exit code 64, and the model was not asked."""
    (home / "file").write_text("", encoding="utf-8")
    code, out, err = start(*experiment(ITEMS, model=SLOW, gates=GATES), "runner.outputs=file").end()
    assert (code, out) == (64, "")
    assert err == "evalflow: file/case: cannot be written (Not a directory); give another with runner.outputs=DIR\n"
    assert not (home / "calls.txt").exists()


def test_a_part_that_became_the_whole_is_judged_by_what_it_is_now(
    cli: Cli, home: Path, experiment: Experiment, start: Any
) -> None:
    """Six items of six, later `limit=6` of seven: the same rows, yet a smoke run, in the report and scored again."""
    items = ITEMS[:6]
    words = experiment(items, model=SLOW, gates=GATES)
    start(*words).until_rows(2).send(signal.SIGKILL).end()
    (home / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in ITEMS[:7]), encoding="utf-8")
    ran = cli(*words, "limit=6", "model.delay_s=0")
    assert f"resuming run {runs(home)[0].name}" in ran.out
    again = cli("score", runs(home)[0].name, "--allow", "tests")
    for one in (ran, again):
        assert (one.code, one.report["part"], one.report["verdict"]) == (2, "smoke run: limit 6", "unreadable")


def test_a_stop_while_the_last_answers_come_is_still_a_stop(home: Path, experiment: Experiment, start: Any) -> None:
    """The run is whole and reported, the process answers 130, and the same command only tells it."""
    words = experiment(ITEMS[:4], model={**SLOW, "delay_s": 2}, concurrency=IN_FLIGHT, gates=GATES)
    running = start(*words)
    deadline = time.monotonic() + 60
    while calls(home) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    code, out, err = running.send(signal.SIGINT).end()
    assert (code, rows(home)) == (130, 4)
    assert "Verdict: pass (exit code 130)" in out and "interrupted; what was answered is on disk" in err
    code, out, err = start(*words).end()
    assert (code, err, rows(home), len(runs(home))) == (0, "", 4, 1)
    assert "they are used again" in out


def test_a_model_that_cancels_everything_is_no_interruption(home: Path, experiment: Experiment, start: Any) -> None:
    """The run could not be completed, and who did it is said: exit code 3, not 130."""
    model = {"_target_": "tests.stand_ins.Unfair", "how": "cancel", "of": "q02"}
    code, _, err = start(*experiment(ITEMS[:6], model=model, gates=GATES)).end()
    assert code == 3
    assert "something cancelled the run's own tasks" in err
    assert rows(home) == 2


def test_a_model_that_ends_its_coroutine_is_an_error_row(home: Path, experiment: Experiment, start: Any) -> None:
    """GeneratorExit is a fault like any other; the rest is answered."""
    model = {"_target_": "tests.stand_ins.Unfair", "how": "generator exit", "of": "q02"}
    gates = {"errors": {"figure": "n/error_share", "ceiling": 0}}
    code, out, _ = start(*experiment(ITEMS[:6], model=model, gates=gates)).end()
    assert (code, rows(home)) == (1, 6)
    assert "arm one, 1 error row: RuntimeError: GeneratorExit" in out


def test_a_time_of_whole_items_is_marked_too(cli: Cli, home: Path, experiment: Experiment, start: Any) -> None:
    """Whatever a timed metric reads, over two sessions no gate reads it unless it says so."""
    exact = {"_target_": "evalflow.metric.exact_match.ExactMatch"}
    metrics = {"exact": exact, "item": {"_target_": "tests.stand_ins.ItemTime"}}
    gate = {"figure": "lat/item_s", "ceiling": 60}
    gates = {"item": gate, "any": {**gate, "allow_sessions": True}}
    words = experiment(ITEMS[:6], model=SLOW, metrics=metrics, gates=gates)
    start(*words).until_rows(2).send(signal.SIGKILL).end()
    ran = cli(*words)
    assert ran.report["arms"]["one"]["figures"]["lat/item_s"]["n_sessions"] == 2
    assert [ran.report["gates"][name]["outcome"] for name in ("item", "any")] == ["unreadable", "pass"]


def test_a_renamed_run_is_not_gone_on_with(cli: Cli, home: Path, experiment: Experiment, start: Any) -> None:
    """Its folder and what is in it no longer agree on which run it is: a new one is begun."""
    words = experiment(ITEMS[:6], model=SLOW, gates=GATES)
    start(*words).until_rows(2).send(signal.SIGKILL).end()
    (folder,) = runs(home)
    folder.rename(folder.with_name("20250101-000000-aaaaaa"))
    ran = cli(*words, "model.delay_s=0")
    assert (ran.code, "resuming" in ran.out, len(runs(home))) == (0, False, 2)


def test_a_termination_signal_does_not_wait_for_a_model_to_let_go(
    home: Path, experiment: Experiment, start: Any
) -> None:
    """Its close would hang for ten minutes: it is given a few seconds."""
    model = {"_target_": "tests.stand_ins.Stuck", "where": "close and thread", "of": "q03"}
    running = start(*experiment(ITEMS, model=model, gates=GATES)).until_rows(3)
    began = time.monotonic()
    code, out, _ = running.send(signal.SIGTERM).end()
    assert time.monotonic() - began < 40
    assert (code, rows(home)) == (130, 3)
    assert "arm one did not finish: it has 3 of 24 rows" in out


def test_a_session_cut_off_before_its_first_look_has_no_lag(home: Path, experiment: Experiment, start: Any) -> None:
    """Nobody knows whether its driver was late, so that no time of it is read, whatever a gate allows."""
    exact = {"_target_": "evalflow.metric.exact_match.ExactMatch"}
    metrics = {"exact": exact, "e2e": {"_target_": "evalflow.metric.latency.E2e"}}
    gates = {"fast": {"figure": "lat/e2e_s/p50", "ceiling": 60, "allow_sessions": True}}
    model = {"_target_": "tests.stand_ins.Stuck", "where": "thread", "of": "q03"}
    words = experiment(ITEMS, model=model, metrics=metrics, gates=gates)
    start(*words).until_rows(3).send(signal.SIGKILL).end()
    (folder,) = runs(home)
    (account,) = read(folder / "arms.json")["one"]
    assert (account["driver"]["loop_lag_p99_s"], account["driver"]["saturated"]) == (None, None)
    _, out, _ = start(*words, "model.where=answer", "model.of=nothing").end()
    assert read(folder / "report.json")["gates"]["fast"]["reason"] == "the driver's own lag is not known", out
