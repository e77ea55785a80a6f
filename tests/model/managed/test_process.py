"""A server is ready or refused with one line, and never outlives whoever started it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evalflow.errors import ModelError
from evalflow.model.managed.process import ServedProcess

SERVER = """
import http.server, pathlib, subprocess, sys
host, port, notes = sys.argv[1:4]
child = subprocess.Popen(["sleep", "300"], start_new_session=True)
import os; pathlib.Path(notes).write_text(f"{os.getpid()} {child.pid}")
print("serving now", flush=True)
http.server.HTTPServer((host, int(port)), http.server.SimpleHTTPRequestHandler).serve_forever()
"""
"""Serves its folder; it has a child in a session of its own, as servers with workers do, and notes both ids."""

OWNER = """
import asyncio, sys, time
from evalflow.model.managed.process import ServedProcess

async def main():
    process = ServedProcess(sys.argv[1:], "/")
    await process.start(30)
    print(process.port, flush=True)
    time.sleep(300)

asyncio.run(main())
"""


def command(folder: Path, host: str = "127.0.0.1") -> list[str]:
    return [sys.executable, "-c", SERVER, host, "{port}", str(folder / "pids")]


def noted(folder: Path) -> list[int]:
    return [int(pid) for pid in (folder / "pids").read_text().split()]


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def becomes(true: Callable[[], bool], within_s: float = 20.0) -> bool:
    deadline = time.monotonic() + within_s
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


async def _lived(folder: Path) -> tuple[ServedProcess, bool, list[int]]:
    process = ServedProcess(command(folder), "/")
    await process.start(30)
    seen = answers(process.port)
    pids = noted(folder)
    assert all(alive(pid) for pid in pids)
    assert "serving now" in process.tail()
    await process.close()
    await process.close()
    return process, seen, pids


def test_a_server_is_ready_when_started_and_gone_when_closed(tmp_path: Path) -> None:
    """With the child that it put into another session; closing twice is closing once."""
    process, seen, pids = asyncio.run(_lived(tmp_path))
    assert seen
    assert not answers(process.port)
    assert [pid for pid in pids if alive(pid)] == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_is_gone_after_its_owner_was_killed(tmp_path: Path, number: signal.Signals) -> None:
    """The owner has no chance to end it; its children go too."""
    owner = subprocess.Popen([sys.executable, "-c", OWNER, *command(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    with owner.stdout as said:
        port = int(said.readline())
    assert answers(port)
    pids = noted(tmp_path)
    owner.send_signal(number)
    owner.wait()
    assert becomes(lambda: not any(alive(pid) for pid in pids))
    assert not answers(port)


def test_a_server_is_gone_after_its_supervisor_was_killed(tmp_path: Path) -> None:
    """The one process that nothing else watches takes the server with it."""

    async def lives() -> None:
        process = ServedProcess(command(tmp_path), "/")
        await process.start(30)
        server, child = noted(tmp_path)
        assert process._supervisor is not None
        process._supervisor.kill()
        assert becomes(lambda: not alive(server))
        await process.close()
        os.kill(child, signal.SIGKILL)  # of a killed supervisor's server the children stay

    asyncio.run(lives())


def test_a_terminals_interrupt_does_not_reach_the_server(tmp_path: Path) -> None:
    """It leads a session of its own, and is ended in order by its owner."""

    async def lives() -> int:
        process = ServedProcess(command(tmp_path), "/")
        await process.start(30)
        session = os.getsid(noted(tmp_path)[0])
        await process.close()
        return session

    assert asyncio.run(lives()) != os.getsid(0)


async def _failing(process: ServedProcess, limit_s: float = 30.0) -> str:
    try:
        with pytest.raises(ModelError) as refused:
            await process.start(limit_s)
    finally:
        await process.close()
    message = str(refused.value)
    assert "\n" not in message
    return message


def test_a_server_that_ends_at_once_is_named_with_its_code_and_words() -> None:
    """One line with the command, the exit code and the last of what it said."""
    code = "import sys; print('first'); sys.stderr.write('no such model\\n'); sys.exit(3)"
    message = asyncio.run(_failing(ServedProcess([sys.executable, "-c", code, "{port}"])))
    assert "ended with exit code 3 before it was ready" in message
    assert message.endswith("no such model")
    assert sys.executable in message


def test_a_server_that_is_killed_is_named_with_the_signal() -> None:
    """As the shells do: 128 and the signal's number."""
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    message = asyncio.run(_failing(ServedProcess([sys.executable, "-c", code])))
    assert "ended with exit code 137" in message
    assert "it said nothing" in message


def test_a_command_that_does_not_exist_is_named() -> None:
    """It is what the system says about it."""
    message = asyncio.run(_failing(ServedProcess(["no-such-server", "--port", "{port}"])))
    assert "ended with exit code 127" in message
    assert message.endswith("No such file or directory: no-such-server")


def test_a_server_that_is_never_ready_is_ended(tmp_path: Path) -> None:
    """It is up, but answers 404 where it should say that it is ready; what it answered is told."""
    message = asyncio.run(_failing(ServedProcess(command(tmp_path), "/no-such-path"), 1.5))
    assert "GET /no-such-path answered status 404, not 200, within 1.5 s" in message
    assert [pid for pid in noted(tmp_path) if alive(pid)] == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who listens where")
def test_a_server_that_is_open_to_other_machines_is_refused(tmp_path: Path) -> None:
    """And ended, before anything is asked of it."""
    message = asyncio.run(_failing(ServedProcess(command(tmp_path, host="0.0.0.0"), "/")))
    assert "is open to other machines" in message
    assert [pid for pid in noted(tmp_path) if alive(pid)] == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who listens where")
def test_a_server_of_somebody_else_at_the_port_is_refused() -> None:
    """Ready is what our own process is; another at its port would be measured in its place."""

    async def meets() -> str:
        async def ok(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            await writer.drain()
            writer.close()

        process = ServedProcess([sys.executable, "-c", "import time; time.sleep(300)", "{port}"])
        async with await asyncio.start_server(ok, "127.0.0.1", process.port):
            return await _failing(process)

    message = asyncio.run(meets())
    assert "another process answers at port" in message


def test_a_start_that_is_cancelled_leaves_no_server(tmp_path: Path) -> None:
    """Whoever waited for it has gone, and so does it."""

    async def cancelled() -> None:
        process = ServedProcess(command(tmp_path), "/no-such-path")
        starting = asyncio.create_task(process.start(60))
        while not (tmp_path / "pids").exists() or len(noted(tmp_path)) < 2:
            await asyncio.sleep(0.02)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    asyncio.run(cancelled())
    assert [pid for pid in noted(tmp_path) if alive(pid)] == []


def test_what_the_environment_lacks_is_added(tmp_path: Path) -> None:
    """Beside what the process has itself."""
    code = "import os, sys; sys.exit(int(os.environ['HOW']) + ('PATH' in os.environ))"
    message = asyncio.run(_failing(ServedProcess([sys.executable, "-c", code], env={"HOW": "40"})))
    assert "exit code 41" in message
