"""Items from a JSON Lines file: one object a line."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalflow.dataset.template import fill, places
from evalflow.errors import DataError
from evalflow.record import Item, digest
from evalflow.text_lines import read_lines

_MAPPED = ("id", "input", "target", "kind", "cluster", "prefix_group")


@dataclass(frozen=True)
class Jsonl:
    """A JSON Lines file.

    `fields` maps our names (id, input, target, kind, cluster, prefix_group) to the file's keys; unmapped ones are
    looked up under their own name. An item without an id gets one derived from its content. `prompt` is a template
    over all keys of the line. `few_shot` examples from `few_shot_path` (same shape) stand before each prompt as
    `few_shot_format`; which ones is drawn from the item id, never from the order.
    """

    path: str
    name: str = "jsonl"
    fields: Mapping[str, str] = field(default_factory=dict)
    prompt: str = "{input}"
    few_shot: int = 0
    few_shot_path: str | None = None
    few_shot_format: str = "{prompt}\n{target}\n\n"

    def __post_init__(self) -> None:
        unknown = sorted(set(self.fields) - set(_MAPPED))
        if unknown:
            raise ValueError(f"fields names {', '.join(unknown)}; map only {', '.join(_MAPPED)}")
        if self.few_shot < 0 or (self.few_shot > 0 and self.few_shot_path is None):
            raise ValueError(f"few_shot is {self.few_shot}; give 0, or a count and few_shot_path")
        unknown = sorted(set(places(self.few_shot_format)) - {"prompt", "target"})
        if unknown:
            raise ValueError(f"few_shot_format asks for {', '.join(unknown)}; ask only for prompt, target")

    def items(self) -> tuple[Item, ...]:
        """Every line as an item; see `Dataset.items`."""
        examples = self._read(Path(self.few_shot_path)) if self.few_shot and self.few_shot_path else ()
        # in an order of their own, so that the file's order cannot change what is drawn
        ordered = tuple(sorted(examples, key=lambda example: digest(example.fields)))
        untargeted = [example.id for example in ordered if example.target is None]
        if untargeted and "target" in places(self.few_shot_format):
            raise DataError(f"{self.few_shot_path}: example {untargeted[0]!r} has no target; give it one")
        items = self._read(Path(self.path))
        if not items:
            raise DataError(f"{self.path}: it has no items; give at least one line")
        return tuple(self._with_examples(item, ordered) for item in items)

    def _read(self, path: Path) -> tuple[Item, ...]:
        placed: dict[str, str] = {}
        items = []
        for where, line in read_lines(path):
            item = self._item(_object(line, where), where)
            if item.id in placed:
                raise DataError(f"{where}: id {item.id!r} is already on {placed[item.id]}; make ids unique")
            placed[item.id] = where
            items.append(item)
        return tuple(items)

    def _item(self, line: Mapping[str, Any], where: str) -> Item:
        named = {name: line.get(self.fields.get(name, name)) for name in _MAPPED}
        for name, key in self.fields.items():
            if key not in line:
                raise DataError(f"{where}: no key {key!r}, which fields.{name} names; add it or change fields")
        values = {**line, **{name: value for name, value in named.items() if value is not None}}
        missing = [name for name in places(self.prompt) if values.get(name) is None]
        if missing:
            raise DataError(f"{where}: the line has no {missing[0]!r}, which the prompt asks for; add it")
        # a true or false has no text of its own: Python would make it True
        if named["target"] is not None and type(named["target"]) not in (str, int, float):
            raise DataError(f"{where}: the target is {type(named['target']).__name__}; give a text")
        if named["id"] == "":
            raise DataError(f"{where}: the id is empty; give it one, or none to have it derived")
        return Item(
            id=_text(named["id"], "id", where) or digest(line)[:16],
            prompt=fill(self.prompt, values),
            target=None if named["target"] is None else str(named["target"]),
            kind=_text(named["kind"], "kind", where),
            cluster=_text(named["cluster"], "cluster", where),
            prefix_group=_text(named["prefix_group"], "prefix_group", where),
            fields=dict(line),
        )

    def _with_examples(self, item: Item, examples: tuple[Item, ...]) -> Item:
        if not self.few_shot:
            return item
        # by content too: the same question under another id would give its own answer away
        others = [e for e in examples if e.id != item.id and e.prompt != item.prompt]
        if len(others) < self.few_shot:
            said = f"{len(others)} examples for item {item.id!r}; few_shot={self.few_shot} needs more"
            raise DataError(f"{self.few_shot_path}: {said}")
        drawn = random.Random(digest(item.id)).sample(others, self.few_shot)
        shown = "".join(fill(self.few_shot_format, {"prompt": e.prompt, "target": e.target}) for e in drawn)
        return Item(**{**item.__dict__, "prompt": shown + item.prompt})


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


def _text(value: Any, name: str, where: str) -> str:
    """An id or grouping as text; a 0 is a group like any other."""
    if isinstance(value, dict | list | bool):
        raise DataError(f"{where}: {name} is {type(value).__name__}; give a text")
    return "" if value is None else str(value)


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits} is beyond a float")
    return number


def _refuse(name: str, where: str) -> None:
    raise DataError(f"{where}: {name} is not JSON; write null or a number")
