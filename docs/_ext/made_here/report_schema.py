"""The keys of report.json, from the schema that every report is validated against."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from made_here.markdown import code, table

SCHEMA = Path(__file__).resolve().parents[3] / "evalflow" / "report" / "report.schema.json"


def report_schema() -> str:
    """The keys with their types and, where it says so, their meaning; a `*` stands for any name."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    rows = _keys(schema, schema, "", 0)
    return table(("key", "type", "meaning"), rows)


def _keys(node: Mapping[str, Any], schema: Mapping[str, Any], where: str, depth: int) -> Iterator[tuple[str, str, str]]:
    node = _resolved(node, schema)
    named = [*node.get("properties", {}).items()]
    if isinstance(node.get("additionalProperties"), Mapping):
        named.append(("*", node["additionalProperties"]))
    for name, inner in named:
        found = _resolved(inner, schema)
        yield code(f"{where}{name}"), _kind(found, schema), str(found.get("description", ""))
        if depth < 3:
            yield from _keys(found, schema, f"{where}{name}.", depth + 1)
            if isinstance(found.get("items"), Mapping):
                yield from _keys(found["items"], schema, f"{where}{name}[].", depth + 1)


def _resolved(node: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in node:
        found: Any = schema
        for part in str(node["$ref"]).removeprefix("#/").split("/"):
            found = found[part]
        node = {**found, **{key: value for key, value in node.items() if key != "$ref"}}
    return node


def _kind(node: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if "enum" in node:
        return ", ".join(code(one) for one in node["enum"])
    if "const" in node:
        return code(node["const"])
    for several in ("anyOf", "oneOf"):
        if several in node:
            return " or ".join(dict.fromkeys(_kind(_resolved(one, schema), schema) for one in node[several]))
    kind = node.get("type", "anything")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
