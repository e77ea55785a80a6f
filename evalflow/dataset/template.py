"""Prompt templates: `{name}` is replaced by the item's field of that name, and nothing else is interpreted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def places(template: str) -> tuple[str, ...]:
    """The names that the template asks for, in order of appearance."""
    return tuple(_PLACE.findall(template))


def fill(template: str, fields: Mapping[str, Any]) -> str:
    """The template with every `{name}` replaced in one pass, so that braces inside a value stay as they are.

    Raises:
        KeyError: a name has no field.
    """
    return _PLACE.sub(lambda found: str(fields[found[1]]), template)
