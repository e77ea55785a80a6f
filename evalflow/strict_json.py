"""JSON read strictly, and values held against the annotations of our records."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Fit = Callable[[Any], bool]


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
    for name, fit in _fields(kind):
        value = getattr(record, name)
        if not fit(value):
            said = repr(value)
            return f"{name} is {said if len(said) <= 60 else f'{said[:57]}...'}"
    return None


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type, all the way down. See `misfit`."""
    return _fit(hint)(value)


@cache
def _fields(kind: Any) -> tuple[tuple[str, Fit], ...]:
    own = {field.name for field in fields(kind)}
    return tuple((name, _fit(hint)) for name, hint in get_type_hints(kind).items() if name in own)


@cache
def _fit(hint: Any) -> Fit:
    """The test for one annotation, made once: there are many rows and few kinds of fields."""
    kind: Any = get_origin(hint) or hint
    parts = get_args(hint)
    if kind in (Union, UnionType):
        within = [_fit(part) for part in parts if part is not type(None)]
        if len(within) == 1 and len(parts) == 2 and type(None) in parts:
            only = within[0]
            return lambda value: value is None or only(value)
        every = [_fit(part) for part in parts]
        return lambda value: any(fit(value) for fit in every)
    if kind is Literal:
        return lambda value: isinstance(value, str) and value in parts
    if kind is tuple:
        entry = _fit(parts[0])
        return lambda value: isinstance(value, tuple | list) and all(map(entry, value))
    if kind is Mapping:
        inside = _fit(parts[1] if parts else Any)
        return lambda value: (
            isinstance(value, Mapping) and all(isinstance(key, str) and inside(value[key]) for key in value)
        )
    if kind is float:
        return _is_finite
    if kind is int:
        return _is_whole
    if kind is Any:
        return _anything
    deep = is_dataclass(kind)
    return lambda value: isinstance(value, kind) and (not deep or misfit(value) is None)


def _anything(value: Any) -> bool:  # noqa: ARG001 - a test takes what it tests
    return True


def _is_finite(value: Any) -> bool:
    return math.isfinite(value) if isinstance(value, float) else _is_whole(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


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


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number
