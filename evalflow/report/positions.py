"""Every position of a run's scored texts as one CSV file, written row by row: it may be longer than memory holds."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from evalflow.errors import OutputError
from evalflow.record import Row
from evalflow.whole_file import replacing

NAME = "positions.csv"
OF_ROW = ("arm", "seed", "item_id")


def write_positions(folder: Path, rows: Sequence[Row]) -> list[Path]:
    """Write positions.csv, whole or not at all; its path, or none where no text was scored.

    A column that a row does not have is empty there, and so is NaN.

    Raises:
        OutputError: it cannot be written.
    """
    scored = [row for row in rows if row.columns is not None]
    if not scored:
        return []
    names = list(dict.fromkeys(name for row in scored if row.columns for name in row.columns.packed))
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(path, errors="surrogatepass", newline="") as handle:
            writer = csv.writer(handle, lineterminator="\n")
            writer.writerow([*OF_ROW, *names])
            for row in scored:
                writer.writerows(_lines(row, names))
        return [path]
    except OSError as fault:
        raise OutputError(f"{path}: cannot be written ({fault.strerror}); give another folder") from None


def _lines(row: Row, names: Sequence[str]) -> list[list[object]]:
    columns = row.columns
    assert columns is not None, "only scored rows are written"
    found = [columns[name].tolist() if name in columns else [None] * columns.n for name in names]
    own = [getattr(row, name) for name in OF_ROW]
    return [[*own, *("" if value != value else value for value in values)] for values in zip(*found, strict=True)]
