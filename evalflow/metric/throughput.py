"""What a seat did per second under the load that an arm gave it: one number of the whole arm."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from evalflow.metric.protocol import Answer, Clusters, Metric, Stack
from evalflow.numeric.interval import Interval
from evalflow.numeric.undefined import Undefined
from evalflow.record import Row

_UNKNOWN = -1.0  # a count of this is none: the figure is then undefined, and not too small


class _PerSecond(Metric):
    """A count over requests / (last end - first sending), idle times and failed requests inside that window."""

    timed: ClassVar[bool] = True
    averages_seeds: ClassVar[bool] = False
    paired: ClassVar[bool] = False
    one_session: ClassVar[bool] = True

    @abstractmethod
    def counted(self, row: Row) -> float | None:
        """What an answered request adds; None where that is not known."""

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(count, sent, end)`, the count of a failed request being 0; None without the two stamps in this order."""
        row = unit.row
        if row.times.sent is None or row.times.end is None or row.times.end < row.times.sent:
            return None
        counted = 0.0 if row.status == "error" else self.counted(row)
        return (_UNKNOWN if counted is None else counted, row.times.sent, row.times.end)

    def value(self, stack: Stack) -> float:
        """The sum of the counts per second of the window.

        Raises:
            Undefined: a count is not known, or the window has no length.
        """
        unknown = int((stack[:, 0] == _UNKNOWN).sum())
        if unknown:
            raise Undefined(f"the tokens of {unknown} of {len(stack)} requests are not known")
        window_s = float(stack[:, 2].max() - stack[:, 1].min())
        if window_s <= 0:
            raise Undefined("the requests took no time")
        return float(stack[:, 0].sum()) / window_s

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None: one window is one measurement."""
        return None

    def point(self, stats: tuple[float, ...]) -> float:
        """0: no single request has a share in it, so none is worse than another."""
        return 0.0


@dataclass(frozen=True)
class SystemTps(_PerSecond):
    """Output tokens per second of all answered requests together."""

    figure: ClassVar[str | None] = "tps/system"
    measured_in: ClassVar[str] = "tokens/s"

    def counted(self, row: Row) -> float | None:
        """Its output tokens."""
        return None if row.tokens_out is None else float(row.tokens_out)


@dataclass(frozen=True)
class RequestRate(_PerSecond):
    """Answered requests per second."""

    figure: ClassVar[str | None] = "tps/requests"
    measured_in: ClassVar[str] = "requests/s"

    def counted(self, row: Row) -> float | None:
        """1."""
        return 1.0
