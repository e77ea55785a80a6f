"""Items from a JSON Lines file: one object a line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from evalflow.dataset.entries import Entries
from evalflow.errors import DataError
from evalflow.text_lines import read_lines


@dataclass(frozen=True)
class Jsonl(Entries):
    """A JSON Lines file; its entries are its non-blank lines. The settings are those of `Entries`."""

    unit: ClassVar[str] = "line"

    name: str = "jsonl"

    def entries(self, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The lines of a file; see `Entries.entries`."""
        return ((where, _object(line, where)) for where, line in read_lines(Path(path)))


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        # NaN and Infinity are Python's, not JSON's: an item holding one has no canonical content
        value = json.loads(line, parse_constant=lambda name: _refuse(name, where), parse_float=_finite)
    except json.JSONDecodeError as fault:
        raise DataError(f"{where}: not JSON ({fault.msg} at column {fault.colno}); write one object a line") from None
    except (ValueError, RecursionError) as fault:  # numbers and nestings beyond what Python reads
        raise DataError(f"{where}: cannot be read ({fault}); write smaller numbers, less deep") from None
    if not isinstance(value, dict):
        raise DataError(f"{where}: a {type(value).__name__}, not an object; write one object a line")
    return value


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits} is beyond a float")
    return number


def _refuse(name: str, where: str) -> None:
    raise DataError(f"{where}: {name} is not JSON; write null or a number")
