"""How a run is carried out; nothing here can change an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Budget:
    """What a session may spend before the run ends in order, as incomplete; None is no limit.

    `requests` counts every attempt, `tokens` those of prompts and answers that the model counted, `price` what the
    model asks for them, in the unit of its own prices. `wall_s` is since the first arm began.
    """

    requests: int | None = None
    tokens: int | None = None
    price: float | None = None
    wall_s: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and value <= 0:
                raise ValueError(f"{name} is {value}; give a number above 0, or null for no limit")


@dataclass(frozen=True)
class Runner:
    """Where runs are kept (`outputs`), how long things may take (s), and when the driver itself counts as saturated.

    `progress` shows how far it is, on a terminal; `lines` says so anywhere, in a plain line every half minute. The
    `budget` ends a run that has spent enough.
    `timeout_s` is for one answer, and for letting a model go; `start_timeout_s` for its start (training included) and
    for each measurement of it.
    The driver is saturated when the 99th percentile of its event loop's lag exceeds `lag_limit_s`: its time-derived
    figures then measure itself and are unreadable.
    """

    outputs: str = "outputs"
    timeout_s: float = 600.0
    start_timeout_s: float = 3600.0
    lag_limit_s: float = 0.05
    progress: bool | Literal["lines"] = True
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        for name in ("timeout_s", "start_timeout_s", "lag_limit_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; give a number above 0")
        if not self.outputs.strip():
            raise ValueError("outputs is empty; name a folder")
