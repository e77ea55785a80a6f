"""Speed by the fixed-length protocol: one prompt pass, then a fixed number of tokens whatever they say.

An answer's own time depends on how long the answer happens to be; these two figures do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalflow.metric.percentiles import Percentiles, check_percentiles
from evalflow.metric.protocol import Grain
from evalflow.record import Probe


@dataclass(frozen=True)
class FixedTtft(Percentiles):
    """Time of the prompt pass up to the first token (s)."""

    grain: ClassVar[Grain] = "probe"
    probe: ClassVar[str] = "fixed_length"
    figure: ClassVar[str | None] = "lat/fixed_ttft_s"
    measured_in: ClassVar[str] = "s"
    clocked: ClassVar[bool] = True
    higher_is_better: ClassVar[bool] = False
    percentiles: tuple[float, ...] = (50.0,)

    def __post_init__(self) -> None:
        check_percentiles(self.percentiles)

    def stats(self, unit: Probe) -> tuple[float, ...] | None:
        """`(seconds,)`."""
        return (unit.values["ttft_s"],)


@dataclass(frozen=True)
class FixedDecode(Percentiles):
    """Tokens per second after the first token, one stream."""

    grain: ClassVar[Grain] = "probe"
    probe: ClassVar[str] = "fixed_length"
    figure: ClassVar[str | None] = "tps/fixed_decode"
    measured_in: ClassVar[str] = "tokens/s"
    clocked: ClassVar[bool] = True
    percentiles: tuple[float, ...] = (50.0,)

    def __post_init__(self) -> None:
        check_percentiles(self.percentiles)

    def stats(self, unit: Probe) -> tuple[float, ...] | None:
        """`(tokens per second,)`; None for a repeat too short to time."""
        seconds = unit.values["decode_s"]
        return (unit.values["tokens"] / seconds,) if seconds > 0 else None
