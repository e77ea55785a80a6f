"""The records of a CSV text."""

from __future__ import annotations

import csv

import pytest

from evalflow.csv_records import csv_records
from evalflow.errors import DataError


def test_a_record_is_told_with_the_line_where_it_begins():
    """A quoted cell may have line ends of its own, which stay as they are; an empty line is no record."""
    text = 'a;b\r\n"one\r\ntwo";2\r\n\r\n;\r\n'
    assert csv_records("f.csv", text, ";") == [(1, ["a", "b"]), (2, ["one\r\ntwo", "2"]), (5, ["", ""])]


def test_what_is_no_csv_is_refused_where_the_record_begins():
    """A quote that is never closed is told by file and line, and the module's own limit is what it was."""
    before = csv.field_size_limit()
    with pytest.raises(DataError, match=r"f\.csv:2: not CSV"):
        csv_records("f.csv", 'a,b\n"x,\n2', ",")
    assert csv.field_size_limit() == before


def test_a_cell_may_be_longer_than_a_short_document():
    """A quarter of a million characters are one cell."""
    assert csv_records("f.csv", "x" * 250_000, ",") == [(1, ["x" * 250_000])]
