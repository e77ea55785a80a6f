"""Numbers that JSON cannot hold, which the cases write as strings. Texts and labels are never read this way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """The value with the strings "nan", "inf" and "-inf" read as numbers, at any depth."""
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return float(value) if isinstance(value, str) and value in ("nan", "inf", "-inf") else value
