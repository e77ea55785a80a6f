"""Refusals in a model's own words."""

from __future__ import annotations

from collections.abc import Iterable

from evalflow.grounding.abstain import abstains_for
from evalflow.grounding.citations import without_citations
from evalflow.grounding.phrases import phrases_in
from evalflow.grounding.sentences import sentences_of

REFUSALS = (
    "the article does not",
    "the article doesn't",
    "the text does not",
    "the text doesn't",
    "the passage does not",
    "the passage doesn't",
    "not answered in the article",
    "not mentioned in the article",
    "not stated in the article",
    "not specified in the article",
    "no information about",
    "no information on",
    "cannot be determined",
    "cannot be answered",
    "cannot answer",
    "can't answer",
    "I do not know",
    "I don't know",
)
"""The vocabulary, unless another is configured."""


def refusal_in(text: str, vocabulary: Iterable[str], abstain: str, source: str) -> str | None:
    """What makes a text a refusal: the authored abstain itself, or the first phrase of the vocabulary in it.

    A sentence that `source` has word for word is not the model's own: an article may well say of something that it
    cannot be determined. None where nothing makes it one.
    """
    if abstains_for(text.strip(), abstain) is not None:
        return abstain
    plain = _bare(source)
    own = "\n".join(sentence for sentence in sentences_of(text) if _bare(sentence) not in plain)
    return next(iter(phrases_in(own, vocabulary)), None)


def _bare(text: str) -> str:
    return " ".join(without_citations(text).split()).rstrip(" .")
