"""The units that texts are compared in: graphemes, code points or words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import regex

Unit = Literal["grapheme", "codepoint", "word"]


def cut(text: str, unit: Unit) -> list[str]:
    """The units of `text`, in order.

    A grapheme is what a reader calls a character (Unicode's extended grapheme cluster): a letter with its
    accents, a family of emoji, a carriage return with its line feed. A word is what stands between white
    space of any kind (`str.isspace`: no-break spaces too), hence an empty text has none.

    Raises:
        ValueError: no such unit.
    """
    match unit:
        case "grapheme":
            graphemes: list[str] = regex.findall(r"\X", text)
            return graphemes
        case "codepoint":
            return list(text)
        case "word":
            return text.split()
    raise ValueError(f"unit is {unit!r}; choose {', '.join(get_args(Unit))}")


def joined(units: Iterable[str], unit: Unit) -> str:
    """Units as one text again: words with a blank between, others as they are."""
    return (" " if unit == "word" else "").join(units)
