"""Values of any origin as JSON knows them, so that the same content has the same fingerprint whatever it came from."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from evalflow.errors import DataError


def plain_entry(values: Mapping[str, Any], where: str, nan_is_null: bool | None = None) -> dict[str, Any]:
    """An entry with every value plain; see `plain_value`.

    Raises:
        DataError: a value cannot be made plain; `where` and its key are named.
    """
    entry = {}
    for key, value in values.items():
        try:
            entry[key] = plain_value(value, nan_is_null)
        except ValueError as fault:
            raise DataError(f"{where}: {key!r} {fault}") from None
        except RecursionError:
            raise DataError(f"{where}: {key!r} is nested too deep; write it flatter") from None
    return entry


def plain_value(value: Any, nan_is_null: bool | None = None) -> Any:
    """The value in texts, finite numbers, true, false, null, lists and mappings of them.

    A date or time becomes its ISO 8601 text, a decimal number its digits. What is no number or no time (NaN, NaT) or
    is infinite becomes null where `nan_is_null`, a setting that the source of the value has (None: has not).

    Raises:
        ValueError: it is or holds anything else: bytes, an object, a mapping whose keys are no texts, NaN. The message
            is the end of a sentence that names it.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float | Decimal | datetime.date | datetime.time):  # a datetime is a date
        if _is_finite(value):
            return value if isinstance(value, float) else _text(value)
        if nan_is_null:
            return None
        todo = "give a number or null" if nan_is_null is None else "set nan_is_null to read null, or mend it"
        raise ValueError(f"holds {value}, which is nothing that JSON knows; {todo}")
    if isinstance(value, Mapping):
        if any(not isinstance(key, str) for key in value):
            raise ValueError("holds a mapping with a key that is no text; make it text")
        return {key: plain_value(part, nan_is_null) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(part, nan_is_null) for part in value]
    kind = "bytes" if isinstance(value, bytes) else f"a {type(value).__name__}"
    raise ValueError(f"holds {kind}; make it a text, a number, a list or a mapping, or leave it out")


def _is_finite(value: Any) -> bool:
    if isinstance(value, float | Decimal):
        return math.isfinite(value)
    return bool(value == value)  # pandas' time that is none is a datetime by its type, and unequal to itself


def _text(value: Any) -> str:
    return str(value) if isinstance(value, Decimal) else str(value.isoformat())
