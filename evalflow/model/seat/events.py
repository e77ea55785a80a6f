"""Server-sent events out of bytes that were cut anywhere.

Source: the event stream format of the HTML standard, 9.2.6: lines end in LF, CRLF or CR, a blank line ends an event,
several `data` lines are joined, a line that begins with a colon is a comment.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from evalflow.model.seat.failure import SeatError

MOST_BYTES = 16 * 2**20
"""The longest event that is read (bytes)."""
_LINE_END = re.compile(rb"\r\n|\n|\r")


class Event(NamedTuple):
    """One event: its data as bytes, and its type where it has one (`error`, say)."""

    data: bytes
    type: bytes = b""


class Events:
    """Collects bytes and gives events as they are whole."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        self._type = b""
        self._size = 0
        self._started = False
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes.

        Raises:
            SeatError: `oversized`.
        """
        if not chunk:
            return []
        if self._after_cr:  # a CR ended its line at once, so that no event waits; a LF after it was the same line end
            chunk, self._after_cr = chunk.removeprefix(b"\n"), False
        self._size += len(chunk)
        if self._size > MOST_BYTES:
            raise SeatError("oversized", f"an event of more than {MOST_BYTES // 2**20} MiB")
        if b"\n" not in chunk and b"\r" not in chunk:
            self._rest.append(chunk)
            return []
        text = b"".join((*self._rest, chunk))
        if not self._started:
            text, self._started = text.removeprefix(b"\xef\xbb\xbf"), True
        self._after_cr = text.endswith(b"\r")
        *lines, last = text.split(b"\n") if b"\r" not in text else _LINE_END.split(text)
        self._rest = [last]
        return self._lines(lines)

    @property
    def open(self) -> bool:
        """Whether bytes are left that no blank line has ended."""
        return bool(self._data or b"".join(self._rest).strip())

    def _lines(self, lines: list[bytes]) -> list[Event]:
        found = []
        for line in lines:
            if not line:
                if self._data:
                    found.append(Event(b"\n".join(self._data), self._type))
                self._data, self._type = [], b""
            elif line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif line.startswith(b"event:"):
                self._type = line[6:].strip()
        if b"" in lines:
            self._size = len(self._rest[0]) + sum(map(len, self._data))
        return found
