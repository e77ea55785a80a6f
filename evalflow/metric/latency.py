"""Times of single requests, as the driver saw them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalflow.metric.percentiles import Percentiles, check_percentiles
from evalflow.metric.protocol import Answer


@dataclass(frozen=True)
class _Elapsed(Percentiles):
    """Time (s) from the intended send time, where there is one, else from sending, to the stamp `until`."""

    measured_in: ClassVar[str] = "s"
    higher_is_better: ClassVar[bool] = False
    timed: ClassVar[bool] = True
    until: ClassVar[str]
    percentiles: tuple[float, ...] = (50.0, 95.0)

    def __post_init__(self) -> None:
        check_percentiles(self.percentiles)

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(seconds,)`; None for a row without an answer or without the two stamps in this order."""
        times = unit.row.times
        start = times.sent if times.scheduled is None else times.scheduled
        end: float | None = getattr(times, self.until)
        # a stamp before the start is another clock's
        if unit.row.status == "error" or start is None or end is None or end < start:
            return None
        return (end - start,)


@dataclass(frozen=True)
class Ttft(_Elapsed):
    """Time to first token (s)."""

    figure: ClassVar[str | None] = "lat/ttft_s"
    until: ClassVar[str] = "first_token"


@dataclass(frozen=True)
class E2e(_Elapsed):
    """Time to the end of the answer (s)."""

    figure: ClassVar[str | None] = "lat/e2e_s"
    until: ClassVar[str] = "end"
