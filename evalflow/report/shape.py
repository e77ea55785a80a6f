"""A JSON value held against a JSON Schema of ours, in those of the standard's words that our schemas use."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

KINDS: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: KINDS["number"](value) and value == int(value),
}
LIMITS: Mapping[str, tuple[Callable[[Any], bool], Callable[[Any, Any], bool]]] = {
    "minimum": (KINDS["number"], operator.ge),
    "maximum": (KINDS["number"], operator.le),
    "exclusiveMinimum": (KINDS["number"], operator.gt),
    "minLength": (KINDS["string"], lambda text, least: len(text) >= least),
    "maxLength": (KINDS["string"], lambda text, most: len(text) <= most),
    "minItems": (KINDS["array"], lambda entries, least: len(entries) >= least),
    "maxItems": (KINDS["array"], lambda entries, most: len(entries) <= most),
    "pattern": (KINDS["string"], lambda text, pattern: re.search(pattern, text) is not None),
}
"""Word -> of what it says something, and whether that holds."""


def misshapen(value: Any, schema: Schema) -> str | None:
    """The first part of a finite JSON value that is not as the schema has it, in words; None where all is.

    A field that the schema does not know is passed over: it does no harm.
    """
    return next(_faults(value, schema, schema, ""), None)


def _faults(value: Any, rule: Schema, whole: Schema, where: str) -> Iterator[str]:
    if "$ref" in rule:
        yield from _faults(value, whole["$defs"][rule["$ref"].rpartition("/")[2]], whole, where)
    if not _holds(value, rule):
        yield f"{where or 'it'} is {value!r:.60}"
    elif isinstance(value, dict):
        yield from (f"{where or 'it'} has no {name}" for name in rule.get("required", ()) if name not in value)
        known, others = rule.get("properties", {}), rule.get("additionalProperties")
        for name, part in value.items():
            inside = known.get(name, others)
            if isinstance(inside, Mapping):
                yield from _faults(part, inside, whole, f"{where}.{name}" if where else name)
    elif isinstance(value, list):
        for number, part in enumerate(value if "items" in rule else ()):
            yield from _faults(part, rule["items"], whole, f"{where}[{number}]")
    for also in rule.get("allOf", ()):
        yield from _faults(value, also, whole, where)
    if "if" in rule:
        met = next(_faults(value, rule["if"], whole, where), None) is None
        yield from _faults(value, rule.get("then" if met else "else", {}), whole, where)


def _holds(value: Any, rule: Schema) -> bool:
    """Whether it is of the type, one of the values and within the limits, whatever is in it."""
    kinds = rule.get("type", ())
    if kinds and not any(KINDS[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return False
    if "const" in rule and not _same(value, rule["const"]):
        return False
    if "enum" in rule and not any(_same(value, one) for one in rule["enum"]):
        return False
    return all(holds(value, rule[word]) for word, (of, holds) in LIMITS.items() if word in rule and of(value))


def _same(one: Any, other: Any) -> bool:
    """Equal, where True is not 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
