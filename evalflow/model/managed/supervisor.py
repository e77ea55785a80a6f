"""Runs a server for as long as its owner lives, and leaves nothing of it behind.

    python supervisor.py OWNER_PID COMMAND...

The server is ended when standard input closes, which the kernel sees to however the owner dies, when the owner is no
longer the parent, or on SIGTERM. It leads a session of its own, so that a terminal's Ctrl-C is the owner's affair
alone. The processes that it started go with it: on Linux those that it leaves behind are adopted here and ended too.
The exit code is the server's (128 + n for signal n), or 127 where it could not be started.

It is run as a file, isolated, and so imports the standard library alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

NOT_STARTED = 127
TERM_S = 5.0
"""How long the server may take to end in order (s), and how long it is then waited for."""
LOOK_S = 0.5
"""How often the owner is looked for (s)."""
DIE_WITH_PARENT, ADOPT_ORPHANS = 1, 36
"""PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER of Linux's prctl(2)."""


def main(words: Sequence[str]) -> int:
    """Run `words[1:]` until it ends or process `words[0]` does; the exit code."""
    owner, command = int(words[0]), words[1:]
    woken = _woken_by(signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    _prctl(ADOPT_ORPHANS, 1)
    try:
        # this process has no threads, so code may run between fork and exec
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_dying_with(os.getpid())
        )
    except OSError as fault:
        os.write(2, f"{fault.strerror}: {command[0]}\n".encode(errors="backslashreplace"))
        return NOT_STARTED
    asked = False
    while server.returncode is None and not asked:
        readable, _, _ = select.select([0, woken], [], [], LOOK_S)
        signals = os.read(woken, 64) if woken in readable else b""
        asked = 0 in readable or signal.SIGTERM in signals or os.getppid() != owner
        _reap(server)
    _end(server)
    code = server.returncode
    return 128 + signal.SIGKILL if code is None else code if code >= 0 else 128 - code


def _woken_by(*signals: signal.Signals) -> int:
    """A descriptor that holds a byte for each such signal that came.

    They are caught, not ignored: what is ignored would be ignored by the server too.
    """
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable)
    for one in signals:
        signal.signal(one, _noted)
    return readable


def _noted(number: int, frame: FrameType | None) -> None:
    """The byte in the pipe says it."""


def _prctl(option: int, value: int) -> None:
    """Linux's own; elsewhere the pipe and the process group have to do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _dying_with(supervisor: int) -> Callable[[], None]:
    """What the server does before it becomes itself: ask to be killed should the supervisor be."""

    def ask() -> None:
        _prctl(DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != supervisor:  # it was killed in between
            os._exit(NOT_STARTED)

    return ask


def _reap(server: subprocess.Popen[bytes]) -> bool:
    """Collect the children that ended; whether any is left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        if pid == server.pid:
            server.returncode = os.waitstatus_to_exitcode(status)


def _end(server: subprocess.Popen[bytes]) -> None:
    """End the server and all that it started: in order first, then by force.

    What it leaves behind in other process groups becomes a child of this process, and is told as soon as it is one.
    """
    _tell(os.killpg, server.pid, signal.SIGTERM)
    told = {server.pid}
    deadline = time.monotonic() + TERM_S
    while _reap(server) and time.monotonic() < deadline:
        for child in set(_children()) - told:
            _tell(os.kill, child, signal.SIGTERM)
            told.add(child)
        time.sleep(0.01)
    _tell(os.killpg, server.pid, signal.SIGKILL)
    deadline = time.monotonic() + TERM_S
    while _reap(server) and time.monotonic() < deadline:
        for child in _children():
            _tell(os.kill, child, signal.SIGKILL)
        time.sleep(0.01)


def _tell(how: Callable[[int, int], None], pid: int, number: int) -> None:
    """Send a signal; one that has ended, or is another user's, is left alone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        how(pid, number)


def _children() -> list[int]:
    """The processes whose parent this one is; none where the system has no such list."""
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
