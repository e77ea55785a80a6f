"""Whether the prompt cache was really hit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalflow.metric.protocol import Answer
from evalflow.metric.rate import Rate


@dataclass(frozen=True)
class CacheHitShare(Rate):
    """The share of rows whose cached tokens reach half of their input tokens, over the rows that can say."""

    figure: ClassVar[str | None] = "cache/hit_share"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(0 or 1,)`; None where the model reports no cached tokens (which is not a count of 0)."""
        cached, total = unit.row.cached_tokens, unit.row.tokens_in
        if cached is None or not total:
            return None
        return (float(2 * cached >= total),)
