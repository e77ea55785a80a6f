"""An interval: two ends, the level they were made for, and how."""

from __future__ import annotations

from dataclasses import dataclass

from evalflow.numeric.undefined import finite


@dataclass(frozen=True)
class Interval:
    """A two-sided interval, in the unit of its figure; each end leaves out (1 - level) / 2.

    `method` is the name that a report prints.

    Raises:
        Undefined: "non-finite result", where an end is NaN or infinite.
    """

    low: float
    high: float
    level: float
    method: str

    def __post_init__(self) -> None:
        finite(self.low)
        finite(self.high)
        assert self.low <= self.high, f"the ends are the wrong way round: {self.low} > {self.high}"
