"""Whether the number that the answer gives is the target's, within a tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Literal

from evalflow.metric.number import Number, numbers_in, read_number
from evalflow.metric.protocol import Answer
from evalflow.metric.rate import Rate
from evalflow.numeric.text_profile import TextProfile

_SHAPES = TextProfile(width=True)


@dataclass(frozen=True)
class NumericMatch(Rate):
    """1 where |answer - target| <= `absolute` + `relative` * |target|, in exact decimals.

    `which` of an answer's numbers counts: the `last`, the `first`, or the `only` one that it may hold. An answer
    without a number is wrong; an item whose target is no number is excluded.
    """

    needs_target: ClassVar[bool] = True
    absolute: float = 0.0
    relative: float = 0.0
    which: Literal["last", "first", "only"] = "last"

    def __post_init__(self) -> None:
        for name in ("absolute", "relative"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; give a tolerance of 0 or more")

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(0 or 1,)`; None for a row without an answer or an item without a number."""
        wanted = _target(unit)
        if unit.row.draft is None or wanted is None:
            return None
        read = self._read(unit.row.draft)
        return (float(read is not None and self._close(read.value, wanted)),)

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """What was expected and which number was read, as it is written; None where there was none to read."""
        expected = {"expected": unit.item.target}
        if _target(unit) is None:
            return {**expected, "reason": "the target is no number"}
        read = None if unit.row.draft is None else self._read(unit.row.draft)
        return {**expected, "read": None if read is None else read.written}

    def _read(self, answer: str) -> Number | None:
        """The number of the answer that counts."""
        numbers = list(numbers_in(_SHAPES.apply(answer)))
        if not numbers or (self.which == "only" and len(numbers) > 1):
            return None
        return numbers[0 if self.which == "first" else -1]

    def _close(self, read: Decimal, wanted: Decimal) -> bool:
        if read == wanted:  # exact, however many digits
            return True
        # the tolerance means the decimal that it is written as
        within = Decimal(repr(self.absolute)) + Decimal(repr(self.relative)) * abs(wanted)
        return abs(read - wanted) <= within


def _target(unit: Answer) -> Decimal | None:
    return None if unit.item.target is None else read_number(_SHAPES.apply(unit.item.target))
