"""What it costs to lose nothing: rows journalled, read back and resumed, beside the limits that they could reach.

Each figure stands beside a limit measured in the same run: the same rows answered and not kept, written by a bare loop,
or parsed by json alone. Medians of five; the machine is whatever runs this.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from evalflow.record import Row
from evalflow.runner.execute import Before, execute
from evalflow.runner.journal import Journal
from evalflow.runner.plan import Plan, build_plan
from evalflow.runner.resume import take_up
from evalflow.runner.session import carry_out
from evalflow.runner.stop import Stop
from evalflow.runner.stored_run import load_run

SAY = Console(highlight=False, soft_wrap=True).print
N = 5000
REPEATS = 5


class Quiet:
    """Progress that nobody sees."""

    def arm(self, name: str, total: int, done: int) -> None:
        """Nothing."""

    def row(self, row: Row) -> None:
        """Nothing."""

    def stopping(self, finishing: bool) -> None:
        """Nothing."""


class Forgetful(Journal):
    """Keeps nothing: what the driver costs without its records."""

    def __init__(self) -> None:
        self.state = {"run_id": "none"}
        self.session = "none"

    def append(self, row: Row) -> bool:
        """Drop it."""
        return False

    def write_probes(self, probes: Any) -> None:
        """Drop them."""

    def write_traces(self, traces: Any) -> None:
        """Drop them."""


def plan(folder: Path, resume: str | None = None, outputs: str = "outputs") -> Plan:
    """One arm of the scripted model over N items."""
    items = folder / "items.jsonl"
    if not items.exists():
        lines = (json.dumps({"id": f"q{i}", "input": f"question {i}", "target": "right"}) for i in range(N))
        items.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return build_plan(
        {
            "name": "bench",
            "dataset": {"_target_": "evalflow.dataset.jsonl.Jsonl", "path": str(items)},
            "model": {"_target_": "evalflow.model.scripted.Scripted", "otherwise": "right"},
            "decoding": {"_target_": "evalflow.record.Decoding"},
            "runner": {"_target_": "evalflow.runner.settings.Runner", "outputs": str(folder / outputs)},
            "arms": {"one": {"concurrency": 32}},
            "metrics": {"exact": {"_target_": "evalflow.metric.exact_match.ExactMatch"}},
            "resume": resume,
        }
    )


def seconds(act: Callable[[], Any]) -> float:
    """The median wall time of an act (s)."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def forgetful(whole: Plan) -> None:
    """The driver and the model, without a journal."""
    stop = Stop()
    stop.run(execute(whole, Forgetful(), Before(), stop, Quiet()))


def bare(rows: list[Row], path: Path, each: bool) -> None:
    """Rows written by a loop: forced to the disk after each, or once at the end."""
    with path.open("w", encoding="utf-8") as handle:
        for row in rows:
            handle.write(json.dumps(asdict(row)) + "\n")
            if each:
                handle.flush()
                os.fsync(handle.fileno())
        handle.flush()
        os.fsync(handle.fileno())


def kept(whole: Plan) -> Path:
    """A run carried out; its folder."""
    held = carry_out(whole, Quiet(), lambda said: None)
    held.lock.release()
    return held.run.folder


def main() -> int:
    """Print the table; 1 where keeping the rows costs more than answering them twice over."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        fresh = plan(folder, resume="new")
        run = kept(fresh)
        rows = list(load_run(run).rows)
        lines = (run / "rows.jsonl").read_text(encoding="utf-8").splitlines()
        answered = seconds(lambda: forgetful(fresh))
        journalled = seconds(lambda: kept(fresh))
        reading = seconds(lambda: load_run(run))
        looked = replace(fresh, resume=None)
        table = {
            "answered and forgotten (the limit)": answered,
            "answered, journalled and read back": journalled,
            "the same rows by a bare loop, forced to the disk once": seconds(lambda: bare(rows, folder / "a", False)),
            "the same rows by a bare loop, forced after each": seconds(lambda: bare(rows, folder / "b", True)),
            "read back, every field checked": reading,
            "parsed by json alone (the limit)": seconds(lambda: [json.loads(line) for line in lines]),
        }
        for what, took in table.items():
            SAY(f"{1e6 * took / N:>8.0f} µs a row  {what}")
        finished = len(list((folder / "outputs/bench").iterdir()))
        scan = seconds(lambda: release(take_up(looked, lambda said: None)))
        SAY(f"{1e3 * scan:>8.1f} ms  looking for a run to resume among {finished} of the same rows, none scored")
        worth = journalled - reading < 3 * answered
        SAY("kept at less than twice the cost of answering" if worth else "keeping the rows costs too much")
        return 0 if worth else 1


def release(held: Any) -> None:
    """Let go of what was found."""
    if held is not None:
        held.lock.release()


if __name__ == "__main__":
    sys.exit(main())
