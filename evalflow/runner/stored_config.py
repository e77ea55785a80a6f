"""A composed config as it is kept in a run's folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from evalflow.errors import StoredRunError


def to_yaml(config: Mapping[str, Any]) -> str:
    """A plain config as YAML."""
    return yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)


def as_stored(config: Mapping[str, Any]) -> dict[str, Any]:
    """A plain config as it is read back."""
    stored: dict[str, Any] = yaml.safe_load(to_yaml(config))
    return stored


def from_yaml(path: Path) -> dict[str, Any]:
    """The plain config that `to_yaml` wrote.

    Raises:
        StoredRunError: the file is not there or is no YAML mapping.
    """
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as fault:
        raise StoredRunError(f"{path}: cannot be read ({' '.join(str(fault).split())}); restore it") from None
    if not isinstance(config, dict):
        raise StoredRunError(f"{path}: no YAML mapping; restore it")
    return {str(key): value for key, value in config.items()}
