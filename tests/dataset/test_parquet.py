"""Items from Parquet: what columns hold, which are read, and damage."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from evalflow.dataset.parquet import Parquet
from evalflow.dataset.protocol import collect
from evalflow.errors import DataError
from evalflow.record import fingerprints
from tests.dataset.sources import refusal


def written(folder: Path, table: dict[str, Any], **settings: Any) -> Parquet:
    path = folder / "items.parquet"
    parquet.write_table(pyarrow.table(table), path)
    return Parquet(str(path), **settings)


def test_nested_and_typed_columns_become_plain_values(tmp_path: Path) -> None:
    """Lists and structs stay, times become texts, decimals their digits, codes of a dictionary what they stand for."""
    dataset = written(
        tmp_path,
        {
            "input": pyarrow.array(["x"]).dictionary_encode(),
            "deep": [[{"a": [1, None], "b": "z"}]],
            "when": [datetime.datetime(1901, 2, 3, 4)],
            "day": [datetime.date(1901, 2, 3)],
            "price": [Decimal("1.50")],
            "half": pyarrow.array([0.5], pyarrow.float16()),
            "big": pyarrow.array([2**64 - 1], pyarrow.uint64()),
            "map": pyarrow.array([[("k", 1)]], pyarrow.map_(pyarrow.string(), pyarrow.int8())),
        },
    )
    (item,) = collect(dataset)
    assert item.fields == {
        "input": "x",
        "deep": [{"a": [1, None], "b": "z"}],
        "when": "1901-02-03T04:00:00",
        "day": "1901-02-03",
        "price": "1.50",
        "half": 0.5,
        "big": 2**64 - 1,
        "map": [["k", 1]],
    }


def test_only_the_columns_asked_for_are_read(tmp_path: Path) -> None:
    """They alone are the content: a column of bytes beside them does no harm, nor one whose name begins alike."""
    columns = {"input": ["x", "y"], "a.b": [1, 2], "a": [{"b": 3}, {"b": 4}], "image": [b"\xff", None]}
    small = collect(written(tmp_path, {"a.b": [1, 2], "input": ["x", "y"]}))
    large = collect(written(tmp_path, columns, columns=("input", "a.b")))
    assert fingerprints(large) == fingerprints(small)


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With those that are."""
    dataset = written(tmp_path, {"input": ["x"], "n": [1]}, columns=("input", "m"))
    assert refusal(dataset) == f"{dataset.path}: no column 'm'; choose columns from input, n"


def test_bytes_are_refused_by_their_column(tmp_path: Path) -> None:
    """At the first row that has some, however deep."""
    dataset = written(tmp_path, {"input": ["x", "y"], "raw": [None, [b"1"]]})
    assert refusal(dataset).startswith(f"{dataset.path}: row 2: 'raw' holds bytes; ")


@pytest.mark.parametrize(
    "column",
    [
        [1.0, float("nan")],
        [[0.5], [float("inf")]],
        pyarrow.array([0, -(2**63)], pyarrow.timestamp("ns")),  # the number that stands for no time
    ],
)
def test_nan_is_refused_or_null_as_it_is_said(tmp_path: Path, column: Any) -> None:
    """A missing value is null by itself; what is no number, or no time, only where that was said."""
    columns = {"input": ["x", "y"], "score": column}
    message = refusal(written(tmp_path, columns))
    assert "row 2: 'score' holds " in message and "set nan_is_null" in message
    found = collect(written(tmp_path, columns, nan_is_null=True))[1].fields["score"]
    assert found in (None, [None])


def test_rows_are_counted_over_row_groups(tmp_path: Path) -> None:
    """Five thousand rows in groups of seven hundred come in order, and the place of a fault is in the file."""
    path = tmp_path / "items.parquet"
    ids = [f"i{number}" for number in range(5000)]
    table = pyarrow.table({"id": ids, "input": [*["x"] * 4321, None, *["x"] * 678]})
    parquet.write_table(table, path, row_group_size=700)
    assert [item.id for item in collect(Parquet(str(path), prompt="{id}"))] == ids
    assert f"{path}: row 4322: the row has no 'input'" in refusal(Parquet(str(path)))


def test_column_names_must_be_unique(tmp_path: Path) -> None:
    """One of two would be lost."""
    path = tmp_path / "items.parquet"
    parquet.write_table(pyarrow.table([["x"], ["y"]], names=["input", "input"]), path)
    assert refusal(Parquet(str(path))) == f"{path}: column 'input' occurs twice; make column names unique"


def test_a_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    """Parquet only promises it."""
    offsets, data = b"\x00\x00\x00\x00\x02\x00\x00\x00", b"\xff\xfe"
    column = pyarrow.Array.from_buffers(
        pyarrow.string(), 1, [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]
    )
    assert ": not UTF-8 (" in refusal(written(tmp_path, {"input": column}))


@pytest.mark.parametrize("kept", [0, 3, 4, 12, 0.5, 0.99])
def test_a_truncated_file_is_refused(tmp_path: Path, kept: float) -> None:
    """Wherever it ends, in one line that names it."""
    dataset = written(tmp_path, {"input": [f"x{number}" for number in range(999)]})
    path = Path(dataset.path)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(kept * len(raw)) if isinstance(kept, float) else kept])
    assert refusal(dataset).startswith(f"{path}: cannot be read (")


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    """A text, a folder and an empty table too."""
    path = tmp_path / "items.parquet"
    path.write_text("input,target\nx,1\n" * 9, encoding="utf-8")
    assert refusal(Parquet(str(path))).startswith(f"{path}: cannot be read (Parquet magic bytes not found")
    assert refusal(Parquet(str(tmp_path))).startswith(f"{tmp_path}: cannot be read (")
    empty = written(tmp_path, {"input": pyarrow.array([], pyarrow.string())})
    assert refusal(empty) == f"{path}: it has no items; give at least one row"


def test_damage_is_found_by_checksums(tmp_path: Path) -> None:
    """Where the writer left them, a flipped bit is no other text: an error of one line, or the very same items."""
    path = tmp_path / "items.parquet"
    table = pyarrow.table({"input": [f"text {number}" for number in range(2000)]})
    parquet.write_table(table, path, row_group_size=500, write_page_checksum=True, compression="none")
    whole, items = path.read_bytes(), collect(Parquet(str(path)))
    hurt = bytearray(whole)
    hurt[whole.index(b"text 1234")] ^= 1
    path.write_bytes(hurt)
    assert "checksum" in refusal(Parquet(str(path)))
    for seed in range(40):
        rng = random.Random(seed)
        hurt = bytearray(whole)
        hurt[rng.randrange(len(hurt))] ^= rng.randrange(1, 256)
        path.write_bytes(hurt)
        try:
            found = Parquet(str(path)).items()
        except DataError as refused:
            assert "\n" not in str(refused)
        else:
            assert found == items
