"""Tables that went through a spreadsheet."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalflow.errors import DataError
from evalflow.spreadsheet import neutral, plain, read_table, table_text

TEXTS = ("", "x", "=1+1", "+1", "-1", "@a", "\t", "'", "''", "'=1", "'tis", 'a "b"\r\nc;d,e\tf\n', "é🙂\u202e")


def read(folder: Path, content: str | bytes, *needed: str) -> list[tuple[str, dict[str, str]]]:
    path = folder / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [(where.removeprefix(str(path)), dict(cells)) for where, cells in read_table(path, needed)]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_comes_back_and_is_no_formula(tmp_path: Path, text: str) -> None:
    """Whatever it begins with: the cell begins with nothing that a spreadsheet takes for a formula."""
    assert not neutral(text).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert plain(neutral(text)) == text
    ((_, cells),) = read(tmp_path, table_text(["a", "b"], [{"a": text, "b": -1}]))
    assert cells == {"a": text, "b": "-1"}


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_any_spreadsheet_may_have_saved_it(tmp_path: Path, mark: str) -> None:
    """With a byte order mark, its own delimiter, capitals, empty columns, blank lines and missing ends."""
    text = '\ufeff Rater |n|Comment|\n\nann|1|"a\nb|."|\n|||\nbob|2\n'.replace("|", mark)
    inside = f"a\nb{mark}."
    assert read(tmp_path, text, "rater", "n") == [
        (":3", {"rater": "ann", "n": "1", "comment": inside}),
        (":6", {"rater": "bob", "n": "2", "comment": ""}),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ":1: it has no header; begin with a line of column names"),
        ("b\n1\n", ":1: no column 'a'; it needs a, and has b"),
        ("a,A\n1\n", ":1: the header names 'a' twice; make column names unique"),
        ("a,b\n1,2\n\n1,2,3\n", ":4: 3 cells, where the header has 2; put a cell in quotes where it has the delimiter"),
        ('a\nx\n"y\n', ":3: not CSV (unexpected end of data); mend the record that begins there"),
        (b"a\nx\ncaf\xe9\n", ":3: not UTF-8 (invalid continuation byte); save the file as CSV UTF-8"),
        ("a\n".encode("utf-16"), ":1: not UTF-8 (invalid start byte); save the file as CSV UTF-8"),
    ],
)
def test_what_is_no_table_is_named_by_line(tmp_path: Path, content: str | bytes, said: str) -> None:
    """With what to do about it."""
    with pytest.raises(DataError) as refused:
        read(tmp_path, content, "a")
    assert str(refused.value).endswith(said)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Or that is a folder."""
    for path, why in ((tmp_path / "no.csv", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(DataError, match=rf"{path}: cannot be read \({why}\); give a readable file"):
            read_table(path, [])
