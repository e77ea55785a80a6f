"""Times of single requests, as the driver saw them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalflow.metric.percentiles import Percentiles, check_percentiles
from evalflow.metric.protocol import Answer
from evalflow.record import Times


@dataclass(frozen=True)
class RequestTime(Percentiles):
    """Percentiles of a time (s) of single requests, lower being better."""

    measured_in: ClassVar[str] = "s"
    higher_is_better: ClassVar[bool] = False
    timed: ClassVar[bool] = True
    percentiles: tuple[float, ...] = (50.0, 95.0)

    def __post_init__(self) -> None:
        check_percentiles(self.percentiles)


@dataclass(frozen=True)
class Elapsed(RequestTime):
    """Time (s) from the intended send time, where there is one, else from sending, to the stamp `until`."""

    until: ClassVar[str]

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(seconds,)`; None for a row without an answer or without the two stamps in this order."""
        seconds = None if unit.row.status == "error" else elapsed_s(unit.row.times, self.until)
        return None if seconds is None else (seconds,)


@dataclass(frozen=True)
class Ttft(Elapsed):
    """Time to first token (s), be it one of reasoning."""

    figure: ClassVar[str | None] = "lat/ttft_s"
    until: ClassVar[str] = "first_token"


@dataclass(frozen=True)
class FirstVisible(Elapsed):
    """Time to the first token that a reader sees (s): reasoning comes before it."""

    figure: ClassVar[str | None] = "lat/first_visible_s"
    until: ClassVar[str] = "first_visible"


@dataclass(frozen=True)
class E2e(Elapsed):
    """Time to the end of the answer (s)."""

    figure: ClassVar[str | None] = "lat/e2e_s"
    until: ClassVar[str] = "end"


@dataclass(frozen=True)
class DispatchDelay(RequestTime):
    """How late a request was sent (s), by its intended send time: the driver's own wait, in every time beside it.

    Only an open loop intends a time; of a closed one it is undefined.
    """

    figure: ClassVar[str | None] = "lat/dispatch_delay_s"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(seconds,)`, of a failed request too; None without the two stamps in this order."""
        seconds = None if unit.row.times.scheduled is None else elapsed_s(unit.row.times, "sent")
        return None if seconds is None else (seconds,)


def elapsed_s(times: Times, until: str) -> float | None:
    """Time (s) from the intended send time, where there is one, else from sending, to the stamp named `until`.

    None without the two stamps, or where the end lies before the start: it is then another clock's.
    """
    start = times.sent if times.scheduled is None else times.scheduled
    end: float | None = getattr(times, until)
    return None if start is None or end is None or end < start else end - start
