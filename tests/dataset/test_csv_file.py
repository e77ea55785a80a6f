"""Items from CSV: quoting, types and empty cells, and how a bad record is named."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from evalflow.dataset.csv_file import CsvFile
from evalflow.dataset.protocol import collect
from evalflow.record import fingerprints
from tests.dataset.sources import refusal


def written(folder: Path, content: str | bytes, **settings: Any) -> CsvFile:
    path = folder / "items.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return CsvFile(str(path), **settings)


def fields(dataset: CsvFile) -> list[dict[str, Any]]:
    return [dict(item.fields) for item in collect(dataset)]


def test_every_cell_is_a_text_unless_its_type_is_said(tmp_path: Path) -> None:
    """007 keeps its noughts, and a number becomes one only in a column of numbers."""
    text = 'input,n,x,deep\n007,12,-1.5e3,"[1, {""a"": null}]"\n'
    assert fields(written(tmp_path, text)) == [{"input": "007", "n": "12", "x": "-1.5e3", "deep": '[1, {"a": null}]'}]
    typed = written(tmp_path, text, types={"n": "int", "x": "float", "deep": "json"})
    assert fields(typed) == [{"input": "007", "n": 12, "x": -1500.0, "deep": [1, {"a": None}]}]
    assert type(fields(typed)[0]["n"]) is int


def test_quoted_cells_hold_delimiters_quotes_and_lines(tmp_path: Path) -> None:
    """By the rules of the standard library; line ends inside a cell are kept, and blanks around one."""
    text = 'input,target\r\n"a, ""b""\r\nc\n\n", d \r\n'
    assert fields(written(tmp_path, text)) == [{"input": 'a, "b"\r\nc\n\n', "target": " d "}]


def test_separators_that_only_python_knows_end_no_line(tmp_path: Path) -> None:
    """A form feed or a line separator of Unicode is a character of its cell."""
    text = "input\nx\u2028y\x0cz\x85\x00\n"
    assert fields(written(tmp_path, text)) == [{"input": "x\u2028y\x0cz\x85\x00"}]


@pytest.mark.parametrize(("delimiter", "mark"), [(",", ","), (";", ";"), ("tab", "\t"), ("\t", "\t"), ("|", "|")])
def test_the_delimiter_is_a_setting(tmp_path: Path, delimiter: str, mark: str) -> None:
    """A character, or the word tab; the same cells are the same dataset. Blank lines and a byte order mark are none."""
    plain = collect(written(tmp_path, "input,target\nx,1\ny,2\n"))
    text = "\ufeffinput,target\n\nx,1\n\ny,2".replace(",", mark)
    assert fingerprints(collect(written(tmp_path, text, delimiter=delimiter))) == fingerprints(plain)


def test_an_empty_cell_is_null_only_where_that_is_said(tmp_path: Path) -> None:
    """Else it is an empty text, and no number at all."""
    text = 'input,n,target\nx,,""\n'
    assert fields(written(tmp_path, text)) == [{"input": "x", "n": "", "target": ""}]
    assert fields(written(tmp_path, text, empty_is_null=True)) == [{"input": "x", "n": None, "target": None}]
    typed = written(tmp_path, text, types={"n": "int"})
    assert refusal(typed) == f"{typed.path}:2: 'n' is '', not of type int; mend it, or change types"
    assert fields(written(tmp_path, text, types={"n": "int"}, empty_is_null=True))[0]["n"] is None


@pytest.mark.parametrize(
    ("kind", "cell"),
    [("int", cell) for cell in ("1.0", "1_000", "x", "٣", "0x1", "9" * 5000)]
    + [("float", cell) for cell in ("nan", "inf", "1e999", "1_0.5", "٣", "1,5", "NA")]
    + [("json", cell) for cell in ("{", "NaN", "x", "[" * 100_000)],
)
def test_a_cell_that_is_not_of_its_type_is_named(tmp_path: Path, kind: Any, cell: str) -> None:
    """By line, column and type; what Python alone would read as a number is none."""
    dataset = written(tmp_path, f'input,n\nx,"1"\ny,"{cell}"\n', types={"n": kind})
    message = refusal(dataset)
    assert message.startswith(f"{dataset.path}:3: 'n' is '")
    assert f"not of type {kind}; " in message
    assert len(message) < len(dataset.path) + 120


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ":1: it has no header"),
        ("\n\n", ":1: it has no header"),
        ("input,,target\n", ":1: column 2 has no name"),
        ("input,target,\nx,1,\n", ":1: column 3 has no name"),
        ('\n"a\nb",input,input\n', ":2: the header names 'input' twice"),
        ("input,target\nx,1\ny\n", ":3: 1 cells, where the header has 2"),
        ('input,target\n"x\n\n",1\n\ny,2,3\n', ":6: 3 cells, where the header has 2"),
        ("input,target\nx,1\n  \n", ":3: 1 cells, where the header has 2"),
        ('input,target\nx,1\n"y,2\nz,3\n', ":3: not CSV (unexpected end of data)"),
        ('input,target\nx,1\n"y"z,2\n', ":3: not CSV ("),
        (b"input\nx\ncaf\xe9\n", ":3: not UTF-8 ("),
        ("input,target\n", ": it has no items; give at least one record"),
    ],
)
def test_a_malformed_file_is_named_by_line(tmp_path: Path, content: str | bytes, said: str) -> None:
    """The line that a record begins on, lines inside quoted cells counted."""
    dataset = written(tmp_path, content)
    assert refusal(dataset).startswith(f"{dataset.path}{said}")


def test_a_type_of_a_column_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A misspelt column is not left to be a text."""
    dataset = written(tmp_path, "input,n\nx,1\n", types={"m": "int"})
    said = f"{dataset.path}:1: no column 'm', which types names; choose from input, n"
    assert refusal(dataset) == said


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"delimiter": ""}, "delimiter is ''"),
        ({"delimiter": ", "}, "delimiter is ', '"),
        ({"delimiter": '"'}, "delimiter is '\"'"),
        ({"delimiter": "\n"}, r"delimiter is '\\n'"),
        ({"types": {"n": "integer"}}, "types names integer; choose from int, float, json"),
        ({"few_shot": -1}, "few_shot is -1"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any], said: str) -> None:
    """On building, before any file is read."""
    with pytest.raises(ValueError, match=said):
        CsvFile("absent.csv", **settings)


def test_a_long_cell_is_read_and_the_library_left_as_it_was(tmp_path: Path) -> None:
    """Longer than the standard library's own limit, which holds again afterwards."""
    before = csv.field_size_limit()
    long = "word " * 60_000
    assert fields(written(tmp_path, f"input\n{long}\n")) == [{"input": long}]
    assert csv.field_size_limit() == before
