"""Text files that are there whole or not at all, whatever ends the process."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any


def as_json(value: Any) -> str:
    """A JSON text that reads well: ASCII, indented, no number that is not finite."""
    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def replace_text(path: Path, text: str) -> Path:
    """Write a UTF-8 file: on the disk before it takes its name.

    Raises:
        OSError: it cannot be written; an earlier file is as it was.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w", encoding="utf-8") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        return part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
