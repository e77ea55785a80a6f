"""Phrases looked for in a text: redacted terms, blocked phrases, the vocabulary of refusals."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable


def phrases_in(text: str, phrases: Iterable[str]) -> tuple[str, ...]:
    """The phrases that occur in `text` as whole words, whatever the case, the blanks and the kind of apostrophe."""
    plain = _plain(text)
    return tuple(p for p in phrases if re.search(rf"(?<!\w){re.escape(_plain(p))}(?!\w)", plain))


def check_phrases(name: str, phrases: Iterable[str]) -> None:
    """Refuse a phrase without a word: it would be found everywhere or nowhere.

    Raises:
        ValueError: there is one in the setting `name`.
    """
    listed = list(phrases)
    if any(not re.search(r"\w", phrase) for phrase in listed):
        raise ValueError(f"{name} is {listed}; give phrases that hold a word")


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).replace("’", "'").casefold().split())
