"""Scores that came with recorded answers: another tool's own, read as figures of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from evalflow.metric.protocol import Answer, Metric
from evalflow.metric.rate import Rate


@dataclass(frozen=True)
class GivenScore(Rate):
    """The mean of a recorded score from 0 (wrong) to 1 (right), named `score`; Wilson's interval, as of any share.

    A row that came without it is excluded. A score beyond 0 and 1 is no share, and `given_number` reads it.
    """

    score: str

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(the score,)`; None for a row that came without it.

        Raises:
            ValueError: it is beyond 0 and 1.
        """
        given = _given(unit, self.score)
        if given is not None and not 0 <= given[0] <= 1:
            raise ValueError(
                f"score {self.score} is {given[0]:g}, beyond 0 and 1; read it by given_number or given_loss"
            )
        return given

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """What the answer came with."""
        return _detail(unit)


@dataclass(frozen=True)
class GivenNumber(Metric):
    """The mean of a recorded score of any size, named `score`, with a t interval; higher is better."""

    score: str

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(the score,)`; None for a row that came without it."""
        return _given(unit, self.score)

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """What the answer came with."""
        return _detail(unit)


@dataclass(frozen=True)
class GivenLoss(GivenNumber):
    """The same of a score of which lower is better."""

    higher_is_better: ClassVar[bool] = False


def _given(unit: Answer, name: str) -> tuple[float, ...] | None:
    given = unit.row.given or {}
    return (given[name],) if name in given else None


def _detail(unit: Answer) -> Mapping[str, Any]:
    return {"expected": unit.item.target, "given": dict(unit.row.given or {})}
