"""Items from a Parquet file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evalflow.dataset.entries import Entries
from evalflow.dataset.plain_value import plain_entry
from evalflow.errors import DataError

_ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class Parquet(Entries):
    """A Parquet file; its entries are its rows. The other settings are those of `Entries`.

    Only `columns` are read, and make up an item's content (empty: all of them). Lists and structs stay as they are,
    times become ISO 8601 texts, decimals their digits; a column of bytes is refused. A missing value is null; NaN is
    refused, unless `nan_is_null`.
    """

    unit: ClassVar[str] = "row"

    name: str = "parquet"
    columns: tuple[str, ...] = ()
    nan_is_null: bool = False

    def entries(self, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The rows of a file, a batch in memory at a time; see `Entries.entries`."""
        import pyarrow
        from pyarrow.parquet import ParquetFile

        number = 0
        try:
            with ParquetFile(path, page_checksum_verification=True) as file:
                self._check(file.schema_arrow.names, path)
                wanted = list(self.columns) or file.schema_arrow.names
                for batch in file.iter_batches(_ROWS_AT_ONCE, columns=wanted):
                    # a name may also be read as a path into a struct, so what came is cut to what was asked for
                    for row in batch.select(wanted).to_pylist():
                        number += 1
                        where = f"{path}: row {number}"
                        yield where, plain_entry(row, where, self.nan_is_null)
        except UnicodeDecodeError as fault:
            raise DataError(f"{path}: not UTF-8 ({fault.reason}) after row {number}; write the file again") from None
        except (pyarrow.ArrowException, OSError, ValueError, LookupError, ArithmeticError) as fault:
            said = " ".join((getattr(fault, "strerror", None) or str(fault)).split()).rstrip(".")
            after = f" after row {number}" if number else ""
            raise DataError(f"{path}: cannot be read{after} ({said}); give a whole Parquet file") from None

    def _check(self, names: Sequence[str], path: str) -> None:
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise DataError(f"{path}: column {twice[0]!r} occurs twice; make column names unique")
        absent = [name for name in self.columns if name not in names]
        if absent:
            raise DataError(f"{path}: no column {absent[0]!r}; choose columns from {', '.join(names)}")
