"""Rows of float32 that another program writes: to its standard output, a named pipe, or a file."""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from evalflow.errors import ModelError

LOOK_S = 0.1
"""How often a wait looks whether it is to end (s)."""
END_S = 2.0
"""How long a program may take to end once it is told to, and a named pipe to show that more is coming (s)."""
TAIL_BYTES, TAIL_LINES = 4000, 4
"""How much is kept of what a program says on its standard error, and how much of that an error holds."""
COMMAND = 200
"""How much of a command an error holds, in characters."""


class RowStream:
    """Rows of `width` little-endian float32, one after another, from a program or from a path.

    A program is started from a list of words, never by a shell, in a session of its own. What it says on its standard
    error is read along, and errors tell the end of it. No row is waited for longer than `row_timeout_s`. After an error
    the stream is of no use: nobody knows whose rows would come next.
    """

    def __init__(self, source: Path | Sequence[str], width: int, row_timeout_s: float) -> None:
        self._source = source
        self._width = width
        self._limit_s = row_timeout_s
        self._n_rows = 0
        self._broken: str | None = None
        self._stopped = threading.Event()
        self._alone = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._rows: IO[bytes] | None = None
        self._watch = selectors.PollSelector()  # which can watch a plain file too
        self._inbox, self._filled, self._ended = memoryview(b""), 0, False
        self._outbox, self._said = b"", b""
        self._told = False

    def open(self) -> None:
        """Start the program, or open the path; who writes to a named pipe is not waited for.

        Raises:
            ModelError: that cannot be done.
        """
        try:
            source = self._source
            rows = self._open_path(source) if isinstance(source, Path) else self._start_program(source)
        except (OSError, ValueError) as fault:
            said = (isinstance(fault, OSError) and fault.strerror) or str(fault)
            raise ModelError(f"{self._named()} cannot be had ({said}); mend the command or the path") from None
        self._rows = rows
        self._watch.register(rows, selectors.EVENT_READ, self._take)

    def read(self, n: int, where: str, sent: bytes = b"") -> NDArray[np.float32]:
        """The next `n` rows (n, width); `sent` goes to the program's standard input while they are waited for.

        Raises:
            ModelError: the stream ended, stood still or broke off before; `where` says whose rows were awaited.
        """
        taken = bytearray(4 * n * self._width)
        with self._alone:
            if self._broken is not None:
                raise ModelError(self._broken, "broken_stream")
            self._told = self._told or bool(sent)
            self._send(sent)
            if not self._wait(memoryview(taken), self._limit_s):
                given_up = self._stopped.is_set()
                raise self._break("given up" if given_up else f"nothing more came within {self._limit_s:g} s", where)
            if self._filled < len(taken):
                raise self._break("the stream ended", where)
            self._n_rows += n
        return np.frombuffer(taken, dtype="<f4").reshape(n, self._width).astype(np.float32, copy=False)

    def finish(self) -> None:
        """Hold the stream against what was asked: not a row more, and a program that ends well.

        Raises:
            ModelError: there is more, or the program does not end, or failed.
        """
        with self._alone:
            if self._broken is not None:
                return
            if self._process is not None and self._process.stdin is not None:
                self._send(b"")
                self._process.stdin.close()
            came = self._wait(memoryview(bytearray(1)), END_S if self._process is None else self._limit_s)
            if self._filled:
                resumed = "" if self._told else " (as after resuming a run: use resume=new)"
                more = f"there is more in the stream than the {self._n_rows} rows that were asked for"
                raise self._break(more + resumed)
            if self._process is not None and not came:
                raise self._break(f"the program does not end; nothing more came within {self._limit_s:g} s")
            if self._process is not None and self._exit_code() != 0:
                raise self._break(f"all {self._n_rows} rows came, but the program did not end well")

    def stop(self) -> None:
        """Bring a read that waits in another thread to its end, in an error."""
        self._stopped.set()

    def close(self) -> None:
        """End the program and its children, and wait until it has ended. Twice is once."""
        self.stop()
        with self._alone:
            process = self._process
            if process is not None and process.returncode is None:
                os.killpg(process.pid, signal.SIGTERM)
                if self._exit_code() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            self._watch.close()
            for pipe in (self._rows, *(() if process is None else (process.stdin, process.stderr))):
                if pipe is not None:
                    pipe.close()

    def _open_path(self, path: Path) -> IO[bytes]:
        return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)

    def _start_program(self, command: Sequence[str]) -> IO[bytes]:
        self._process = process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # a terminal's Ctrl-C is for this process, which then ends the program in order
        )
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None, "they are pipes"
        for pipe in (process.stdin, process.stdout, process.stderr):
            os.set_blocking(pipe.fileno(), False)
        self._watch.register(process.stderr, selectors.EVENT_READ, self._listen)
        return process.stdout

    def _wait(self, inbox: memoryview, limit_s: float) -> bool:
        """Fill the inbox as far as the stream goes; False where a row took longer than `limit_s`, or `stop` came."""
        self._inbox, self._filled = inbox, 0
        since, row_bytes = time.monotonic(), 4 * self._width
        while self._filled < len(inbox) and not self._ended:
            before = self._filled // row_bytes
            for key, _ in self._watch.select(min(LOOK_S, limit_s)):
                key.data(key.fd)
            if self._filled // row_bytes > before:
                since = time.monotonic()
            elif time.monotonic() - since > limit_s or self._stopped.is_set():
                return False
        return True

    def _take(self, rows_fd: int) -> None:
        with contextlib.suppress(BlockingIOError):
            n = os.readv(rows_fd, [self._inbox[self._filled :]])
            self._filled += n
            if n == 0:
                self._ended = True
                self._watch.unregister(rows_fd)

    def _listen(self, stderr_fd: int) -> None:
        with contextlib.suppress(BlockingIOError):
            while said := os.read(stderr_fd, 65536):
                self._said = (self._said + said)[-TAIL_BYTES:]
            self._watch.unregister(stderr_fd)  # it is closed

    def _send(self, sent: bytes) -> None:
        """Have the program be sent this when it reads; where that is nothing, nor what it has not read yet."""
        feed = None if self._process is None else self._process.stdin
        if feed is None:
            return
        if self._outbox:
            self._watch.unregister(feed)
        self._outbox = self._outbox + sent if sent else b""
        if self._outbox:
            self._watch.register(feed, selectors.EVENT_WRITE, self._feed)

    def _feed(self, stdin_fd: int) -> None:
        with contextlib.suppress(BlockingIOError):
            try:
                self._outbox = self._outbox[os.write(stdin_fd, self._outbox) :]
            except BrokenPipeError:
                self._outbox = b""  # it reads no more; whether it still writes is seen elsewhere
            if not self._outbox:
                self._watch.unregister(stdin_fd)

    def _exit_code(self) -> int | None:
        """What the program ended with, its children ended with it; None where it goes on."""
        process = self._process
        assert process is not None, "a program"
        until = time.monotonic() + END_S
        while process.returncode is None:
            # its group is its own as long as its end is not taken note of: no other process can have the number
            if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            elif time.monotonic() > until:
                return None
            else:
                time.sleep(LOOK_S / 20)
        return process.returncode

    def _break(self, what: str, where: str = "") -> ModelError:
        """The error of a stream that cannot be read on; told again whenever that is tried."""
        row_bytes = 4 * self._width
        place = f", row {self._n_rows + self._filled // row_bytes + 1} ({where})" if where else ""
        part = f" after {self._filled % row_bytes} of its {row_bytes} bytes" if self._filled % row_bytes else ""
        told = f"{self._named()}{place}: {what}{part if where else ''}"
        if self._process is not None:
            code = self._exit_code() if self._ended else None
            told += "" if code is None else f", exit code {code}"
            told += self._tail()
        self._broken = f"{told}; it must write {self._width} float32 for each position that is scored, and no more"
        return ModelError(self._broken, "broken_stream")

    def _tail(self) -> str:
        """The last lines that the program said on its standard error."""
        assert self._process is not None and self._process.stderr is not None, "a program"
        stderr_fd = self._process.stderr.fileno()
        if stderr_fd in (self._watch.get_map() or {}):
            self._listen(stderr_fd)
        lines = [" ".join(line.split()) for line in self._said.decode(errors="replace").splitlines()]
        said = " | ".join([line for line in lines if line][-TAIL_LINES:])
        return f"; it said: {said}" if said else ""

    def _named(self) -> str:
        """The source, as one line that is not too long for an error."""
        if isinstance(self._source, Path):
            return str(self._source)
        said = " ".join(shlex.join(self._source).split())
        return f"the program ({said if len(said) <= COMMAND else said[:COMMAND] + '...'})"
