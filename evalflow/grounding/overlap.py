"""Citation overlap: how much of a sentence's vocabulary stands in what it cites. Measured, and no proof of anything."""

from __future__ import annotations

from evalflow.grounding.article import Article
from evalflow.grounding.citations import citations_of
from evalflow.grounding.sentences import sentences_of
from evalflow.grounding.words import vocabulary


def citation_overlaps(text: str, article: Article) -> tuple[float, ...]:
    """Per sentence with a valid citation, the share (0 to 1) of its distinct words that the cited sections hold.

    Title and text of every section that the sentence validly cites are taken together. A sentence without a word, or
    without a valid citation, says nothing and is left out.
    """
    overlaps = []
    known = {section.id: section for section in article.sections}
    for sentence in sentences_of(text):
        cited = {one: known[one] for one in citations_of(sentence) if one in known}
        words = vocabulary(sentence)
        if cited and words:
            held = frozenset[str]().union(*(vocabulary(f"{one.title}\n{one.text}") for one in cited.values()))
            overlaps.append(len(words & held) / len(words))
    return tuple(overlaps)
