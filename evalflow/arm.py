"""An arm: one model under one set of conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Cache = Literal["cold", "isolated", "warm"]


@dataclass(frozen=True)
class Arm:
    """What differs between arms of one experiment.

    `model` and `decoding` are laid over the experiment's own, key by key. Each of `seeds` is a full pass over the
    items. A `control` is there to fail: gates that name no arm pass over it. An `optional` arm whose model cannot be
    had is skipped, and said so; any other makes the run incomplete.
    """

    model: Mapping[str, Any] = field(default_factory=dict)
    decoding: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)
    concurrency: int = 1
    cache: Cache = "cold"
    control: bool = False
    optional: bool = False

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds is {list(self.seeds)}; give at least one, each once")
        if self.concurrency < 1:
            raise ValueError(f"concurrency is {self.concurrency}; give at least 1")
