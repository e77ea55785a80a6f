"""Whether two arms wrote the same text, and where they part.

Two greedy passes of one model may part where its two likeliest tokens are so close that rounding decides; a margin that
is not small says that something else is at work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from evalflow.metric.percentiles import Percentiles, check_percentiles
from evalflow.metric.protocol import Grain, RowPair
from evalflow.metric.rate import Rate


@dataclass(frozen=True)
class IdenticalText(Rate):
    """The share of rows whose text is, to the letter, that of the `reference` arm's row."""

    grain: ClassVar[Grain] = "pair"
    figure: ClassVar[str | None] = "stability/identical_text"
    reference: str

    def stats(self, unit: RowPair) -> tuple[float, ...] | None:
        """`(0 or 1,)`."""
        return (float(unit.candidate.draft == unit.reference.draft),)

    def detail(self, unit: RowPair) -> Mapping[str, Any]:
        """Where the texts part (characters), None where they do not."""
        return {"first_difference": _first(unit.reference.draft or "", unit.candidate.draft or "")}


@dataclass(frozen=True)
class FirstDifference(Percentiles):
    """Tokens that two texts have in common before they part, over the rows where they do."""

    grain: ClassVar[Grain] = "pair"
    figure: ClassVar[str | None] = "stability/tokens_until_difference"
    measured_in: ClassVar[str] = "tokens"
    reference: str
    percentiles: tuple[float, ...] = (50.0,)

    def __post_init__(self) -> None:
        check_percentiles(self.percentiles)

    def stats(self, unit: RowPair) -> tuple[float, ...] | None:
        """`(tokens,)`; None where the texts are the same, or the model did not say of which tokens they are."""
        place = _parting(unit)
        return None if place is None else (float(place),)


@dataclass(frozen=True)
class MarginAtDifference(Percentiles):
    """By how much the reference preferred its token where the texts part: the top-2 margin there (nats)."""

    grain: ClassVar[Grain] = "pair"
    figure: ClassVar[str | None] = "stability/margin_at_difference"
    measured_in: ClassVar[str] = "nats"
    higher_is_better: ClassVar[bool] = False
    reference: str
    percentiles: tuple[float, ...] = (50.0,)

    def __post_init__(self) -> None:
        check_percentiles(self.percentiles)

    def stats(self, unit: RowPair) -> tuple[float, ...] | None:
        """`(nats,)`; None where the texts are the same, one is the other's beginning, or margins are not known."""
        place, tokens = _parting(unit), unit.reference.tokens
        if place is None or tokens is None or place >= len(tokens):
            return None
        margin = tokens[place].margin
        return None if margin is None else (margin,)


def _parting(unit: RowPair) -> int | None:
    """The index of the first token that differs; None where none does, or tokens are not known."""
    before, after = unit.reference.tokens, unit.candidate.tokens
    if before is None or after is None or unit.reference.draft == unit.candidate.draft:
        return None
    return _first([token.text for token in before], [token.text for token in after])


def _first(before: str | list[str], after: str | list[str]) -> int | None:
    """The first index at which two sequences differ, the shorter's length where it is the other's beginning."""
    if before == after:
        return None
    shared = min(len(before), len(after))
    return next((i for i in range(shared) if before[i] != after[i]), shared)
