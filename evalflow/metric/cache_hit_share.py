"""Whether the prompt cache was really hit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalflow.metric.protocol import Answer
from evalflow.metric.rate import Rate
from evalflow.record import Row


@dataclass(frozen=True)
class CacheHitShare(Rate):
    """The share of rows whose cached tokens reach half of their input tokens, over the rows that can say."""

    figure: ClassVar[str | None] = "cache/hit_share"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(0 or 1,)`; None where the model reports no cached tokens (which is not a count of 0)."""
        hit = is_hit(unit.row)
        return None if hit is None else (float(hit),)


def is_hit(row: Row) -> bool | None:
    """Whether half of a row's input was cached; None where the model does not say, or says what cannot be."""
    cached, total = row.cached_tokens, row.tokens_in
    if cached is None or not total or cached > total:
        return None
    return 2 * cached >= total
