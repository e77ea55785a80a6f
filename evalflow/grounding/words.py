"""Words of a text, for looking them up in another."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from evalflow.grounding.citations import without_citations

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_POSSESSIVE = re.compile(r"['’][sS]?$")

_CLOSED = """
a about above after again against all also although always am an and another any are as at be because been before
being below between both but by can cannot could did do does doing done down during each either else every few first
for from further had has have having he hence her here hers him his how however i if in instead into is it its itself
last later less many me might mine more most much must my neither never next no none nor not now of off often on once
one only or other others our ours out over own per rather same second several shall she should since so some soon
still such than that the their theirs them then there therefore these they third this those though through thus to
together too two under until up upon us very was we were what when where whether which while who whom whose why will
with within without would yes yet you your yours
"""
CLOSED_CLASS = frozenset(_CLOSED.split())
"""English words that name nothing: articles, pronouns, prepositions, conjunctions, auxiliaries and their like.

Not "may": it is also a month.
"""


def words_of(text: str) -> tuple[str, ...]:
    """The words of the prose as written, in order: runs of letters, digits and underscores, a possessive 's cut off.

    A hyphen ends a word, so that each part of a compound is looked up by itself. Letters are composed (NFC).
    """
    prose = unicodedata.normalize("NFC", without_citations(text))
    return tuple(_POSSESSIVE.sub("", word) for word in _WORD.findall(prose))


@lru_cache(maxsize=1024)  # an article is looked up for every sentence of every answer
def vocabulary(text: str) -> frozenset[str]:
    """The distinct words of the prose, case folded."""
    return frozenset(word.casefold() for word in words_of(text))


def content_words(text: str) -> frozenset[str]:
    """The vocabulary without its closed-class words, a plural's s cut off: what a text is about."""
    return frozenset(_singular(word) for word in vocabulary(text) - CLOSED_CLASS)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
