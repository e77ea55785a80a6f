"""The records of a CSV text, each with the line where it begins."""

from __future__ import annotations

import csv
import io

from evalflow.errors import DataError

_LONGEST = 2**31 - 1
"""Characters of a cell; Python's own limit is 131,072, and answers are longer."""


def csv_records(path: str, text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """`(first line, cells)` of every record that is not an empty line, the header first. `path` is what errors name.

    Raises:
        DataError: it is no CSV, by file and line.
    """
    records = []
    before = csv.field_size_limit(_LONGEST)
    try:
        # line ends stay as they are inside a quoted cell
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        first = 1
        for cells in reader:
            if cells:
                records.append((first, cells))
            first = reader.line_num + 1
    except csv.Error as fault:
        raise DataError(f"{path}:{first}: not CSV ({fault}); mend the record that begins there") from None
    finally:
        csv.field_size_limit(before)
    return records
