"""Goodput: the share of the planned requests that were answered within stated limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from evalflow.metric.decoding_time import tpot_s
from evalflow.metric.latency import elapsed_s
from evalflow.metric.protocol import Answer
from evalflow.metric.rate import Rate
from evalflow.record import Row


@dataclass(frozen=True)
class Goodput(Rate):
    """The share of planned requests within every limit that is given (s); a failed one, or one never sent, is not.

    `ttft_s` limits the time to the first token, `tpot_s` the time per output token, `e2e_s` the time to the end. Times
    run from the intended send time, where there is one.
    """

    figure: ClassVar[str | None] = "lat/goodput_share"
    timed: ClassVar[bool] = True
    missing: ClassVar[tuple[float, ...] | None] = (0.0,)
    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None

    def __post_init__(self) -> None:
        limits = self._limits()
        if not limits:
            raise ValueError("ttft_s, tpot_s and e2e_s are all null; give at least one limit (s)")
        for name, limit in limits.items():
            if not 0 < limit < math.inf:
                raise ValueError(f"{name} is {limit}; give a number of seconds above 0")

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(0 or 1,)`; None where a limited time is not known and no other is over its limit."""
        if unit.row.status == "error":
            return (0.0,)
        over, unknown = self._judged(unit.row)
        return (0.0,) if over else None if unknown else (1.0,)

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """Which limits an answer missed (`over`), and which of the limited times are not known (`unknown`)."""
        if unit.row.status == "error":
            return {}
        over, unknown = self._judged(unit.row)
        return {**({"over": over} if over else {}), **({"unknown": unknown} if unknown else {})}

    def _limits(self) -> dict[str, float]:
        given = {"ttft_s": self.ttft_s, "tpot_s": self.tpot_s, "e2e_s": self.e2e_s}
        return {name: limit for name, limit in given.items() if limit is not None}

    def _judged(self, row: Row) -> tuple[list[str], list[str]]:
        """The names of the limits that an answer is over, and of those whose time is not known."""
        taken = {
            "ttft_s": elapsed_s(row.times, "first_token"),
            "tpot_s": tpot_s(row),
            "e2e_s": elapsed_s(row.times, "end"),
        }
        over, unknown = [], []
        for name, limit in self._limits().items():
            seconds = taken[name]
            if seconds is None:
                unknown.append(name)
            elif seconds > limit:
                over.append(name)
        return over, unknown
