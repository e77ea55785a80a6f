"""Whether the answer is the target, to the letter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from evalflow.metric.protocol import Answer
from evalflow.metric.rate import Rate


@dataclass(frozen=True)
class ExactMatch(Rate):
    """1 where the answer equals the target after stripping outer whitespace; case matters. Empty never matches."""

    needs_target: ClassVar[bool] = True

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(0 or 1,)`; None for a row without an answer."""
        if unit.row.draft is None or unit.item.target is None:
            return None
        answer = unit.row.draft.strip()
        return (float(bool(answer) and answer == unit.item.target.strip()),)

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """What was expected."""
        return {"expected": unit.item.target}
