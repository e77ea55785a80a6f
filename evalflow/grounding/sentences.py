"""Sentences of an answer or an article."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalflow.grounding.citations import TOKEN

_BREAK = re.compile(r"\n[ \t]*\n\s*|\n(?=[ \t]*(?:[-*+]|\d+[.)]|#{1,6})[ \t])")
_END = re.compile(rf"{TOKEN}|(?<![.!?])(?P<mark>[.!?]++)[\"'”’)\]]*(?:\s*[(\[]?{TOKEN}[)\]]?[.,;]?)*+(?=\s|\Z)")
"""A citation, whose inside ends nothing, or what may end a sentence with the citations that follow it."""
_NEXT = re.compile(r"\s*(\S)")
_REACH = 64
"""Characters before a full stop that can say whether it ends a sentence."""
_TITLES = frozenset(["mr", "mrs", "ms", "dr", "st", "prof", "vs", "e.g", "i.e", "cf", "ca", "approx"])
_COUNTED = frozenset(["no", "nos", "fig", "figs", "vol", "ch", "pp"])
"""Abbreviations only before a number: an answer may end in "no"."""


def sentences_of(text: str) -> tuple[str, ...]:
    """The sentences, in order, each a verbatim part of the text without outer blanks.

    A sentence ends at a full stop, question or exclamation mark (with the citations that follow it) before a word that
    does not begin in lower case, at a blank line, and before a list item or a heading. Usual abbreviations and
    initials end none.
    """
    found = (sentence.strip() for block in _BREAK.split(text) for sentence in _split(block))
    return tuple(sentence for sentence in found if sentence)


def _split(block: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(block):
        following = _NEXT.match(block, end.end())
        if not end["mark"] or following is None or following[1].islower():
            continue
        said = block[max(start, end.start() - _REACH) : end.start()]
        if not _continues(said, end["mark"], following[1]):
            yield block[start : end.end()]
            start = end.end()
    yield block[start:]


def _continues(said: str, mark: str, following: str) -> bool:
    """Whether the full stop belongs to an abbreviation, an initial or the number of a list item.

    `said` is the sentence up to it, or its end where it is long, and `following` the next character.
    """
    words = said.split()
    if mark != "." or not words:
        return False
    word = words[-1].lstrip("([\"'“‘")
    initial = len(word) == 1 and word.isupper() and word != "I"
    numbered = len(words) == 1 and word.isdigit() and len(said) < _REACH
    counted = word.casefold() in _COUNTED and following.isdigit()
    return initial or numbered or counted or word.casefold() in _TITLES
