"""The same rows written as every kind of file that entries are read from."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from evalflow.dataset.csv_file import CsvFile
from evalflow.dataset.entries import Entries
from evalflow.dataset.hf_dataset import HfDataset
from evalflow.dataset.json_file import JsonFile
from evalflow.dataset.jsonl import Jsonl
from evalflow.dataset.parquet import Parquet
from evalflow.errors import DataError

Rows = Sequence[Mapping[str, Any]]
Made = Callable[..., Entries]


def refusal(dataset: Any) -> str:
    """The one line that a dataset is refused with, which says where, what is wrong, and what to do."""
    with pytest.raises(DataError) as refused:
        dataset.items()
    said = str(refused.value)
    assert "\n" not in said and "; " in said
    return said


def jsonl(path: Path, rows: Rows, **settings: Any) -> Jsonl:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return Jsonl(str(path), **settings)


def json_file(path: Path, rows: Rows, **settings: Any) -> JsonFile:
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return JsonFile(str(path), **settings)


def csv_file(path: Path, rows: Rows, **settings: Any) -> CsvFile:
    """A cell that is no text is written as JSON, and its column read as that."""
    typed = {key: "json" for row in rows for key, value in row.items() if not isinstance(value, str | None)}
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(
            {key: json.dumps(value) if key in typed else value for key, value in row.items()} for row in rows
        )
    return CsvFile(str(path), types=typed, empty_is_null=True, **settings)


def parquet_file(path: Path, rows: Rows, **settings: Any) -> Parquet:
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return Parquet(str(path), **settings)


def hf_folder(path: Path, rows: Rows, **settings: Any) -> HfDataset:
    """Needs the package; a test that asks for it without is skipped."""
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_list([dict(row) for row in rows]).save_to_disk(str(path))
    return HfDataset(str(path), **settings)


EVERY: Mapping[str, Made] = {
    "jsonl": jsonl,
    "json": json_file,
    "csv": csv_file,
    "parquet": parquet_file,
    "hf": hf_folder,
}
