"""Files that are there whole or not at all, and errors that name them."""

from __future__ import annotations

import contextlib
import os
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
