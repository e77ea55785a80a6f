"""Tables that people fill in with a spreadsheet: what it writes is read, and no cell that it is given is a formula."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalflow.csv_records import csv_records
from evalflow.errors import DataError

Line = tuple[str, Mapping[str, str]]
"""Where a record begins, as `file:line`, and its cells by column."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
"""What a spreadsheet takes a formula by, and the quote that is put before them, which some hide."""
_DELIMITERS = ",;\t"


def neutral(text: str) -> str:
    """The text with a quote, `'`, before it where a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def plain(cell: str) -> str:
    """The text that `neutral` made a cell of; any other cell as it is."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def table_text(columns: Sequence[str], records: Sequence[Mapping[str, object]]) -> str:
    """Records as CSV (RFC 4180) with a header, every text neutral. Half a surrogate pair is written `\\udc80`."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(columns)
    for record in records:
        writer.writerow([neutral(cell) if isinstance(cell := record[name], str) else cell for name in columns])
    return out.getvalue().encode("utf-8", "backslashreplace").decode("utf-8")


def read_table(path: Path, needed: Sequence[str]) -> list[Line]:
    """The records of a CSV file as any spreadsheet may have saved it; every cell is a text, without its quote.

    The delimiter is the one of comma, semicolon and tab that its header has most of. A byte order mark, blank lines,
    unnamed columns and capitals in the header mean nothing, and cells that are missing at a record's end are empty.

    Raises:
        DataError: the file cannot be read, is not UTF-8 or not CSV, lacks a `needed` column, names one twice, or has a
            cell beyond its header.
    """
    records = _records(path, _text_of(path))
    if not records:
        raise DataError(f"{path}:1: it has no header; begin with a line of column names")
    (first, heads), *rest = records
    names = [head.strip().lower() for head in heads]
    twice = [name for name, times in Counter(names).items() if name and times > 1]
    if twice:
        raise DataError(f"{path}:{first}: the header names {twice[0]!r:.60} twice; make column names unique")
    absent = [name for name in needed if name not in names]
    if absent:
        found = ", ".join(name for name in names if name) or "none"
        raise DataError(f"{path}:{first}: no column {absent[0]!r}; it needs {', '.join(needed)}, and has {found:.200}")
    return [(f"{path}:{number}", _named(names, cells, f"{path}:{number}")) for number, cells in rest]


def _named(names: Sequence[str], cells: Sequence[str], where: str) -> dict[str, str]:
    if any(cells[len(names) :]):
        said = f"{len(cells)} cells, where the header has {len(names)}"
        raise DataError(f"{where}: {said}; put a cell in quotes where it has the delimiter")
    filled = [*cells, *[""] * (len(names) - len(cells))]
    return {name: plain(cell) for name, cell in zip(names, filled, strict=False) if name}


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as fault:
        raise DataError(f"{path}: cannot be read ({fault.strerror}); give a readable file") from None
    except UnicodeDecodeError as fault:
        line = fault.object.count(b"\n", 0, fault.start) + 1
        raise DataError(f"{path}:{line}: not UTF-8 ({fault.reason}); save the file as CSV UTF-8") from None


def _records(path: Path, text: str) -> list[tuple[int, list[str]]]:
    """`(first line, cells)` of every record that is not blank, the header first."""
    header = text.lstrip().partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header.count)  # of equals the first
    return [record for record in csv_records(str(path), text, delimiter) if any(record[1])]
