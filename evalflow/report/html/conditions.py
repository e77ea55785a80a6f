"""What arms ran under, key by key, and which of it is not the same for all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TEXTS = ("model.", "facts.", "system")
"""Keys under which a model may keep texts: its system prompt, its own answers."""


@dataclass(frozen=True)
class Entry:
    """One key: what each arm has (empty where it has none), or the one value where all have the same."""

    key: str
    values: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether all arms have the same."""
        return len(set(self.values)) == 1


def conditions(report: Mapping[str, Any], private: bool) -> list[Entry]:
    """The conditions of all arms. Private, none of the model's own: they may hold texts."""
    arms = report["arms"]
    return entries({name: _own(arm["conditions"], arms) for name, arm in arms.items()}, private)


def entries(told: Mapping[str, Mapping[str, Any]], private: bool) -> list[Entry]:
    """What is told of each arm, beside one another."""
    flattened = {name: flat(of) for name, of in told.items()}
    keys = dict.fromkeys(key for of in flattened.values() for key in of)
    kept = [key for key in keys if not (private and key.startswith(TEXTS))]
    return [Entry(key, tuple(of.get(key, "") for of in flattened.values())) for key in kept]


def _own(told: Mapping[str, Any], arms: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """An arm's conditions with the name of the arm that it was walked beside in place of all of that one's."""
    wanted = told["reference"]
    if wanted is None:
        return dict(told)
    named = [name for name, arm in arms.items() if arm["conditions"] == wanted]
    return {**told, "reference": named[0] if named else "another model"}


def flat(told: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Dotted name -> value in words, of a mapping of mappings."""
    found: dict[str, str] = {}
    for key, value in told.items():
        if isinstance(value, Mapping) and value:
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = in_words(value)
    return found


def in_words(value: object) -> str:
    """A text as it is, numbers with six digits, a list one after another, else JSON."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list) and value and not any(isinstance(one, Mapping | list) for one in value):
        return ", ".join(in_words(one) for one in value)
    return json.dumps(value, ensure_ascii=False)
