"""A run killed at any moment and started again gives the report of a run that was not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalflow.runner.stored_run import load_run
from tests.acceptance.same import essence

Experiment = Callable[..., list[str]]
ROOT = Path(__file__).resolve().parents[2]
IN_FLIGHT = 4
ITEMS = [
    {"id": f"q{i:02}", "input": f"question {i}", "target": "right", "kind": "ab"[i % 2], "cluster": f"c{i % 9}"}
    for i in range(36)
]
N_ROWS = 3 * len(ITEMS)
PARTS: dict[str, Any] = {
    "concurrency": IN_FLIGHT,
    "arms": {"one": {}, "two": {"decoding": {"temperature": 1.0}, "seeds": [0, 1]}},
    "model": {
        "_target_": "evalflow.model.scripted.Scripted",
        "answers": {f"q{i:02}": "wrong" for i in range(0, 36, 5)},
        "otherwise": "right",
        "delay_s": 0.02,
        "calls": "calls.txt",
    },
    "metrics": {
        "exact": {"_target_": "evalflow.metric.exact_match.ExactMatch"},
        "e2e": {"_target_": "evalflow.metric.latency.E2e"},
    },
    "comparisons": {"pair": {"reference": "one", "candidate": "two", "figures": ["quality/exact"]}},
    "gates": {
        "floor": {"figure": "quality/exact", "floor": 0.5},
        "fast": {"figure": "lat/e2e_s/p50", "ceiling": 9.0, "report_only": True},
    },
}


@dataclass(frozen=True)
class Process:
    """One command line in a process of its own, run to its end or killed; `phases` is what it noted of itself."""

    code: int
    out: str
    err: str
    phases: list[tuple[str, int, float]]

    @property
    def died_in(self) -> str:
        """The phase that it was in when its notes end, or the one that it had last been in."""
        open_phases: list[str] = []
        last = "starting up"
        for name, nth, _ in self.phases:
            last = f"{name} {nth}" if name != "end" else f"after {open_phases.pop()}"
            if name != "end" and not name.startswith("write"):
                open_phases.append(f"{name} {nth}")
        return f"{open_phases[-1]}, {last}" if open_phases and open_phases[-1] != last else last


def start(folder: Path, words: Sequence[str], kill: str = "-", env: dict[str, str] | None = None) -> Process:
    log = folder / "phases.txt"
    log.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.acceptance.killed", str(log), kill, *words]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder), **(env or {})}
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    phases = [tuple(json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    return Process(ended.returncode, ended.stdout, ended.stderr, phases)


def runs(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("outputs/*/*/run.json") if not path.parent.name.startswith("."))


def calls(folder: Path) -> int:
    """How often the model was asked."""
    path = folder / "calls.txt"
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


def report(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "report.json").read_text(encoding="utf-8")))


POINTS = [
    "opening:1:0",
    "write:3:after",
    "write:6:before",
    "answering:1:0.06",
    "write:9:before",
    "answering:2:0.2",
    "write:12:after",
    "scoring:1:0",
    "write:15:before",
]
"""Places of the kill, from the folder's making to the report's writing."""


@pytest.fixture
def whole(home: Path, experiment: Experiment) -> tuple[list[str], dict[str, Any]]:
    """The words that run the experiment, and the report of an uninterrupted run; its folder is cleared again."""
    words = experiment(ITEMS, **PARTS)
    first = start(home, words)
    assert first.code == 0, first.err
    (folder,) = runs(home)
    told = essence(report(folder))
    folder.rename(home / "uninterrupted")
    (home / "calls.txt").unlink()
    return words, told


def test_a_killed_run_goes_on_where_it_stopped(home: Path, whole: tuple[list[str], dict[str, Any]]) -> None:
    """At nine places: the same report, every row once, and no call repeated but those that were in flight."""
    words, told = whole
    for point in POINTS:
        first = start(home, words, point)
        assert first.code == -9, f"{point}: not killed ({first.died_in})"
        second = start(home, words)
        assert second.code == 0, f"{point}: {second.err}"
        (folder,) = runs(home)  # the killed run itself, or, where it had none yet, the only one
        stored = load_run(folder)
        assert len(stored.rows) == N_ROWS, point
        assert N_ROWS <= calls(home) <= N_ROWS + IN_FLIGHT, point
        assert essence(report(folder)) == told, point
        folder.rename(home / point.replace(":", "-"))
        (home / "calls.txt").unlink(missing_ok=True)


def test_a_run_killed_three_times_is_still_the_same(home: Path, whole: tuple[list[str], dict[str, Any]]) -> None:
    """Three kills while it answers: four sessions, little is asked again, every row once, and times are marked."""
    words, told = whole
    words = [*words, "gates.fast.report_only=false"]
    for _ in range(3):
        assert start(home, words, "answering:1:0.08").code == -9
    assert start(home, words).code == 2, "a gate on times over several sessions is unreadable"
    (folder,) = runs(home)
    final = report(folder)
    assert len(final["sessions"]) == 4
    assert calls(home) <= N_ROWS + 3 * IN_FLIGHT
    assert final["gates"]["fast"]["reason"].startswith("taken in ")
    same = essence(final)
    assert same["arms"] == told["arms"]
    assert same["comparisons"] == told["comparisons"]


@pytest.mark.slow
def test_thirty_kills_of_the_default_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spread over every phase, logging to MLflow included: one run, equal reports, one whole set in the store."""
    recorded = start(tmp_path, [])
    assert recorded.code == 0, recorded.err
    (folder,) = runs(tmp_path)
    told = essence(report(folder))
    (tmp_path / "outputs").rename(tmp_path / "uninterrupted")
    lines = []
    points = _spread(recorded)
    assert len(points) == 30
    for point in points:
        first = start(tmp_path, [], point)
        assert first.code == -9, f"{point}: not killed ({first.died_in})"
        there = sum(len((run / "rows.jsonl").read_text(encoding="utf-8").splitlines()) for run in runs(tmp_path))
        second = start(tmp_path, [])
        assert second.code == 0, f"{point}: {second.err}"
        (folder,) = runs(tmp_path)
        final = report(folder)
        states = _mlflow_states(tmp_path)
        lines.append((point, first.died_in, there, len(final["sessions"]), essence(final) == told, states))
        (tmp_path / "outputs").rename(tmp_path / point.replace(":", "-"))
    with capsys.disabled():
        print(f"\n{'kill':<26} {'died in':<44} {'rows':>4} {'sessions':>8} {'equal':>5}  MLflow runs by state")  # noqa: T201 - the table is for whoever runs this
        for point, died, rows, sessions, same, states in lines:
            print(f"{point:<26} {died:<44} {rows:>4} {sessions:>8} {same!s:>5}  {states}")  # noqa: T201
    assert all(same for *_, same, _ in lines)
    assert all(states == {"FINISHED": 9} for *_, states in lines)


def _spread(recorded: Process) -> list[str]:
    """Two moments in each of ten phases, arms in turn, and ten of the files, the last but not its end."""
    began: dict[str, list[tuple[float, float]]] = {}
    open_phases: list[tuple[str, float]] = []
    for name, _, at in recorded.phases:
        if name == "end":
            phase, since = open_phases.pop()
            began.setdefault(phase, []).append((since, at - since))
        elif not name.startswith("write"):
            open_phases.append((name, at))
    points = []
    for place, (phase, times) in enumerate(began.items()):
        for turn, share in enumerate((1 / 3, 2 / 3)):
            nth = (place + turn) % len(times)
            points.append(f"{phase}:{nth + 1}:{share * times[nth][1]:.4f}")
    files = [nth for name, nth, _ in recorded.phases if name.startswith("write")]
    chosen = [files[round(i * (len(files) - 1) / 9)] for i in range(10)]
    return points + [f"write:{nth}:{('after', 'before')[i % 2]}" for i, nth in enumerate(chosen)]


def _mlflow_states(home: Path) -> dict[str, int]:
    """How many MLflow runs there are, by status, asked in a process of its own."""
    code = (
        "from mlflow import MlflowClient; from collections import Counter; import json;"
        "c = MlflowClient('sqlite:///outputs/mlflow.db'); e = c.get_experiment_by_name('tiny_gpt');"
        "print(json.dumps(Counter(r.info.status for r in c.search_runs([e.experiment_id]))))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=home, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))
