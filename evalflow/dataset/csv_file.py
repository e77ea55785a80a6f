"""Items from a CSV file: a header, then one record an item."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from evalflow.csv_records import csv_records
from evalflow.dataset.entries import Entries
from evalflow.dataset.text_file import read_text
from evalflow.errors import DataError
from evalflow.strict_json import parse_json


@dataclass(frozen=True)
class CsvFile(Entries):
    """A CSV file with a header; its entries are its records. The other settings are those of `Entries`.

    `delimiter` is one character, or `tab`. Quoting is the standard library's: `"a ""b"" c"`. A cell is a text, unless
    `types` says that its column holds whole numbers (int), numbers (float) or JSON. An empty cell is an empty text,
    and a typed one is refused; with `empty_is_null` it is null in any column. Blank lines are no records.
    """

    unit: ClassVar[str] = "record"

    name: str = "csv"
    delimiter: str = ","
    types: Mapping[str, Literal["int", "float", "json"]] = field(default_factory=dict)
    empty_is_null: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delimiter != "tab" and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(f"delimiter is {self.delimiter!r}; give one character, such as a comma, or tab")
        unknown = sorted(set(self.types.values()) - set(_READERS))
        if unknown:
            raise ValueError(f"types names {', '.join(unknown)}; choose from {', '.join(_READERS)}")

    def entries(self, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The records of a file; see `Entries.entries`."""
        delimiter = "\t" if self.delimiter == "tab" else self.delimiter
        (first, header), *records = csv_records(path, read_text(Path(path)), delimiter) or [(1, [])]
        self._check(header, f"{path}:{first}")
        for number, cells in records:
            where = f"{path}:{number}"
            if len(cells) != len(header):
                said = f"{len(cells)} cells, where the header has {len(header)}"
                raise DataError(f"{where}: {said}; give each record as many, in quotes where a cell has the delimiter")
            yield where, {key: self._value(key, cell, where) for key, cell in zip(header, cells, strict=True)}

    def _check(self, header: Sequence[str], where: str) -> None:
        if not header:
            raise DataError(f"{where}: it has no header; begin with a line of column names")
        if not all(header):
            raise DataError(f"{where}: column {header.index('') + 1} has no name; give it one")
        twice = [name for name, times in Counter(header).items() if times > 1]
        if twice:
            raise DataError(f"{where}: the header names {twice[0]!r} twice; make column names unique")
        absent = sorted(set(self.types) - set(header))
        if absent:
            said = f"no column {absent[0]!r}, which types names"
            raise DataError(f"{where}: {said}; choose from {', '.join(header)}")

    def _value(self, key: str, cell: str, where: str) -> Any:
        if cell == "" and self.empty_is_null:
            return None
        kind = self.types.get(key)
        if kind is None:
            return cell
        try:
            return _READERS[kind](cell)
        except ValueError:
            shown = cell if len(cell) <= 40 else f"{cell[:37]}..."
            raise DataError(f"{where}: {key!r} is {shown!r}, not of type {kind}; mend it, or change types") from None


def _whole(cell: str) -> int:
    _check_ascii(cell)
    return int(cell)


def _number(cell: str) -> float:
    _check_ascii(cell)
    if not math.isfinite(number := float(cell)):
        raise ValueError("not finite")
    return number


def _check_ascii(cell: str) -> None:
    """Python would read `1_000` and the digits of other scripts, which other readers of the file do not."""
    if "_" in cell or not cell.isascii():
        raise ValueError("not a plain number")


_READERS = {"int": _whole, "float": _number, "json": parse_json}
