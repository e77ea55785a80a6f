"""What a recording says of the model that it was taken of, beside the logits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalflow.model.recorded.archive import unreadable
from evalflow.strict_json import plain
from evalflow.whole_file import replace_text

FORMAT = "evalflow logits 1"


def about_model(identity: Mapping[str, Any], scorer: Mapping[str, Any], own_tokens: bool) -> dict[str, Any]:
    """What is said of a model: its identity, its `scorer_facts`, and whether it has tokens of its own."""
    about = {"format": FORMAT, "model": dict(identity), "scorer": dict(scorer), "own_tokens": own_tokens}
    read: dict[str, Any] = json.loads(_text(about))  # as it will read, so that the two can be compared
    return read


def write_about(path: Path, about: Mapping[str, Any]) -> None:
    """Write it.

    Raises:
        OSError: it cannot be written.
    """
    replace_text(path, _text(about))


def read_about(path: Path) -> dict[str, Any]:
    """What was written.

    Raises:
        ModelError: it cannot be read, or is of another format.
    """
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        kinds = {"format": str, "model": dict, "scorer": dict, "own_tokens": bool}
        if about["format"] != FORMAT or not all(isinstance(about[name], kind) for name, kind in kinds.items()):
            raise ValueError(f"format {about['format']!r}")
        if not isinstance(about["scorer"]["vocabulary"], int):
            raise ValueError("no vocabulary")
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise unreadable(path, f"is not of format {FORMAT!r} ({fault}); record again") from None
    return dict(about)


def _text(about: Mapping[str, Any]) -> str:
    return json.dumps(about, indent=2, sort_keys=True, allow_nan=False, default=plain) + "\n"
