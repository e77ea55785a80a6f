"""Where in an article a question is spoken of: overlap of content words, the rarer ones weighing more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evalflow.grounding.article import Article, Section
from evalflow.grounding.sentences import sentences_of
from evalflow.grounding.words import content_words


@dataclass(frozen=True)
class Found:
    """A sentence of a section, and the share of the question's weight that it holds (0 to 1)."""

    sentence: str
    section: Section
    share: float


def nearest_section(article: Article, question: str) -> Section:
    """The section that holds most of the question's weight, title and text; the first of equals."""
    shares = _shares(question, [f"{section.title}\n{section.text}" for section in article.sections])
    return article.sections[shares.index(max(shares))]


def best_sentence(article: Article, question: str) -> Found | None:
    """The sentence that, with its section's title, holds most of the question's weight; the first of equals.

    None where no section has any text.
    """
    pairs = [(sentence, section) for section in article.sections for sentence in sentences_of(section.text)]
    if not pairs:
        return None
    shares = _shares(question, [f"{section.title}\n{sentence}" for sentence, section in pairs])
    best = shares.index(max(shares))
    return Found(" ".join(pairs[best][0].split()), pairs[best][1], shares[best])


def _shares(question: str, passages: Sequence[str]) -> list[float]:
    """Per passage, the share of the weight of the question's content words that occur in it.

    A word's weight is log(1 + N / max(df, 1/2)) with N passages of which df hold it, so that a word that the article
    lacks weighs most and no passage can make up for it. All are 0 for a question without content words.
    """
    held = [content_words(passage) for passage in passages]
    asked = sorted(content_words(question))
    weights = {word: math.log1p(len(held) / max(sum(word in words for words in held), 0.5)) for word in asked}
    total = math.fsum(weights.values())
    return [math.fsum(weights[word] for word in asked if word in words) / total if total else 0.0 for words in held]
