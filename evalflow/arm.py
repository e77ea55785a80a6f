"""An arm: one model under one set of conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evalflow.record import Cache


@dataclass(frozen=True)
class Arm:
    """What differs between arms of one experiment.

    `cache` is the regime: `cold` (nothing is warmed), `isolated` (every request apart) or `warm` (group by group).
    A closed loop keeps `concurrency` requests in flight. With a `rate` (requests per second) it is an open loop:
    requests are sent at their `arrivals` whatever is still in flight, and their times count from then.
    `hit_floor` and `hit_ceiling` are what the regime claims of the share of rows that hit the cache: unless given, at
    least 0.9 of a warm arm's, at most 0.1 of a cold one's, none of an isolated one's.

    Where texts are scored, an arm with a `reference` is walked in lockstep with that arm's model, under that arm's
    scoring; one without is scored by itself.

    `model`, `decoding` and `scoring` are laid over the experiment's own, key by key. Each of `seeds` is a full pass
    over the items. A `control` is there to fail: gates that name no arm pass over it. An `optional` arm whose model
    cannot be had is skipped, and said so; any other makes the run incomplete.
    """

    model: Mapping[str, Any] = field(default_factory=dict)
    decoding: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)
    concurrency: int = 1
    rate: float | None = None
    arrivals: Literal["poisson", "constant"] = "poisson"
    cache: Cache = "cold"
    hit_floor: float | None = None
    hit_ceiling: float | None = None
    scoring: Mapping[str, Any] = field(default_factory=dict)
    reference: str | None = None
    control: bool = False
    optional: bool = False

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds is {list(self.seeds)}; give at least one, each once")
        if self.concurrency < 1:
            raise ValueError(f"concurrency is {self.concurrency}; give at least 1")
        if self.rate is not None and self.rate <= 0:
            raise ValueError(f"rate is {self.rate}; give requests per second above 0, or null for a closed loop")
        if self.rate is not None and self.cache == "warm":
            raise ValueError("rate is given to a warm arm, whose calls wait for each other; use cold or isolated")
        for name in ("hit_floor", "hit_ceiling"):
            share = getattr(self, name)
            if share is not None and not 0 <= share <= 1:
                raise ValueError(f"{name} is {share}; give a share from 0 to 1")
        if self.cache == "warm" and self.hit_ceiling is not None:
            raise ValueError("hit_ceiling is given to a warm arm, which is there to hit; give hit_floor")
        if self.cache != "warm" and self.hit_floor is not None:
            raise ValueError(f"hit_floor is given to a {self.cache} arm, which is there to miss; give hit_ceiling")

    @property
    def hits_between(self) -> tuple[float, float]:
        """The least and the greatest share of rows that hit the cache under which the arm is what it claims."""
        if self.cache == "warm":
            return (0.9 if self.hit_floor is None else self.hit_floor, 1.0)
        least = {"cold": 0.1, "isolated": 0.0}[self.cache]
        return (0.0, least if self.hit_ceiling is None else self.hit_ceiling)
