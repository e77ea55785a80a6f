"""Text files read whole."""

from __future__ import annotations

from pathlib import Path

from evalflow.errors import DataError

_MARK = b"\xef\xbb\xbf"


def read_text(path: Path, shown: str | None = None) -> str:
    """The text of a UTF-8 file as it is, line ends too; a byte order mark at its start is no part of it.

    Messages call the file `shown` (None: its path).

    Raises:
        DataError: the file cannot be read, or is not UTF-8 (the line and byte are named).
    """
    called = str(path) if shown is None else shown
    try:
        raw = path.read_bytes()
    except OSError as fault:
        raise DataError(f"{called}: cannot be read ({fault.strerror}); give a readable file") from None
    try:
        return raw.removeprefix(_MARK).decode("utf-8")
    except UnicodeDecodeError as fault:
        before = len(_MARK) if raw.startswith(_MARK) else 0
        line = 1 + raw.count(b"\n", 0, before + fault.start)
        said = f"{fault.reason} at byte {before + fault.start}"
        raise DataError(f"{called}:{line}: not UTF-8 ({said}); save the file as UTF-8") from None
