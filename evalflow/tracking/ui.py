"""The MLflow UI on the right store, for this machine only."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from evalflow.errors import ExitCode, TrackingError
from evalflow.tracking.store import ENVIRONMENT, Store, store_at
from evalflow.tracking.view import VIEW_TAG, view_link

HOST = "127.0.0.1"
ENDS_WITHIN_S = 10.0
ANSWERS_WITHIN_S = 5.0
MOST_VIEWS = 10


def serve(outputs: Path, uri: str | None, port: int, announce: Callable[[str], object] = lambda _line: None) -> int:
    """Show the store until interrupted, and answer with the server's exit code (130 when interrupted).

    `announce` is told line by line that the server starts, then where it answers, and the prepared view of each
    experiment.

    Raises:
        TrackingError: there is no store yet, it is a server with pages of its own, or the port is taken.
    """
    store = store_at(uri, outputs)
    _check_servable(store)
    _check_free(port)
    address = f"http://{HOST}:{port}"
    announce(f"starting MLflow at {address} ...")
    # a group of its own, since the server starts workers that would outlive it
    child = subprocess.Popen(
        _command(store, port),
        env={**os.environ, **_environment()},
        start_new_session=True,
        stdin=subprocess.DEVNULL,
    )
    try:
        with _termination_interrupts():
            if _answers(child, address):
                for line in [f"{address}  (Ctrl-C ends it)", *_views(address)]:
                    announce(line)
            return child.wait()
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    finally:
        _end(child)


def _check_servable(store: Store) -> None:
    if store.page is not None:
        raise TrackingError(f"{store.shown}: is a server with its own pages; open {store.page}")
    if store.database is not None and not store.database.exists():
        raise TrackingError(f"{store.database}: no tracking store there yet; run an experiment first, or give its uri")


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        # as the server itself binds: a port in TIME_WAIT is free
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as fault:
            said = getattr(fault, "strerror", None) or fault
            raise TrackingError(f"{HOST}:{port}: the port cannot be used ({said}); give another one") from None


def _answers(child: subprocess.Popen[bytes], address: str) -> bool:
    """Wait until the server answers: before that a browser is refused. False where it ended first."""
    while child.poll() is None:
        try:
            _asked(f"{address}/health")
        except OSError:
            time.sleep(0.1)
        else:
            return True
    return False


def _views(address: str) -> list[str]:
    """The experiments that have a prepared view, each with its link; none where the server does not say."""
    query = {"max_results": MOST_VIEWS, "order_by": ["last_update_time DESC"]}
    try:
        listed = json.loads(_asked(f"{address}/api/2.0/mlflow/experiments/search", json.dumps(query).encode()))
    except (OSError, ValueError):
        return []
    return [
        f"  {one['name']}: {view_link(address, one['experiment_id'])}"
        for one in listed.get("experiments", [])
        if any(tag["key"] == VIEW_TAG for tag in one.get("tags", []))
    ]


def _asked(url: str, body: bytes | None = None) -> bytes:
    """What the server answers; a proxy has no part in it.

    Raises:
        OSError: it does not answer, or with an error.
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with opener.open(request, timeout=ANSWERS_WITHIN_S) as answer:
        said: bytes = answer.read()
        return said


def _command(store: Store, port: int) -> list[str]:
    # -P: a file in the working folder must not stand in for a library's module
    command = [
        sys.executable,
        "-P",
        "-m",
        "mlflow",
        "server",
        "--host",
        HOST,
        "--port",
        str(port),
        "--workers",
        "1",
    ]
    # a line per request would carry the links out of sight
    command += ["--uvicorn-opts", "--log-level=warning", "--backend-store-uri", store.uri]
    return command if store.artifacts is None else [*command, "--artifacts-destination", store.artifacts]


def _environment() -> dict[str, str]:
    # the job runner is for MLflow's own evaluations, and takes 234 MB
    return {**ENVIRONMENT, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "PYTHONSAFEPATH": "1"}


@contextmanager
def _termination_interrupts() -> Iterator[None]:
    """Take SIGTERM as Ctrl-C while the server runs, or it would stay behind on its port."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the server and its workers; a second Ctrl-C changes nothing."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            return
        try:
            child.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            continue
