"""The columns of stored rows, left in the file until they are asked for: a walk may have more than memory holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from evalflow.record import Row
from evalflow.stored_file import unusable


class StoredColumns(Mapping[str, str]):
    """The packed columns of the row whose line begins at `offset` (bytes) of a file that is only appended to."""

    def __init__(self, path: Path, offset: int, names: tuple[str, ...]) -> None:
        self.path, self.offset, self.names = path, offset, names

    def __getitem__(self, name: str) -> str:
        """One packed column.

        Raises:
            KeyError: there is none of this name.
            StoredRunError: the file cannot be read any more.
        """
        return _packed(self.path, self.offset)[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names  # without reading the file

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def left_in_file(row: Row, path: Path, offset: int) -> Row:
    """The row without its columns in memory; one that has none is as it was."""
    if row.columns is None:
        return row
    stored = StoredColumns(path, offset, tuple(row.columns.packed))
    return replace(row, columns=replace(row.columns, packed=stored))


@lru_cache(maxsize=2)  # metrics take a row's columns one after another
def _packed(path: Path, offset: int) -> Mapping[str, str]:
    try:
        with path.open("rb") as handle:
            handle.seek(offset)
            packed: Mapping[str, str] = json.loads(handle.readline())["columns"]["packed"]
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise unusable(path, f"its row at byte {offset} is not there any more ({fault})") from None
    return packed
