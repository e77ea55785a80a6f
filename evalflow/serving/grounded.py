"""Grounded answers: gates on the draft, refusals put into the authored sentence, partial release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evalflow.errors import DataError
from evalflow.grounding.abstain import AUTHORED, authored, check_template
from evalflow.grounding.article import Article
from evalflow.grounding.citations import citations_of
from evalflow.grounding.figures import figures_not_in, figures_of
from evalflow.grounding.overlap import citation_overlaps
from evalflow.grounding.phrases import check_phrases
from evalflow.grounding.refusal import REFUSALS, refusal_in
from evalflow.grounding.search import nearest_section
from evalflow.grounding.sentences import sentences_of
from evalflow.record import Item
from evalflow.serving.gates import AnswerGate, Blocked, Citations, Figures, Ground, Names, Redaction
from evalflow.serving.protocol import Served

Outcome = Literal["draft", "partial", "abstained"]
Source = Literal["model", "gate"]


def _gates() -> Mapping[str, AnswerGate]:
    return {
        "figures": Figures(),
        "citations": Citations(),
        "redaction": Redaction(),
        "blocked": Blocked(),
        "names": Names(),
    }


@dataclass(frozen=True)
class Grounded:
    """Serves a draft that passes every gate; of one that does not, the sentences that do, or the authored abstain.

    `gates` are asked in order, by name. `refusals` is the vocabulary in which a model's own refusal is recognised;
    `abstain` is the sentence that is served in its place, with `§ {#section}` where the section is named.
    """

    gates: Mapping[str, AnswerGate] = field(default_factory=_gates)
    abstain: str = AUTHORED
    refusals: tuple[str, ...] = REFUSALS

    def __post_init__(self) -> None:
        check_template(self.abstain)
        check_phrases("refusals", self.refusals)
        strays = [name for name, gate in self.gates.items() if not isinstance(gate, AnswerGate)]
        if strays or not self.gates:
            said = f"no gate under {', '.join(strays)}" if strays else "empty"
            raise ValueError(f"gates is {said}; name classes that derive from evalflow.serving.gates.AnswerGate")

    def serve(self, item: Item, draft: str) -> Served:
        """See `Serving.serve`. The keys of `detail` are those of `_facts` and `_decided`.

        Raises:
            DataError: the item is none of a grounded dataset.
        """
        ground = _ground(item)
        article, sentences = ground.article, sentences_of(draft)
        fired = self._fired(draft, ground)
        refusal = None if fired else self._refusal(draft, ground)
        facts = self._facts(draft, ground, fired, refusal)
        if fired:
            kept = tuple(sentence for sentence in sentences if self._may_stay(sentence, ground))
            if self._stands(" ".join(kept), ground):
                return _decided(" ".join(kept), "partial", None, kept, facts)
            return self._abstained("gate", nearest_section(article, ground.question).id, facts)
        if refusal is None:
            return _decided(draft, "draft", None, sentences, facts)
        named = _first_valid(draft, article) or nearest_section(article, ground.question).id
        return self._abstained("model", named, facts)

    def _fired(self, text: str, ground: Ground) -> dict[str, Mapping[str, Any]]:
        asked = ((name, gate.findings(text, ground)) for name, gate in self.gates.items())
        return {name: findings for name, findings in asked if findings is not None}

    def _may_stay(self, sentence: str, ground: Ground) -> bool:
        return all(gate.sentence_findings(sentence, ground) is None for gate in self.gates.values())

    def _stands(self, kept: str, ground: Ground) -> bool:
        """Whether what is kept can be served by itself: gates, a valid citation, and no refusal left over."""
        cited = _first_valid(kept, ground.article) is not None
        return cited and not self._fired(kept, ground) and self._refusal(kept, ground) is None

    def _refusal(self, text: str, ground: Ground) -> str | None:
        return refusal_in(text, self.refusals, self.abstain, ground.article.prose)

    def _facts(self, draft: str, ground: Ground, fired: Mapping[str, Any], refusal: str | None) -> dict[str, Any]:
        """Facts of the draft, whatever is served of it. `section` is the one that an abstain names."""
        cited = citations_of(draft)
        return {
            "gates": list(self.gates),
            "abstain": self.abstain,
            "section": None,
            "fired": dict(fired),
            "passed_every_gate": not fired,
            "refusal": refusal,
            "sentences_written": len(sentences_of(draft)),
            "figures": list(figures_of(draft)),
            "figures_not_in_article": list(figures_not_in(draft, ground.article.prose)),
            "citations": list(cited),
            "valid_citations": [one for one in cited if ground.article.section(one) is not None],
            "citation_overlaps": list(citation_overlaps(draft, ground.article)),
        }

    def _abstained(self, source: Source, section: str, facts: Mapping[str, Any]) -> Served:
        text = authored(self.abstain, section)
        return _decided(text, "abstained", source, (), {**facts, "section": section})


def _decided(
    text: str, outcome: Outcome, source: Source | None, kept: tuple[str, ...], facts: Mapping[str, Any]
) -> Served:
    """What is served; `kept` are the draft's sentences in it."""
    decided = {"outcome": outcome, "source": source, "kept": list(kept), "sentences_kept": len(kept)}
    return Served(text, {**decided, **facts})


def _ground(item: Item) -> Ground:
    try:
        return Ground(Article.from_fields(item.fields["article"]), item.fields["question"])
    except (KeyError, TypeError):
        raise DataError(
            f"item {item.id!r}: it has no article and question to be held against; serve a dataset of grounded reading"
        ) from None


def _first_valid(text: str, article: Article) -> str | None:
    return next((one for one in citations_of(text) if article.section(one) is not None), None)
