"""Digests of recordings, taken once per state of a file: they can be many gigabytes."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from evalflow.record import digest


def digest_of(path: Path) -> str | None:
    """SHA-256 of a file, or of what a folder holds and how it is called; None where there is neither, as of a pipe.

    A file that has its size and its time of change again is taken to be as it was. What is hidden does not count.
    """
    if path.is_dir():
        inside = {found.relative_to(path).as_posix(): found for found in path.rglob("*") if found.is_file()}
        names = sorted(name for name in inside if not any(part.startswith(".") for part in name.split("/")))
        return digest([[name, digest_of(inside[name])] for name in names])
    if not path.is_file():
        return None
    state = path.stat()
    return _digest(path.resolve(), state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=4096)
def _digest(path: Path, size: int, changed_ns: int) -> str:  # noqa: ARG001 - they tell states of a file apart
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
