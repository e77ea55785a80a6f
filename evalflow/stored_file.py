"""Files of a run or a sweep read back; what cannot be read is one line with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalflow.errors import StoredRunError
from evalflow.strict_json import fits, parse_json

RESTORE = "restore it"
"""What to do about a file that nothing can make anew."""


def object_of(path: Path, todo: str = RESTORE) -> dict[str, Any]:
    """The JSON object that a file holds.

    Raises:
        StoredRunError: there is none.
    """
    try:
        text = _bytes_of(path, todo).decode("utf-8")
    except UnicodeDecodeError as fault:
        raise unusable(path, f"not UTF-8 ({fault.reason})", todo) from None
    return parsed(text, path, todo)


def parsed(text: str, where: Path | str, todo: str = RESTORE) -> dict[str, Any]:
    """The JSON object that a text is.

    Raises:
        StoredRunError: it is none.
    """
    try:
        value = parse_json(text)
    except ValueError as fault:
        raise unusable(where, f"cannot be read ({fault})", todo) from None
    if not isinstance(value, dict):
        raise unusable(where, "not a JSON object", todo)
    return value


def check_fields(found: Mapping[str, Any], wanted: Mapping[str, Any], where: Path | str, todo: str = RESTORE) -> None:
    """Refuse an object that lacks one of the `wanted` fields, or has it of another type.

    Raises:
        StoredRunError: naming the first.
    """
    for name, hint in wanted.items():
        if name not in found or not fits(found[name], hint):
            said = f"{name} is {found[name]!r:.60}" if name in found else f"it has no {name}"
            raise unusable(where, f"not what this evalflow wrote ({said})", todo)


def lines_of(path: Path, todo: str = RESTORE, cut_off: bool = False) -> Iterator[tuple[str, str]]:
    """`(where, line)` of every non-blank line; a last one without its end is left out where that can be `cut_off`.

    Raises:
        StoredRunError: the file cannot be read.
    """
    return ((where, line) for where, _, line in located_lines(path, todo, cut_off))


def located_lines(path: Path, todo: str = RESTORE, cut_off: bool = False) -> Iterator[tuple[str, int, str]]:
    """`(where, offset in bytes, line)` of what `lines_of` gives, one in memory at a time; raises as it does."""
    offset = 0
    for number, raw in enumerate(_raw_lines(path, todo), start=1):
        where, begins = f"{path}:{number}", offset
        offset += len(raw)
        if cut_off and not raw.endswith(b"\n"):
            return
        try:
            line = raw.removesuffix(b"\n").decode("utf-8")
        except UnicodeDecodeError as fault:
            raise unusable(where, f"not UTF-8 ({fault.reason})", todo) from None
        if line.strip():
            yield where, begins, line


def unusable(where: Path | str, what: str, todo: str = RESTORE) -> StoredRunError:
    """The error of a file, or a line of one, that cannot be used."""
    return StoredRunError(f"{where}: {what}; {todo}")


def _raw_lines(path: Path, todo: str) -> Iterator[bytes]:
    with _readable(path, todo), path.open("rb") as handle:
        yield from handle


def _bytes_of(path: Path, todo: str) -> bytes:
    with _readable(path, todo):
        return path.read_bytes()


@contextmanager
def _readable(path: Path, todo: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise unusable(path, "not there", todo) from None
    except OSError as fault:
        raise unusable(path, f"cannot be read ({fault.strerror})", todo) from None
