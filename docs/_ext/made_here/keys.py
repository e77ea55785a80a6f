"""The keys of a class: their types, what they are unless given, and what its docstrings say of them."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from evalflow.numeric.text_profile import TextProfile
from made_here.markdown import items, sentences, text

EVERYWHERE = {
    "name": "What reports call it.",
    "path": "The file or folder, relative to the folder that the run is started from.",
    "percentiles": "Which percentiles (0 to 100) are figures.",
    "profile": "Which differences between texts are none.",
    "unit": "What is counted: `grapheme` (what a reader takes for one character), `codepoint`, `word`, or one `label` "
    "per item.",
}
"""Keys that mean the same wherever they stand."""
LONGEST = 90
"""Characters of a default that is shown; the YAML file has all of it."""
PLAIN = {str: "text", int: "whole number", float: "number", bool: "true or false", type(None): "null", Any: "anything"}


@dataclass(frozen=True)
class Key:
    """One key: where it stands below its part, and what is known of it."""

    name: str
    kind: str
    default: str
    meaning: str


def class_of(target: str) -> type:
    """The class that a `_target_` names."""
    module, _, name = target.rpartition(".")
    found: type = getattr(importlib.import_module(module), name)
    return found


def keys_of(cls: type, given: Mapping[str, Any], comments: Mapping[str, str] | None = None) -> Iterator[Key]:
    """The keys of a dataclass in its order; those of a part inside of it follow it, as `part.key`.

    A text profile, which many parts have, is described once and named here.

    `given` is what a YAML file sets, which stands before the class's own default; `comments` are what the file says
    beside a key.
    """
    hints = get_type_hints(cls)
    for one in fields(cls):
        if not one.init or one.name.startswith("_"):
            continue
        hint = hints[one.name]
        inner = _inner(hint)
        value = given.get(one.name, MISSING)
        nested = "_target_" in str(value) or inner is TextProfile
        beside = _sentence((comments or {}).get(one.name, ""))
        meaning = " ".join(filter(None, [meaning_of(cls, one.name), beside])) or EVERYWHERE.get(one.name, "")
        kind = "[text profile](config.md#text-profile)" if inner is TextProfile else _kind(hint)
        if inner is None and nested:
            shown = "see below"
        else:
            shown = "" if inner and not nested and isinstance(value, Mapping) else _default(one, value)
        yield Key(one.name, kind, shown, meaning)
        if inner is not None and not nested:
            below = value if isinstance(value, Mapping) else {}
            for key in keys_of(inner, below):
                yield Key(f"{one.name}.{key.name}", key.kind, key.default, key.meaning)


@cache
def meaning_of(cls: type, name: str) -> str:
    """What the class, or one that it is derived from, says of a key; empty where nobody does."""
    for one in cls.__mro__:
        if one is object:
            continue
        if said := said_below(one).get(name):
            return " ".join(text(said).split())
        if said := items(one.__doc__ or "").get(name):
            return said
        told = [
            *sentences(one.__doc__ or ""),
            *(line[2:] for line in text(one.__doc__ or "").splitlines() if line[:2] == "- "),
        ]
        if found := [part for part in told if re.search(rf"`{name}\b", part)]:
            return " ".join(found)
    return ""


@cache
def said_below(cls: type) -> Mapping[str, str]:
    """The strings that stand below fields of a class, by field."""
    try:
        tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(cls)))
    except (OSError, SyntaxError):
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    return {
        one.target.id: said.value.value
        for one, said in itertools.pairwise(body)
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        if isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant) and isinstance(said.value.value, str)
    }


def _inner(hint: Any) -> type | None:
    """The dataclass that a key holds, be it one or null."""
    found = [one for one in (get_args(hint) or (hint,)) if isinstance(one, type) and is_dataclass(one)]
    return found[0] if len(found) == 1 and get_origin(hint) in (None, Union, types.UnionType) else None


def _kind(hint: Any) -> str:
    """A type in a reader's words."""
    if hint in PLAIN:
        return PLAIN[hint]
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{one}`" for one in inside)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_kind(one) for one in sorted(inside, key=lambda one: one is type(None))))
    if origin is tuple:
        kinds = list(dict.fromkeys(_kind(one) for one in inside if one is not Ellipsis))
        return f"list of {kinds[0]}" if len(kinds) == 1 else f"list: {', '.join(kinds)}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "mapping"
    if isinstance(hint, type) and is_dataclass(hint):
        return "mapping"
    return "list" if origin is not None else "a part"


def _default(one: Field[Any], value: Any) -> str:
    """What a key is unless it is given, as YAML writes it."""
    if value == "???" or (value is MISSING and one.default is MISSING and one.default_factory is MISSING):
        return "**required**"
    if value is MISSING:
        value = one.default if one.default is not MISSING else one.default_factory()  # type: ignore[misc]
    said = _yaml(value)
    return f"`{said if len(said) <= LONGEST else said[:LONGEST] + '...'}`"


def _sentence(said: str) -> str:
    """A comment as a sentence."""
    return f"{said[0].upper()}{said[1:].rstrip('.')}." if said else ""


def _yaml(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_yaml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_yaml(inner) for inner in value) + "]"
    if is_dataclass(value):
        changed = {one.name: getattr(value, one.name) for one in fields(value)}
        return _yaml({key: inner for key, inner in changed.items() if inner not in (None, False)})
    return '""' if value == "" else str(value).replace("\n", "\\n")
