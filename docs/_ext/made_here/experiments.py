"""What an experiment's file says: its question, arms, gates and limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from made_here.markdown import code, table
from made_here.yaml_file import CONF, options, yaml_file

CONDITIONS = ("floor", "ceiling", "equals", "between", "verdict", "margin", "strict", "bound", "count", "of")


def experiment_table() -> str:
    """Every experiment that ships, and its question."""
    rows = [(f"[{one.name}](experiments/{one.name}.md)", _question(one.head)) for one in options("experiment")]
    return table(("experiment", "question"), rows)


def experiment(name: str) -> str:
    """The question, the parts, the gates and the limits of one experiment, as its file has them."""
    file = yaml_file(CONF / "experiment" / f"{name}.yaml")
    parts = [
        f"**{_question(file.head)}**",
        f"From `conf/experiment/{name}.yaml`:",
        table(("part", "what stands there"), _parts(file.values)),
        "## Its gates",
        table(("gate", "reads", "asks", "where it fails"), _gates(file.values)),
        "## What it does not show",
        "\n".join(f"- {said}" for said in file.values.get("limits", [])),
    ]
    return "\n\n".join(part for part in parts if part)


def _question(head: str) -> str:
    return head.split("  ")[0]


def _parts(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the defaults compose, by group."""
    found: dict[str, list[str]] = {}
    for entry in values.get("defaults", []):
        if not isinstance(entry, Mapping):
            continue
        ((key, option),) = entry.items()
        group, _, place = key.removeprefix("override ").lstrip("/").partition("@")
        names = option if isinstance(option, list) else [option]
        found.setdefault(group, []).extend(_shown(group, str(name), place) for name in names)
    return [(group, ", ".join(shown)) for group, shown in found.items()]


def _shown(group: str, option: str, place: str) -> str:
    """An option as a link to where it is described, with the key that it has here where that is another."""
    key = place.partition(".")[2]
    link = f"[`{option}`](../reference/metrics.md#{option})" if group == "metric" else code(option)
    return f"`{key}` ({link})" if key and key != option else link


def _gates(values: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    rows = []
    for name, node in values.get("gates", {}).items():
        reads = [code(node["figure"])] if "figure" in node else []
        reads += [f"of {code(node[key])}" for key in ("arm", "comparison") if key in node]
        reads += [f"where {key} is {value}" for key, value in node.get("where", {}).items()]
        asks = ", ".join(_asked(key, node[key]) for key in CONDITIONS if key in node)
        asks += "; must fail (a control)" if node.get("expect") == "fail" else ""
        asks += "; reports only" if node.get("report_only") else ""
        rows.append((code(name), " ".join(reads) or "as in its set", asks, str(node.get("on_fail", ""))))
    return rows


def _asked(key: str, value: Any) -> str:
    if value is True:
        return key
    return f"{key} {code(value) if isinstance(value, str) and value.startswith('$') else value}"
