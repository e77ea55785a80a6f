"""One process at a time works on a run; the system frees the lock of a process that is gone."""

from __future__ import annotations

import errno
from pathlib import Path

from filelock import FileLock, Timeout

from evalflow.errors import BusyError

LOCK = ".lock"


def hold(folder: Path, within_s: float = 0.5) -> FileLock:
    """The lock of a run's folder, held until it is released or the process ends, however it ends.

    It is waited for a moment (s): whoever asks whether it is held takes it for as long as that takes.

    Raises:
        BusyError: another process (or job of this one) works on the run.
        OSError: the folder cannot be written.
    """
    if not folder.is_dir():  # the lock would make it
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(folder))
    lock = FileLock(folder / LOCK, timeout=within_s, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise BusyError(f"{folder}: another process works on this run; wait for it, or end it") from None
    return lock


def is_held(folder: Path) -> bool:
    """Whether somebody works on the run now."""
    if not (folder / LOCK).exists():
        return False
    try:
        hold(folder, within_s=0).release()
    except BusyError:
        return True
    except OSError:
        return False  # nobody could write there
    return False
