"""JSON read strictly, and values held against the annotations of our records."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def parse_json(text: str) -> Any:
    """The value of a JSON text, with finite numbers alone.

    Raises:
        ValueError: the text is no such JSON, or is nested too deep to be read.
    """
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deep") from None


def misfit(record: Any) -> str | None:
    """The first field of a record whose value is not of the annotated type, in words; None where all are.

    A whole number may stand where a float is due, and a list where a tuple is; a bool is no number.
    """
    kind: Any = type(record)
    for name, hint in _hints(kind).items():
        if not fits(getattr(record, name), hint):
            said = repr(getattr(record, name))
            return f"{name} is {said if len(said) <= 60 else f'{said[:57]}...'}"
    return None


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type, all the way down. See `misfit`."""
    kind = get_origin(hint) or hint
    parts = get_args(hint)
    if kind in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if kind is Literal:
        return isinstance(value, str) and value in parts
    if kind is tuple:
        return isinstance(value, tuple | list) and all(fits(entry, parts[0]) for entry in value)
    if kind is Mapping:
        within = parts[1] if parts else Any
        return isinstance(value, Mapping) and all(isinstance(key, str) and fits(value[key], within) for key in value)
    if kind is float and isinstance(value, float):
        return math.isfinite(value)
    if kind in (int, float):
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is Any:
        return True
    return isinstance(value, kind) and (not is_dataclass(kind) or misfit(value) is None)


def plain(value: Any) -> Any:
    """What JSON knows for an array, a numpy number or another mapping: the `default` of `json.dumps`.

    Raises:
        TypeError: for anything else.
    """
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON knows")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(kind).items() if name in {f.name for f in fields(kind)}}


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number
