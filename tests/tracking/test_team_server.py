"""A server that a team shares: many processes log to it at once, and it may go away under them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.tracking.test_ui import answers, free_port, wait_until
from tests.tracking.written_run import made_in

pytestmark = pytest.mark.slow
LOG = """
import sys, pathlib
from tests.tracking.written_run import made_in
from evalflow.errors import TrackingError
from evalflow.tracking.mlflow_store import MLflow
folder, run_id, uri = sys.argv[1:]
try:
    print(len(MLflow(uri=uri).log(made_in(pathlib.Path(folder), run_id), pathlib.Path(folder)).run_ids))
except TrackingError as fault:
    sys.exit(f"not tracked: {fault}")
"""
ROOT = Path(__file__).resolve().parents[2]
PASSES = 5
"""The MLflow runs of one of ours: four passes and the report."""
WRITERS = 8


@contextmanager
def server(folder: Path, port: int) -> Iterator[str]:
    """MLflow's own server over SQLite, which is gone at once when the block ends."""
    address = f"http://127.0.0.1:{port}"
    store = ["--backend-store-uri", f"sqlite:///{folder}/team.db", "--artifacts-destination", str(folder / "files")]
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "2"]
    child = subprocess.Popen(
        [*command, *store],
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"},
    )
    try:
        assert wait_until(lambda: answers(port), within_s=120)
        yield address
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def logging(folder: Path, run_id: str, uri: str) -> subprocess.Popen[str]:
    """A process that logs one run. Each has an outputs folder of its own, as on a machine of its own."""
    own = folder / run_id
    own.mkdir(exist_ok=True)
    command = [sys.executable, "-c", LOG, str(own), run_id, uri]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stored(address: str) -> list[Any]:
    """Every run that the server has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mlflow import MlflowClient

        client = MlflowClient(address)
        found = client.get_experiment_by_name("word_tasks")
        return [] if found is None else list(client.search_runs([found.experiment_id], max_results=1000))


def test_eight_processes_log_to_one_server_at_once(tmp_path: Path):
    """Nothing is lost and nothing is twice: every run of every process is there, whole and ended."""
    with server(tmp_path, free_port()) as address:
        writers = [logging(tmp_path, f"r{n}", address) for n in range(WRITERS)]
        said = [writer.communicate(timeout=300) for writer in writers]
        assert [out.strip() for out, _ in said] == [str(PASSES)] * WRITERS, said
        runs = stored(address)
        assert len(runs) == WRITERS * PASSES
        # a report that is cut short is a verdict that failed, not a logging that did
        assert {run.info.status for run in runs} == {"FINISHED"}
        assert {run.data.tags["evalflow.run_id"] for run in runs} == {f"r{n}" for n in range(WRITERS)}
        assert all(run.data.metrics["n/rows"] == 12 for run in runs if run.data.tags["evalflow.role"] == "report")


def test_a_server_that_goes_away_in_the_middle_costs_nothing(tmp_path: Path):
    """Logging says in one line that it failed; once the server is back the run is whole, and none stays RUNNING."""
    port = free_port()
    with server(tmp_path, port) as address:
        writer = logging(tmp_path, "cut", address)
        assert wait_until(lambda: bool(stored(address)), within_s=120)
    _, said = writer.communicate(timeout=300)
    if writer.returncode != 0:  # on a quick machine it may have ended before
        assert said.startswith(f"not tracked: {address}: the tracking store cannot be used")
        assert "results are on disk" in said
    assert json.loads((made_in(tmp_path / "cut", "cut").folder / "report.json").read_text())["verdict"] == "fail"
    with server(tmp_path, port) as address:
        out, said = logging(tmp_path, "cut", address).communicate(timeout=300)
        assert (out.strip(), said) == (str(PASSES), "")
        runs = stored(address)
        assert len(runs) == PASSES
        assert {run.info.status for run in runs} == {"FINISHED"}
