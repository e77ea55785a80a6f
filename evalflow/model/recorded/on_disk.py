"""Files that are there whole or not at all, and errors that name them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evalflow.errors import ModelError


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the path that cannot be written.

    Raises:
        ModelError: for an OSError within.
    """
    try:
        yield
    except OSError as fault:
        said = fault.strerror or str(fault)
        raise ModelError(f"{path}: cannot be written ({said}); give it room, or another path", "unwritable") from None


def part_of(path: Path) -> Path:
    """What a file is called until it is whole; a hidden name, that nothing reads."""
    return path.with_name(f".{path.name}.part")


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write an `.npz`, not compressed: on the disk before it takes its name.

    Raises:
        ModelError: it cannot be written; one that was there is as it was.
    """
    part = part_of(path)
    with writing(path):
        try:
            with part.open("wb") as file:
                np.savez(file, **arrays)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise


def foreign(folder: Path, known: re.Pattern[str]) -> str | None:
    """The first of what lies in a folder whose path within it is not `known`; None where all is.

    The path of a folder ends in a slash; a link is never known.
    """
    for found in sorted(folder.rglob("*")):
        name = found.relative_to(folder).as_posix()
        if found.is_symlink() or not known.fullmatch(f"{name}/" if found.is_dir() else name):
            return name
    return None


def remove_known(folder: Path, known: re.Pattern[str]) -> None:
    """Remove what is known of a folder's files, then the folders that are empty, itself too.

    Raises:
        OSError: a file cannot be removed.
    """
    found = sorted(folder.rglob("*"), reverse=True)
    for path in found:
        if not path.is_dir() and known.fullmatch(path.relative_to(folder).as_posix()):
            path.unlink()
    for path in (*(path for path in found if path.is_dir()), folder):
        with contextlib.suppress(OSError):  # it holds something else
            path.rmdir()
