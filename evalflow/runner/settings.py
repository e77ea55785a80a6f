"""How a run is carried out; nothing here can change an answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Runner:
    """Where runs are kept, how long a request may take (s), and when the driver itself counts as saturated.

    The driver is saturated when the 99th percentile of its event loop's lag exceeds `lag_limit_s`: its time-derived
    figures then measure itself and are unreadable.
    """

    outputs: str = "outputs"
    timeout_s: float = 600.0
    lag_limit_s: float = 0.05
    progress: bool = True

    def __post_init__(self) -> None:
        if self.timeout_s <= 0:
            raise ValueError(f"timeout_s is {self.timeout_s}; give a number above 0")
        if self.lag_limit_s <= 0:
            raise ValueError(f"lag_limit_s is {self.lag_limit_s}; give a number above 0")
        if not self.outputs.strip():
            raise ValueError("outputs is empty; name a folder")
