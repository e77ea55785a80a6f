"""Characters are the vocabulary: one token each, and END."""

from __future__ import annotations

import string
from collections.abc import Iterable

from evalflow.errors import ModelError

END = 0
"""The token that ends a text. It also fills what is padded: masked positions never read it."""

CHARACTERS = "\n !#:" + string.ascii_uppercase + string.ascii_lowercase
"""Token `i + 1` is character `i`. Written out, not gathered from the tasks, for checkpoints depend on it."""

SIZE = len(CHARACTERS) + 1

_TOKEN = {character: token for token, character in enumerate(CHARACTERS, start=1)}


def encode(text: str) -> list[int]:
    """The tokens of `text`, END not among them.

    Raises:
        ModelError: a character that the model has no token for.
    """
    try:
        return [_TOKEN[character] for character in text]
    except KeyError as unknown:
        character = unknown.args[0]
        raise ModelError(
            f"tiny_gpt: the prompt holds {character!r} (U+{ord(character):04X}), which it has no token for; "
            f"use only these characters: {CHARACTERS!r}"
        ) from None


def decode(tokens: Iterable[int]) -> str:
    """The text of `tokens`; an END adds nothing."""
    return "".join(CHARACTERS[token - 1] for token in tokens if token != END)
