"""Text files read whole, and how a bad byte is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalflow.dataset.text_file import read_text
from evalflow.errors import DataError


@pytest.mark.parametrize("raw", [b"", b" a\r\n\tb \n\n", "ümlaut \u2028 \ufeff".encode()])
def test_a_text_is_what_its_bytes_say(tmp_path: Path, raw: bytes) -> None:
    """Line ends and blanks are not touched; a byte order mark that begins the file is no part of it."""
    path = tmp_path / "x.txt"
    path.write_bytes(raw)
    assert read_text(path).encode() == raw
    path.write_bytes(b"\xef\xbb\xbf" + raw)
    assert read_text(path).encode() == raw


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (b"caf\xe9", ":1: not UTF-8 (unexpected end of data at byte 3)"),
        (b"a\nb\n\xffc", ":3: not UTF-8 (invalid start byte at byte 4)"),
        (b"\xef\xbb\xbfa\n\xff", ":2: not UTF-8 (invalid start byte at byte 5)"),
        ("a".encode("utf-16"), ":1: not UTF-8 (invalid start byte at byte 0)"),
    ],
)
def test_a_byte_that_is_not_utf_8_is_named(tmp_path: Path, raw: bytes, place: str) -> None:
    """By line from 1 and by its offset from 0, a byte order mark counted."""
    path = tmp_path / "x.txt"
    path.write_bytes(raw)
    with pytest.raises(DataError) as refused:
        read_text(path)
    assert str(refused.value) == f"{path}{place}; save the file as UTF-8"


def test_a_file_is_called_what_the_user_calls_it(tmp_path: Path) -> None:
    """A shipped file has a path that says nothing to anybody."""
    with pytest.raises(DataError, match=r"^package:x/y\.txt: cannot be read \(No such file"):
        read_text(tmp_path / "y.txt", "package:x/y.txt")
