"""What was served of grounded answers: shares of rows, from what serving noted about each.

A row without an answer, or of a run that serves drafts as they are, is excluded. `where: {kind: off-page}` reads a
figure on the questions that the article does not answer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from evalflow.grounding.abstain import abstains_for
from evalflow.metric.protocol import Answer
from evalflow.metric.rate import Rate


def serving_of(unit: Answer) -> Mapping[str, Any] | None:
    """What serving noted about a row; None where there was no answer, or nothing that serves."""
    return None if unit.row.status == "error" else unit.row.detail.get("serving")


class _Share(Rate):
    """The share of rows with an answer of which something holds."""

    @abstractmethod
    def holds(self, unit: Answer, serving: Mapping[str, Any]) -> bool:
        """Whether it holds of a row, given what serving noted about it."""

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(0 or 1,)`; None for a row without an answer or without serving."""
        serving = serving_of(unit)
        return None if serving is None else (float(self.holds(unit, serving)),)


@dataclass(frozen=True)
class Answered(_Share):
    """1 where the reader got an answer: the draft, or the sentences of it that passed."""

    def holds(self, unit: Answer, serving: Mapping[str, Any]) -> bool:
        """Not abstained."""
        return bool(serving["outcome"] in ("draft", "partial"))


@dataclass(frozen=True)
class Partial(_Share):
    """1 where only the sentences that passed were served."""

    higher_is_better: ClassVar[bool] = False

    def holds(self, unit: Answer, serving: Mapping[str, Any]) -> bool:
        """Released in part."""
        return bool(serving["outcome"] == "partial")


@dataclass(frozen=True)
class PassedEveryGate(_Share):
    """1 where the draft passed every gate and was served as an answer.

    Of off-page questions this is counted and never judged: passing the gates shows that an answer was put together
    from the article, not that it answers.
    """

    def holds(self, unit: Answer, serving: Mapping[str, Any]) -> bool:
        """Served as it is."""
        return bool(serving["passed_every_gate"] and serving["outcome"] == "draft")


@dataclass(frozen=True)
class Abstained(_Share):
    """1 where the authored abstain was served: because of a gate, of the model's own words, or of either.

    `by` says which. More is better where the article does not answer; read `Answered` where it does.
    """

    by: Literal["gate", "model", "either"] = "either"

    def holds(self, unit: Answer, serving: Mapping[str, Any]) -> bool:
        """Abstained, by the source asked for."""
        return bool(serving["outcome"] == "abstained" and self.by in ("either", serving["source"]))


@dataclass(frozen=True)
class GateFired(_Share):
    """1 where `gate` fired on the draft, whatever was served of it; None of a gate that was not asked."""

    higher_is_better: ClassVar[bool] = False
    gate: str

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(0 or 1,)`; None for a row without an answer, without serving, or whose serving has no such gate."""
        serving = serving_of(unit)
        return None if serving is None or self.gate not in serving["gates"] else super().stats(unit)

    def holds(self, unit: Answer, serving: Mapping[str, Any]) -> bool:
        """Fired."""
        return self.gate in serving["fired"]

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """What fired it."""
        return {**((serving_of(unit) or {}).get("fired", {}).get(self.gate) or {})}


@dataclass(frozen=True)
class FiguresNotVerbatim(_Share):
    """1 where the draft has a figure that the article does not, gate or no gate, whatever was served."""

    higher_is_better: ClassVar[bool] = False

    def holds(self, unit: Answer, serving: Mapping[str, Any]) -> bool:
        """At least one figure of the draft is not in the article."""
        return bool(serving["figures_not_in_article"])

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """Those figures, of how many."""
        serving = serving_of(unit)
        if serving is None:
            return {}
        return {"not_in_article": serving["figures_not_in_article"], "figures": len(serving["figures"])}


@dataclass(frozen=True)
class Uncited(_Share):
    """1 where the draft cites no section of the article, whatever was served of it."""

    higher_is_better: ClassVar[bool] = False

    def holds(self, unit: Answer, serving: Mapping[str, Any]) -> bool:
        """No citation, or none that is a section's."""
        return not serving["valid_citations"]


@dataclass(frozen=True)
class FlaggedNotVerbatim(_Share):
    """1 where what was served is not, to the letter, what its flag says: then the instrument is broken.

    An abstain has to be the authored sentence for a section of the article, an answer the draft itself, a partial one
    sentences of the draft with one blank between them.
    """

    higher_is_better: ClassVar[bool] = False

    def holds(self, unit: Answer, serving: Mapping[str, Any]) -> bool:
        """Flagged, and not verbatim."""
        served, draft, kept = unit.row.served, unit.row.draft or "", serving["kept"]
        if served is None:
            return True
        if serving["outcome"] == "abstained":
            return not is_authored(unit, served, serving)
        if serving["outcome"] == "partial":
            return served != " ".join(kept) or not kept or any(sentence not in draft for sentence in kept)
        return served != draft


@dataclass(frozen=True)
class AbstainExact(_Share):
    """Of the abstains served, 1 where the text is the authored sentence, to the letter, for the section that it names.

    Any section of the article will do: one that a fresh search would not find is still the abstain.
    """

    figure: ClassVar[str | None] = "quality/abstain_exact"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(0 or 1,)`; None for a row that is no abstain."""
        serving = serving_of(unit)
        return super().stats(unit) if serving is not None and serving["outcome"] == "abstained" else None

    def holds(self, unit: Answer, serving: Mapping[str, Any]) -> bool:
        """Authored, character for character."""
        return is_authored(unit, unit.row.served or "", serving)


@dataclass(frozen=True)
class DraftAbstainExact(_Share):
    """Of the refusals in the model's words, 1 where it wrote the authored sentence itself, to the letter."""

    figure: ClassVar[str | None] = "quality/draft_abstain_exact"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(0 or 1,)`; None for a row that the model did not refuse."""
        serving = serving_of(unit)
        return super().stats(unit) if serving is not None and serving["source"] == "model" else None

    def holds(self, unit: Answer, serving: Mapping[str, Any]) -> bool:
        """Authored, character for character."""
        return is_authored(unit, unit.row.draft or "", serving)


def is_authored(unit: Answer, text: str, serving: Mapping[str, Any]) -> bool:
    """Whether a text is the authored abstain, to the letter, for a section of the item's article."""
    sections = {section["id"] for section in unit.item.fields["article"]["sections"]}
    return abstains_for(text, serving["abstain"]) in sections
