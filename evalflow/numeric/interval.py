"""An interval: two ends, the level they were made for, and how."""

from __future__ import annotations

from dataclasses import dataclass

from evalflow.numeric.undefined import finite


@dataclass(frozen=True)
class Interval:
    """A two-sided interval, in the unit of its figure; each end leaves out (1 - level) / 2.

    `method` is the name that a report prints. `degenerate` marks one that has no width because its data have no
    spread: it says nothing of how sure the figure is, and a report must not print it as +/- 0.

    Raises:
        Undefined: "non-finite result", where an end is NaN or infinite.
    """

    low: float
    high: float
    level: float
    method: str
    degenerate: bool = False

    def __post_init__(self) -> None:
        finite(self.low)
        finite(self.high)
        assert self.low <= self.high, f"the ends are the wrong way round: {self.low} > {self.high}"
