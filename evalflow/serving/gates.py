"""Gates on an answer: what an answer must not do to be served as it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalflow.grounding.article import Article
from evalflow.grounding.citations import citations_of
from evalflow.grounding.figures import figures_not_in
from evalflow.grounding.names import names_not_in
from evalflow.grounding.phrases import check_phrases, phrases_in
from evalflow.grounding.words import vocabulary


@dataclass(frozen=True)
class Ground:
    """What an answer is held against."""

    article: Article
    question: str


class AnswerGate(ABC):
    """One gate. Subclass it as a frozen dataclass whose fields are its settings; it keeps no state."""

    @abstractmethod
    def findings(self, text: str, ground: Ground) -> Mapping[str, Any] | None:
        """What fires the gate on an answer, as JSON; None where it passes."""

    def sentence_findings(self, sentence: str, ground: Ground) -> Mapping[str, Any] | None:
        """What fires the gate on one sentence of an answer; None where the sentence may be kept."""
        return self.findings(sentence, ground)


@dataclass(frozen=True)
class Figures(AnswerGate):
    """Every figure of the prose occurs in the article; see `grounding.figures`."""

    def findings(self, text: str, ground: Ground) -> Mapping[str, Any] | None:
        """`{"not_in_article": [figure, ...]}`."""
        unknown = figures_not_in(text, ground.article.prose)
        return {"not_in_article": list(unknown)} if unknown else None


@dataclass(frozen=True)
class Citations(AnswerGate):
    """At least one citation beside words of the answer's own, and each the id of a section of the article."""

    def findings(self, text: str, ground: Ground) -> Mapping[str, Any] | None:
        """`{"cited": how many, "unknown": [id, ...]}`; `cited` is 0 where there is none.

        `says_nothing` is true beside them where there is no word but citations: they are no answer.
        """
        cited = citations_of(text)
        if cited and not vocabulary(text):
            return {"cited": len(cited), "unknown": [], "says_nothing": True}
        return self.sentence_findings(text, ground) if cited else {"cited": 0, "unknown": []}

    def sentence_findings(self, sentence: str, ground: Ground) -> Mapping[str, Any] | None:
        """As `findings`, but a sentence need not cite: that is asked of the answer as a whole."""
        cited = citations_of(sentence)
        unknown = [one for one in dict.fromkeys(cited) if ground.article.section(one) is None]
        return {"cited": len(cited), "unknown": unknown} if unknown else None


@dataclass(frozen=True)
class Redaction(AnswerGate):
    """No term of the list `terms`, as whole words in any case."""

    terms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_phrases("terms", self.terms)

    def findings(self, text: str, ground: Ground) -> Mapping[str, Any] | None:
        """`{"places": [index in the list, ...]}`: the terms themselves stay out of reports."""
        found = set(phrases_in(text, self.terms))
        return {"places": [place for place, term in enumerate(self.terms) if term in found]} if found else None


@dataclass(frozen=True)
class Blocked(AnswerGate):
    """No phrase of the list `phrases`, as whole words in any case."""

    phrases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_phrases("phrases", self.phrases)

    def findings(self, text: str, ground: Ground) -> Mapping[str, Any] | None:
        """`{"phrases": [phrase, ...]}`."""
        found = phrases_in(text, self.phrases)
        return {"phrases": list(found)} if found else None


@dataclass(frozen=True)
class Names(AnswerGate):
    """Every name-like word occurs in the article, the question or the list `allowed`, in any case.

    The refused words are kept for the report, but for the first `withhold` of them, which are only counted.
    """

    allowed: tuple[str, ...] = ()
    withhold: int = 0

    def __post_init__(self) -> None:
        if self.withhold < 0:
            raise ValueError(f"withhold is {self.withhold}; give at least 0")

    def findings(self, text: str, ground: Ground) -> Mapping[str, Any] | None:
        """`{"refused": [word, ...], "withheld": how many are left out of them}`."""
        refused = names_not_in(text, (ground.article.prose, ground.question, *self.allowed))
        if not refused:
            return None
        return {"refused": list(refused[self.withhold :]), "withheld": min(self.withhold, len(refused))}
