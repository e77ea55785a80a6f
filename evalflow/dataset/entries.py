"""Sources of entries: mappings of keys to values, each of which becomes an item in the same way."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evalflow.dataset.template import fill, places
from evalflow.errors import DataError
from evalflow.record import Item, digest

_MAPPED = ("id", "input", "target", "kind", "cluster", "prefix_group")


@dataclass(frozen=True)
class Entries(ABC):
    """What every source of entries has in common; a source itself only says how to read them.

    `fields` maps our names (id, input, target, kind, cluster, prefix_group) to the source's keys; unmapped ones are
    looked up under their own name. An item without an id gets one derived from its content. `prompt` is a template
    over all keys of the entry. `few_shot` examples from `few_shot_path` (same shape) stand before each prompt as
    `few_shot_format`; which ones is drawn from the item id, never from the order.
    """

    unit: ClassVar[str] = "entry"
    """What one entry is called in a message."""

    path: str
    """The file, relative to the folder that the run is started from."""
    name: str = "entries"
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

    @abstractmethod
    def entries(self, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """`(where, entry)` of all that `path` holds, in order; values are what JSON knows, `where` is for messages.

        Raises:
            DataError: it cannot be read or is malformed.
        """

    def examples(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The entries that few-shot examples are drawn from, as `entries` gives them."""
        return self.entries(str(self.few_shot_path))

    def items(self) -> tuple[Item, ...]:
        """Every entry as an item; see `Dataset.items`."""
        examples = self._read(self.examples()) if self.few_shot else ()
        # in an order of their own, so that the file's order cannot change what is drawn
        ordered = tuple(sorted(examples, key=lambda example: digest(example.fields)))
        untargeted = [example.id for example in ordered if example.target is None]
        if untargeted and "target" in places(self.few_shot_format):
            raise DataError(f"{self.few_shot_path}: example {untargeted[0]!r} has no target; give it one")
        items = self._read(self.entries(self.path))
        if not items:
            raise DataError(f"{self.path}: it has no items; give at least one {self.unit}")
        return tuple(self._with_examples(item, ordered) for item in items)

    def _read(self, entries: Iterator[tuple[str, Mapping[str, Any]]]) -> tuple[Item, ...]:
        placed: dict[str, str] = {}
        items = []
        for where, entry in entries:
            item = self._item(entry, where)
            if item.id in placed:
                raise DataError(f"{where}: id {item.id!r} is already on {placed[item.id]}; make ids unique")
            placed[item.id] = where
            items.append(item)
        return tuple(items)

    def _item(self, entry: Mapping[str, Any], where: str) -> Item:
        named = {name: entry.get(self.fields.get(name, name)) for name in _MAPPED}
        for name, key in self.fields.items():
            if key not in entry:
                raise DataError(f"{where}: no key {key!r}, which fields.{name} names; add it or change fields")
        values = {**entry, **{name: value for name, value in named.items() if value is not None}}
        missing = [name for name in places(self.prompt) if values.get(name) is None]
        if missing:
            raise DataError(f"{where}: the {self.unit} has no {missing[0]!r}, which the prompt asks for; add it")
        # a true or false has no text of its own: Python would make it True
        if named["target"] is not None and type(named["target"]) not in (str, int, float):
            raise DataError(f"{where}: the target is {type(named['target']).__name__}; give a text")
        if named["id"] == "":
            raise DataError(f"{where}: the id is empty; give it one, or none to have it derived")
        return Item(
            id=_text(named["id"], "id", where) or digest(entry)[:16],
            prompt=fill(self.prompt, values),
            target=None if named["target"] is None else str(named["target"]),
            kind=_text(named["kind"], "kind", where),
            cluster=_text(named["cluster"], "cluster", where),
            prefix_group=_text(named["prefix_group"], "prefix_group", where),
            fields=dict(entry),
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


def _text(value: Any, name: str, where: str) -> str:
    """An id or grouping as text; a 0 is a group like any other."""
    if isinstance(value, dict | list | bool):
        raise DataError(f"{where}: {name} is {type(value).__name__}; give a text")
    return "" if value is None else str(value)
