"""Values held against our schemas: as a library for JSON Schema says, part by part."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from evalflow.report.build import schema
from evalflow.report.shape import misshapen
from tests.report.by_hand import made

STRANGE: tuple[Any, ...] = ("x", None, -1, 2.5, True, [], {}, ["x"], {"x": 1})


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every part of a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*way, key)
        yield from places(part, (*way, key))


def changed(value: Any, way: tuple[Any, ...], put: Any) -> Any:
    found = copy.copy(value)
    found[way[0]] = put if len(way) == 1 else changed(value[way[0]], way[1:], put)
    return found


def open_ended(rule: Any) -> Any:
    """The schema where fields that it does not know do no harm."""
    if isinstance(rule, dict):
        return {key: open_ended(part) for key, part in rule.items() if (key, part) != ("additionalProperties", False)}
    return [open_ended(part) for part in rule] if isinstance(rule, list) else rule


def test_it_finds_what_a_library_finds(tmp_path: Path) -> None:
    """Every part of a whole report in turn is something else; the one says so where the other does."""
    report = made(tmp_path)[0]
    peer = jsonschema.Draft202012Validator(open_ended(schema()))
    assert misshapen(report, schema()) is None and peer.is_valid(report)
    ways = [way for n, way in enumerate(places(report)) if n % 7 == 0]
    found = {True: 0, False: 0}
    for n, way in enumerate(ways):
        strange = changed(report, way, STRANGE[n % len(STRANGE)])
        right = peer.is_valid(strange)
        assert (misshapen(strange, schema()) is None) == right, way
        found[right] += 1
    assert min(found.values()) > 10


@pytest.mark.parametrize(
    ("value", "rule", "said"),
    [
        (True, {"const": 1}, "it is True"),
        (1.0, {"type": "integer"}, None),
        (0, {"exclusiveMinimum": 0}, "it is 0"),
        (2, {"maximum": 1}, "it is 2"),
        ([1], {"items": {"type": "string"}}, "[0] is 1"),
        ([1, 2], {"maxItems": 1}, "it is [1, 2]"),
        ("ab", {"maxLength": 1}, "it is 'ab'"),
        ({"a": {"b": 1}}, {"additionalProperties": {"required": ["c"]}}, "a has no c"),
        ({"a": 1}, {"additionalProperties": False}, None),
        ({"a": 1}, {"if": {"required": ["a"]}, "then": {"required": ["b"]}}, "it has no b"),
        ({}, {"if": {"required": ["a"]}, "then": {"required": ["b"]}}, None),
    ],
)
def test_the_first_part_that_is_not_so_is_named(value: Any, rule: Any, said: str | None) -> None:
    """By its place; what the schema does not know does no harm."""
    assert misshapen(value, rule) == said
