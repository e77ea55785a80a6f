"""How fast an answer came once it had begun: per token where tokens are known, and per chunk.

A chunk is what one event of a stream carried, and may hold several tokens. A gap between chunks is therefore no time
per token, and the two have names of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalflow.metric.latency import RequestTime
from evalflow.metric.percentiles import Percentiles, check_percentiles
from evalflow.metric.protocol import Answer
from evalflow.record import Row


@dataclass(frozen=True)
class Tpot(RequestTime):
    """Time per output token (s): (last - first) / (n - k), k being the tokens of the first chunk.

    The k tokens came together at its start, so the n - k others share the time after it.
    """

    figure: ClassVar[str | None] = "lat/tpot_s"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(seconds,)`; None for a row without an answer, of unknown tokens per chunk, or with one chunk."""
        seconds = tpot_s(unit.row)
        return None if seconds is None else (seconds,)


@dataclass(frozen=True)
class OutputTps(Percentiles):
    """Tokens per second of one answer after its first chunk: 1 / TPOT. Its slow answers lie at the low percentiles."""

    figure: ClassVar[str | None] = "tps/output"
    measured_in: ClassVar[str] = "tokens/s"
    timed: ClassVar[bool] = True
    percentiles: tuple[float, ...] = (50.0, 5.0)

    def __post_init__(self) -> None:
        check_percentiles(self.percentiles)

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(tokens per second,)`; None as for TPOT, and where the tokens came in no time."""
        seconds = tpot_s(unit.row)
        return None if not seconds else (1 / seconds,)


@dataclass(frozen=True)
class ChunkGapMean(RequestTime):
    """Percentiles over answers of the answer's mean gap (s) between chunks that carry text."""

    figure: ClassVar[str | None] = "lat/chunk_gap_mean_s"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(seconds,)`; None for a row without an answer or without a gap."""
        gaps = _gaps(unit.row)
        return (sum(gaps) / len(gaps),) if gaps else None


@dataclass(frozen=True)
class ChunkGapMax(RequestTime):
    """Percentiles over answers of the answer's longest gap (s) between chunks that carry text: its worst stall."""

    figure: ClassVar[str | None] = "lat/chunk_gap_max_s"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(seconds,)`; None for a row without an answer or without a gap."""
        gaps = _gaps(unit.row)
        return (max(gaps),) if gaps else None


def tpot_s(row: Row) -> float | None:
    """An answer's time per output token (s); None where it has none, see `Tpot`."""
    first, last = row.times.first_token, row.times.last_token
    if row.status == "error" or first is None or last is None or last < first or row.chunk_tokens is None:
        return None
    after = sum(row.chunk_tokens[1:])
    return (last - first) / after if after > 0 else None


def _gaps(row: Row) -> tuple[float, ...] | None:
    return None if row.status == "error" else row.gaps
