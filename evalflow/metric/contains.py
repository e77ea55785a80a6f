"""Whether the answer contains the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from evalflow.metric.protocol import Answer
from evalflow.metric.rate import Rate


@dataclass(frozen=True)
class Contains(Rate):
    """1 where the target occurs in the answer (`ignore_case`: in any case). An empty one of either never matches."""

    needs_target: ClassVar[bool] = True
    ignore_case: bool = True

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(0 or 1,)`; None for a row without an answer."""
        if unit.row.draft is None or unit.item.target is None:
            return None
        answer, target = unit.row.draft, unit.item.target.strip()
        if self.ignore_case:
            answer, target = answer.casefold(), target.casefold()
        return (float(bool(target) and target in answer),)

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """What was looked for."""
        return {"expected": unit.item.target}
