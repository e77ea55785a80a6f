"""Text files that are there whole or not at all, whatever ends the process."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

PART = r"(?:\.\d+-[0-9a-f]{8})?\.part"
"""What ends the name of a file that is being written: by which process, and a word that nobody can foresee."""


def as_json(value: Any) -> str:
    """A JSON text that reads well: ASCII, indented, no number that is not finite."""
    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def replace_text(path: Path, text: str, named: bool = False) -> Path:
    """Write a UTF-8 file: on the disk before it takes its name. See `replacing`.

    Raises:
        OSError: it cannot be written; an earlier file is as it was.
    """
    with replacing(path, named) as handle:
        handle.write(text)
    return path


@contextlib.contextmanager
def replacing(path: Path, named: bool = False, errors: str = "strict", newline: str | None = None) -> Iterator[TextIO]:
    """A UTF-8 file to write, which takes its name when all is on the disk, in the place of an earlier one.

    What is there and is no file, such as a pipe, a terminal or /dev/null, is written into as it is, and so is standard
    output by whichever name. A symbolic link is followed where somebody has `named` the path; under a name of ours it
    is replaced itself, so that nobody who lays one into a folder has a say in what is written over.

    Raises:
        OSError: it cannot be written, or is a folder; an earlier file is as it was.
    """
    there = _there(path, named)
    if there is None or stat.S_ISLNK(there.st_mode) or (stat.S_ISREG(there.st_mode) and not _is_output(there)):
        target = Path(os.path.realpath(path)) if named and path.is_symlink() else path
        with _renamed(target, errors, newline) as handle:
            yield handle
    elif stat.S_ISDIR(there.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    else:
        with _opened(path, there, errors, newline) as handle:
            yield handle


@contextlib.contextmanager
def _renamed(path: Path, errors: str, newline: str | None) -> Iterator[TextIO]:
    part = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    made = part.open("x", encoding="utf-8", errors=errors, newline=newline)  # no link that somebody laid is followed
    try:
        with made as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    _sweep(path)


def _opened(path: Path, there: os.stat_result, errors: str, newline: str | None) -> TextIO:
    """A handle into what is no file of its own; that of standard output writes on where that stands."""
    if not _is_output(there):
        return path.open("w", encoding="utf-8", errors=errors, newline=newline)
    if sys.stdout is not None:
        sys.stdout.flush()
    return os.fdopen(os.dup(1), "w", encoding="utf-8", errors=errors, newline=newline)


def _there(path: Path, named: bool) -> os.stat_result | None:
    """What is at a path, or behind the link there; None where there is nothing yet."""
    try:
        return path.stat(follow_symlinks=named)
    except FileNotFoundError:
        return None


def _is_output(there: os.stat_result) -> bool:
    try:
        return os.path.samestat(there, os.fstat(1))
    except OSError:  # it was closed
        return False


def _sweep(path: Path) -> None:
    """Remove what processes that were killed while they wrote this file have left of it."""
    left = re.compile(rf"\.{re.escape(path.name)}\.(\d+)-[0-9a-f]{{8}}\.part")
    with contextlib.suppress(OSError):
        for beside in path.parent.iterdir():
            found = left.fullmatch(beside.name)
            if found is not None and not _alive(int(found[1])):
                beside.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's
        return True
    return True
