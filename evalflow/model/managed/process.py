"""A server's process: started on a free loopback port, watched until it is ready, and ended with all its children."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from evalflow.errors import ModelError
from evalflow.model.managed import supervisor
from evalflow.model.managed.listening import held_by, listeners

HOST = "127.0.0.1"
LOOK_S = 0.05
"""How often a server that starts is looked at (s)."""
ANSWER_S = 2.0
"""How long it may take to say whether it is ready (s)."""
END_S = 2 * supervisor.TERM_S + 2.0
"""How long the supervisor may take to end it (s)."""
TAIL_BYTES, TAIL_LINES = 4000, 4
"""How much of the end of its output a message holds."""
COMMAND = 300
"""How much of its command a message holds, in characters."""


class ServedProcess:
    """A command line that serves HTTP, run under a supervisor that ends it when this process ends, however that does.

    `{port}` in a word of the command stands for the port. `ready_path` answers 200 once it is ready, `env` is added to
    this process's own environment. Its output goes to a file without a name, which the system removes.
    """

    def __init__(
        self, command: Sequence[str], ready_path: str = "/health", env: Mapping[str, str] | None = None
    ) -> None:
        self.port = _free_port()
        self.command = [word.replace("{port}", str(self.port)) for word in command]
        self._ready_path = ready_path
        self._env = {**os.environ, **(env or {})}
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    @property
    def url(self) -> str:
        """The server's root."""
        return f"http://{HOST}:{self.port}"

    @property
    def exit_code(self) -> int | None:
        """What the server ended with; None while it runs, or was not started."""
        return None if self._supervisor is None else self._supervisor.poll()

    async def start(self, limit_s: float) -> None:
        """Start it and wait until it is ready.

        Raises:
            ModelError: it ended, or was not ready within `limit_s`, or is open to other machines.
        """
        assert self._supervisor is None, "started twice"
        self._output = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - closed by close
        words = [sys.executable, "-I", "-S", str(Path(supervisor.__file__)), str(os.getpid()), *self.command]
        self._supervisor = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env=self._env,
            start_new_session=True,  # a terminal's Ctrl-C is for this process, which then ends the server in order
        )
        try:
            await self._until_ready(limit_s)
            self._check_listener()
        except BaseException:
            await self.close()
            raise

    def tail(self) -> str:
        """The last lines of its output, in one."""
        if self._output is None:
            return ""
        size = os.fstat(self._output.fileno()).st_size
        said = os.pread(self._output.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES)).decode(errors="replace")
        lines = [" ".join(line.split()) for line in said.splitlines()]
        return " | ".join([line for line in lines if line][-TAIL_LINES:])

    async def close(self) -> None:
        """End it and its children: in order first, then by force. Twice is once."""
        running = self._supervisor
        if running is not None:
            assert running.stdin is not None, "it is a pipe"
            running.stdin.close()  # which the supervisor sees
            deadline = time.monotonic() + END_S
            while running.poll() is None:
                if time.monotonic() > deadline:
                    running.kill()  # the system then kills the server
                await asyncio.sleep(LOOK_S / 5)  # cancelled here, the supervisor goes on with it
        if self._output is not None:
            self._output.close()
            self._output = None

    async def _until_ready(self, limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        answered = "nothing"
        while time.monotonic() < deadline:
            if self.exit_code is not None:
                raise ModelError(
                    f"{self._named()} ended with exit code {self.exit_code} before it was ready{self._said()}"
                )
            status = await self._status()
            if status == 200:
                return
            answered = "nothing" if status is None else f"status {status}"
            await asyncio.sleep(LOOK_S)
        why = f"GET {self._ready_path} answered {answered}, not 200, within {limit_s:g} s"
        raise ModelError(f"{self._named()} was not ready: {why}{self._said()}")

    async def _status(self) -> int | None:
        """The status of a GET of `ready_path`; None where there is no answer yet."""
        writer = None
        try:
            async with asyncio.timeout(ANSWER_S):
                reader, writer = await asyncio.open_connection(HOST, self.port)
                asked = f"GET {self._ready_path} HTTP/1.1\r\nHost: {HOST}:{self.port}\r\nConnection: close\r\n\r\n"
                writer.write(asked.encode())
                _, status, *_ = (await reader.readline()).split()
            return int(status)
        except (OSError, ValueError, TimeoutError):
            return None
        finally:
            if writer is not None:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()

    def _check_listener(self) -> None:
        """Refuse a server that other machines can reach, and one that is not ours: it was there before."""
        assert self._supervisor is not None, "started"
        listening = listeners(self.port)
        if listening is None:
            return  # this system does not tell
        if not all(listening.values()):
            raise ModelError(
                f"{self._named()} is open to other machines; let it listen on {HOST} (often --host {HOST})"
            )
        if listening and not listening.keys() & held_by(self._supervisor.pid):
            raise ModelError(f"{self._named()}: another process answers at port {self.port}; start again")

    def _named(self) -> str:
        """The command, as one line that is not too long for a message."""
        said = " ".join(shlex.join(self.command).split())
        return f"the server ({said if len(said) <= COMMAND else said[:COMMAND] + '...'})"

    def _said(self) -> str:
        """What it said, or that it said nothing, and what to do about it."""
        said = self.tail()
        return f"; it said: {said}" if said else "; it said nothing; try its command by hand"


def _free_port() -> int:
    """A port that nobody listens on now; who comes first may take it, which `start` finds out."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
