"""Times of single requests, as the driver saw them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalflow.metric.percentiles import Percentiles, check_percentiles
from evalflow.metric.protocol import Answer
from evalflow.record import Times


@dataclass(frozen=True)
class Ttft(Percentiles):
    """Time to first token (s), from the intended send time where there is one."""

    figure: ClassVar[str | None] = "lat/ttft_s"
    measured_in: ClassVar[str] = "s"
    higher_is_better: ClassVar[bool] = False
    timed: ClassVar[bool] = True
    percentiles: tuple[float, ...] = (50.0, 95.0)

    def __post_init__(self) -> None:
        check_percentiles(self.percentiles)

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(seconds,)`; None for a row without an answer or without the two stamps."""
        return _elapsed(unit, unit.row.times.first_token)


@dataclass(frozen=True)
class E2e(Percentiles):
    """Time from sending to the end of the answer (s), from the intended send time where there is one."""

    figure: ClassVar[str | None] = "lat/e2e_s"
    measured_in: ClassVar[str] = "s"
    higher_is_better: ClassVar[bool] = False
    timed: ClassVar[bool] = True
    percentiles: tuple[float, ...] = (50.0, 95.0)

    def __post_init__(self) -> None:
        check_percentiles(self.percentiles)

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(seconds,)`; None for a row without an answer or without the two stamps."""
        return _elapsed(unit, unit.row.times.end)


def _elapsed(unit: Answer, until: float | None) -> tuple[float, ...] | None:
    start = _start(unit.row.times)
    if unit.row.status == "error" or start is None or until is None or until < start:
        return None  # a stamp before the start is another clock's
    return (until - start,)


def _start(times: Times) -> float | None:
    return times.sent if times.scheduled is None else times.scheduled
