"""JSON as other tools write it: NaN and Infinity stand in it, and one text may hold a whole log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalflow.errors import DataError

_DECODER = json.JSONDecoder(parse_constant=float)
_BLANK = re.compile(r"[ \t\r\n]*")
_UNREADABLE = (ValueError, RecursionError)  # numbers and nestings beyond what Python reads too


def object_of(text: str, where: str, todo: str) -> dict[str, Any]:
    """The object that a text is.

    Raises:
        DataError: it is none; `todo` says what to do.
    """
    try:
        value = _DECODER.decode(text.removeprefix("\ufeff"))
    except _UNREADABLE as fault:
        raise DataError(f"{where}: not JSON ({_said(fault)}); {todo}") from None
    if not isinstance(value, dict):
        raise DataError(f"{where}: a {type(value).__name__}, not an object; {todo}")
    return value


def read_text(path: Path) -> str:
    """The text of a UTF-8 file.

    Raises:
        DataError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as fault:
        raise DataError(f"{path}: cannot be read ({fault.strerror}); give a readable file") from None
    except UnicodeDecodeError as fault:
        said = f"not UTF-8 ({fault.reason} at byte {fault.start})"
        raise DataError(f"{path}: {said}; give the file as the tool wrote it") from None


def members(text: str, streamed: str, where: str, todo: str) -> Iterator[tuple[str, Any]]:
    """The keys and values of the object that a text is, and the entries of the list under `streamed` one by one.

    So a log of many samples is never held as objects all at once.

    Raises:
        DataError: it is no object, or breaks off.
    """
    try:
        at = _expect(text, 0, "{")
        while not text.startswith("}", at):
            key, at = _DECODER.raw_decode(text, at)
            at = _expect(text, at, ":")
            if key == streamed and text.startswith("[", at):
                at = _blank(text, at + 1)
                while not text.startswith("]", at):
                    value, at = _DECODER.raw_decode(text, at)
                    yield key, value
                    at = _next(text, at, "]")
                at = _blank(text, at + 1)
            else:
                value, at = _DECODER.raw_decode(text, at)
                yield key, value
            at = _next(text, at, "}")
    except _UNREADABLE as fault:
        raise DataError(f"{where}: not whole JSON ({_said(fault)}); {todo}") from None


def _next(text: str, at: int, closing: str) -> int:
    """Past a comma, or at the bracket that closes."""
    at = _blank(text, at)
    return at if text.startswith(closing, at) else _expect(text, at, ",")


def _expect(text: str, at: int, mark: str) -> int:
    at = _blank(text, at)
    if not text.startswith(mark, at):
        raise ValueError(f"no {mark} at character {at}")
    return _blank(text, at + 1)


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _said(fault: Exception) -> str:
    if isinstance(fault, json.JSONDecodeError):
        return f"{fault.msg} at line {fault.lineno}, column {fault.colno}"
    return str(fault)
