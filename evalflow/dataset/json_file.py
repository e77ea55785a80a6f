"""Items from a JSON file: a list of objects, or an object that holds one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from evalflow.dataset.entries import Entries
from evalflow.dataset.plain_value import plain_entry
from evalflow.dataset.text_file import read_text
from evalflow.errors import DataError


@dataclass(frozen=True)
class JsonFile(Entries):
    """A JSON file; its entries are the objects of its list. The other settings are those of `Entries`.

    `key` names the list where the file is an object (other keys of it are left alone); None: the file is the list.
    """

    unit: ClassVar[str] = "element"

    name: str = "json"
    key: str | None = None

    def entries(self, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The objects of a file's list; see `Entries.entries`."""
        for number, element in enumerate(self._listed(path), start=1):
            where = f"{path}: element {number}"
            if not isinstance(element, dict):
                raise DataError(f"{where}: a {type(element).__name__}, not an object; write a list of objects")
            yield where, plain_entry(element, where)

    def _listed(self, path: str) -> list[Any]:
        whole = _parsed(path)
        if self.key is None:
            if isinstance(whole, list):
                return whole
            lists = [key for key, value in whole.items() if isinstance(value, list)] if isinstance(whole, dict) else []
            todo = f"set key to one of {', '.join(lists[:5])}" if lists else "write a list of objects"
            raise DataError(f"{path}: a {type(whole).__name__}, not a list; {todo}")
        if not isinstance(whole, dict):
            raise DataError(f"{path}: a {type(whole).__name__}, not an object with a key {self.key!r}; set key to null")
        if not isinstance(whole.get(self.key), list):
            raise DataError(f"{path}: it has no list under {self.key!r}; name the key of one as key")
        return list(whole[self.key])


def _parsed(path: str) -> Any:
    try:
        # a number beyond a float or an int that Python reads is let through as infinite: its element is named later
        return json.loads(read_text(Path(path)), parse_int=_whole)
    except json.JSONDecodeError as fault:
        said = f"not JSON ({fault.msg} at column {fault.colno})"
        raise DataError(f"{path}:{fault.lineno}: {said}; write one list of objects") from None
    except RecursionError:
        raise DataError(f"{path}: nested too deep to be read; write it flatter") from None


def _whole(digits: str) -> float:
    try:
        return int(digits)
    except ValueError:  # Python reads some thousands of digits and no more
        return math.inf
