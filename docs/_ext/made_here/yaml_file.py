"""The shipped YAML files: what they set, and what they say beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

CONF = Path(__file__).resolve().parents[3] / "conf"


@dataclass(frozen=True)
class YamlFile:
    """One option of a group: its name, its values, the comment at its head, and those beside its keys."""

    name: str
    values: Mapping[str, Any]
    head: str
    comments: Mapping[str, str]


@cache
def yaml_file(path: Path) -> YamlFile:
    """A file as it is read here."""
    whole = path.read_text(encoding="utf-8")
    lines = [line for line in whole.splitlines() if "@package" not in line]
    head = []
    for line in lines:
        if not line.startswith("#"):
            break
        head.append(line.lstrip("# ").strip())
    beside = re.findall(r"^\s*(?:- )?(\w+):[^#\n]*?\s#\s+(.+)$", whole, re.M)
    return YamlFile(path.stem, yaml.safe_load(whole) or {}, " ".join(head), dict(beside))


def options(group: str) -> list[YamlFile]:
    """The options of a group, by name."""
    return [yaml_file(path) for path in sorted((CONF / group).glob("*.yaml"))]


def groups() -> list[str]:
    """The groups of the config."""
    return sorted(path.name for path in CONF.iterdir() if path.is_dir())
