"""Text files read line by line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evalflow.errors import DataError


def read_lines(path: Path) -> Iterator[tuple[str, str]]:
    """`(where, line)` of every non-blank line of a UTF-8 file, `where` being `file:line`.

    Raises:
        DataError: the file is not there or not UTF-8.
    """
    try:
        handle = path.open("rb")
    except OSError as fault:
        raise DataError(f"{path}: cannot be read ({fault.strerror}); give a readable file") from None
    with handle:
        for number, raw in enumerate(handle, start=1):
            try:  # line by line: a decoder of blocks would name the line that the block begins with
                line = raw.decode("utf-8")
            except UnicodeDecodeError as fault:
                raise DataError(f"{path}:{number}: not UTF-8 ({fault.reason}); save the file as UTF-8") from None
            if line.strip():
                yield f"{path}:{number}", line
