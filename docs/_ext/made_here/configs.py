"""Every option of every group, from the YAML files and the classes that they name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from evalflow.numeric.text_profile import TextProfile
from made_here.keys import PLAIN, Key, class_of, keys_of
from made_here.markdown import code, first, table, text
from made_here.yaml_file import CONF, YamlFile, options, yaml_file

ORDER = ("dataset", "model", "decoding", "arm", "scoring", "serving", "comparison", "gate", "runner", "tracking")
"""Experiments have pages of their own, and metrics their reference."""
SAID = {
    "dataset": "What is asked: `override /dataset: NAME` in an experiment, `dataset=NAME` on the command line.",
    "model": "Who answers: `override /model: NAME`, `model=NAME`; an arm's own `model` is laid over it, key by key.",
    "decoding": "How answers are drawn; an arm's own `decoding` is laid over it.",
    "arm": "One model under one set of conditions: `/arm@arms.MINE: NAME` in an experiment, `+arm@arms.MINE=NAME`.",
    "scoring": "How texts are walked where nothing is asked: `/scoring@scoring: NAME`.",
    "serving": "What is served of a draft: `/serving@serving: NAME`.",
    "comparison": "Two arms held against each other: `/comparison@comparisons.MINE: NAME`.",
    "gate": "Sets of gates by name: `/gate@gates: [NAME, ...]`. The keys of one gate stand on [their page](gates.md).",
    "runner": "How a run is carried out; nothing here can change an answer: `runner.KEY=VALUE`.",
    "tracking": "Where a run is logged: `tracking=NAME`, `tracking.KEY=VALUE`.",
}


def configs() -> str:
    """A section per group, an option below it, its keys in a table."""
    parts = []
    for group in ORDER:
        parts += [f"## {group}", SAID[group]]
        parts += [part for option in options(group) for part in _option(group, option)]
    parts += ["## Text profile", text(TextProfile.__doc__ or ""), keys_table(keys_of(TextProfile, {}))]
    return "\n\n".join(parts)


def root_keys() -> str:
    """The keys of a whole experiment, with what is said of them in `conf/config.yaml` and the class."""
    from evalflow.runner.parts import Experiment

    root = yaml_file(CONF / "config.yaml")
    given = {key: value for key, value in root.values.items() if key not in ("hydra", "defaults")}
    for entry in root.values["defaults"]:
        given |= entry if isinstance(entry, dict) else {}
    rows = keys_of(Experiment, given, root.comments)
    return keys_table(replace(row, kind="a part") if row.kind == PLAIN[Any] else row for row in rows)


def keys_table(keys: Iterable[Key]) -> str:
    """Keys as a table."""
    rows = [(code(key.name), key.kind, key.default, key.meaning) for key in keys]
    return table(("key", "type", "unless given", "meaning"), rows)


def _option(group: str, option: YamlFile) -> list[str]:
    values = option.values
    parts = [f"### {group}={option.name}" if group not in ("gate", "arm") else f"### {group} {option.name}"]
    if "_target_" not in values:
        rows = [(code(name), code(_flow(node))) for name, node in values.items()]
        return [*parts, option.head, table(("gate", "what it asks"), rows)]
    cls = class_of(values["_target_"])
    parts += [option.head, first(cls.__doc__ or ""), f"Class {code(values['_target_'])}."]
    parts.append(keys_table(keys_of(cls, values, option.comments)))
    for name, node in _nested(values):
        inner = class_of(node["_target_"])
        parts += [f"`{name}`: {first(inner.__doc__ or '')}", keys_table(keys_of(inner, node))]
    return [part for part in parts if part]


def _nested(values: Mapping[str, Any], where: str = "") -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The parts inside of a part that name a class of their own."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            if "_target_" in value:
                yield f"{where}{key}", value
            yield from _nested(value, f"{where}{key}.")


def _flow(node: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in node.items())
