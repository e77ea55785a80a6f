"""What keeps a client from asking too much: its own rate limits, and a breaker for a seat that is gone."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from evalflow.model.seat.failure import UNREACHED, SeatError

LEAST_PER_MINUTE = 0.01


@dataclass(frozen=True)
class RateLimits:
    """`requests_per_minute` and `tokens_per_minute` (in and out), evenly spread; None is no limit."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and value < LEAST_PER_MINUTE:
                raise ValueError(f"{name} is {value}; give at least {LEAST_PER_MINUTE:g}, or null for no limit")


class Pace:
    """Lets requests go no faster than the limits allow."""

    def __init__(self, limits: RateLimits) -> None:
        self._limits = limits
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for this request's turn."""
        per_minute = self._limits.requests_per_minute
        if per_minute is None and self._limits.tokens_per_minute is None:
            return
        now = time.monotonic()
        turn = max(now, self._next)
        self._next = turn + (60.0 / per_minute if per_minute is not None else 0.0)
        if turn > now:
            await asyncio.sleep(turn - now)

    def spent(self, tokens: int) -> None:
        """Count the tokens of a finished request: the next turn comes later by their share of a minute."""
        if self._limits.tokens_per_minute is not None:
            self._next = max(time.monotonic(), self._next) + 60.0 * tokens / self._limits.tokens_per_minute


@dataclass(frozen=True)
class Breaker:
    """After so many `failures` in a row that say the seat is gone, nothing is sent for `cool_off_s`."""

    failures: int = 8
    cool_off_s: float = 10.0

    def __post_init__(self) -> None:
        if self.failures < 1:
            raise ValueError(f"failures is {self.failures}; give at least 1")
        if self.cool_off_s <= 0:
            raise ValueError(f"cool_off_s is {self.cool_off_s}; give a number above 0")


class Circuit:
    """Whether a seat is worth asking. When the cool-off is over, one request tries it."""

    def __init__(self, breaker: Breaker) -> None:
        self._breaker = breaker
        self._failed = 0
        self._left_alone_until = 0.0
        self.last: SeatError | None = None

    def check(self) -> None:
        """Refuse to ask a seat that is taken for gone.

        Raises:
            SeatError: `seat_down`.
        """
        if self._failed < self._breaker.failures:
            return
        now = time.monotonic()
        if now >= self._left_alone_until:
            self._left_alone_until = now + self._breaker.cool_off_s  # this one tries; the next may after another while
            return
        raise SeatError("seat_down", f"not asked: the seat failed {self._failed} times in a row, last: {self.last}")

    def answered(self) -> None:
        """The seat spoke, whatever it said."""
        self._failed = 0

    def failed(self, failure: SeatError) -> None:
        """Count a failure, where it is one that says the seat is gone."""
        if failure.kind not in UNREACHED:
            self.answered()
            return
        self._failed += 1
        self.last = failure
        if self._failed == self._breaker.failures:
            self._left_alone_until = time.monotonic() + self._breaker.cool_off_s
