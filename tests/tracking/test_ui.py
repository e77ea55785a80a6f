"""Serving a store: what is refused, and that what is served shows the store and takes runs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from evalflow.errors import TrackingError
from evalflow.tracking.finished_run import Logged
from evalflow.tracking.ui import serve
from tests.conftest import Cli
from tests.tracking.written_run import MakeRun

Log = Callable[..., Logged]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def wait_until(condition: Callable[[], bool], within_s: float) -> bool:
    end = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def test_a_store_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    """Serving a folder without a store is refused with what to do first, and nothing is announced."""
    with pytest.raises(TrackingError, match=r"mlflow\.db: no tracking store there yet; run an experiment first"):
        serve(tmp_path, None, free_port(), announce=lambda line: pytest.fail(f"announced {line}"))


@pytest.mark.parametrize("port", ["0", "65536", "99999", "-1"])
def test_a_port_that_none_can_have_is_a_mistake_of_the_command_line(cli: Cli, port: str) -> None:
    """It is refused in one line that says which ports there are, exit code 64."""
    refused = cli("ui", f"--port={port}")
    assert (refused.code, refused.out, len(refused.faults)) == (64, "", 1)
    assert f"--port is {port}, and ports are 1 to 65535" in refused.faults[0]


def test_a_server_is_not_served_again(tmp_path: Path) -> None:
    """A URI that is a server already is refused with the address to open."""
    with pytest.raises(TrackingError, match=r"open http://ml\.example"):
        serve(tmp_path, "http://ml.example", free_port())


@pytest.mark.parametrize("port", [None, 70_000])
def test_a_port_that_cannot_be_had_is_one_line(tmp_path: Path, port: int | None) -> None:
    """A port that is taken or out of range is refused."""
    (tmp_path / "mlflow.db").touch()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(TrackingError, match="the port cannot be used"):
            serve(tmp_path, None, port or taken.getsockname()[1])


def test_the_server_shows_the_store_takes_runs_and_ends_with_ctrl_c(make_run: MakeRun, log: Log, outputs: Path) -> None:
    """A served store answers, is logged to over http as from another machine, and stops with exit code 130."""
    run = make_run("served")
    log(run)
    port = free_port()
    code = (
        "import sys, pathlib; from evalflow.tracking.ui import serve;"
        "sys.exit(serve(pathlib.Path(sys.argv[1]), None, int(sys.argv[2])))"
    )
    command = [sys.executable, "-c", code, str(outputs), str(port)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: answers(port), within_s=60)
        first = log(run, uri=f"http://127.0.0.1:{port}", experiment="over http")
        again = log(run, uri=f"http://127.0.0.1:{port}", experiment="over http")
        assert first.link.startswith(f"http://127.0.0.1:{port}/#/experiments/")
        assert first.run_ids == again.run_ids
    finally:
        os.kill(child.pid, signal.SIGINT)
        code_at_end = child.wait(timeout=30)
    assert code_at_end == 130
    assert wait_until(lambda: not answers(port), within_s=10)


def test_it_says_where_the_views_are_once_it_answers(make_run: MakeRun, log: Log, outputs: Path) -> None:
    """An address is given as open when it answers, and each experiment's prepared view stands under it."""
    log(make_run("viewed"), experiment="a viewed one")
    port = free_port()
    code = (
        "import sys, pathlib; from evalflow.tracking.ui import serve;"
        "serve(pathlib.Path(sys.argv[1]), None, int(sys.argv[2]), lambda line: print(line, flush=True))"
    )
    command = [sys.executable, "-c", code, str(outputs), str(port)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == f"starting MLflow at http://127.0.0.1:{port} ...\n"
        # MLflow's own lines stand between
        assert f"http://127.0.0.1:{port}  (Ctrl-C ends it)\n" in child.stdout
        assert answers(port)
        view = next(line for line in child.stdout if line.startswith("  a viewed one: "))
        assert view.startswith(f"  a viewed one: http://127.0.0.1:{port}/#/experiments/")
        assert view.endswith("viewStateShareKey=evalflow\n")
    finally:
        os.kill(child.pid, signal.SIGINT)
        child.communicate(timeout=30)
