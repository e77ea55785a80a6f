"""Names: words that could only come from somewhere."""

from __future__ import annotations

from collections.abc import Iterable

from evalflow.grounding.words import CLOSED_CLASS, vocabulary, words_of


def names_of(text: str) -> tuple[str, ...]:
    """The name-like words of the prose, in order: with a capital anywhere, or identifiers.

    An identifier begins with a letter and holds a digit or an underscore (`sha256`, `max_tokens`). `1960s` is a figure.
    """
    return tuple(word for word in words_of(text) if _is_name(word))


def names_not_in(text: str, sources: Iterable[str]) -> tuple[str, ...]:
    """The name-like words of `text`, each once, that no source has in any case.

    Closed-class words are known everywhere: at the start of a sentence they are capitalised and name nothing.
    """
    known = CLOSED_CLASS.union(*map(vocabulary, sources))
    return tuple(dict.fromkeys(name for name in names_of(text) if name.casefold() not in known))


def _is_name(word: str) -> bool:
    if any(letter.isupper() for letter in word):
        return True
    return word[0].isalpha() and any(letter.isdigit() or letter == "_" for letter in word)
