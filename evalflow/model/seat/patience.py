"""How long a seat is waited for, and how often it is asked again."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from evalflow.model.seat.failure import SeatError


@dataclass(frozen=True)
class Timeouts:
    """Limits of one attempt (s).

    `connect_s` is to connect, `first_token_s` from sending to the first token, `between_tokens_s` between chunks, and
    `total_s` for all of it.
    """

    connect_s: float = 10.0
    first_token_s: float = 120.0
    between_tokens_s: float = 60.0
    total_s: float = 300.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value <= 0:
                raise ValueError(f"{name} is {value}; give a number above 0")


@dataclass(frozen=True)
class Retries:
    """How often a request is sent at most (`attempts`), and the wait before each further time (s).

    The wait doubles from `base_s` up to `cap_s`, less up to half of it by chance; a seat that says when it wants to be
    asked again (Retry-After) is believed, up to `cap_s`.
    """

    attempts: int = 3
    base_s: float = 0.5
    cap_s: float = 20.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts is {self.attempts}; give at least 1")
        if self.base_s < 0 or self.cap_s < self.base_s:
            raise ValueError(f"base_s is {self.base_s} and cap_s {self.cap_s}; give 0 <= base_s <= cap_s")

    def again(self, failure: SeatError, attempt: int) -> bool:
        """Whether to send once more after `attempt` times; a connection lost before any byte always gets a second."""
        return failure.may_pass and (attempt < self.attempts or (failure.kind == "reset" and attempt == 1))

    def wait_s(self, failure: SeatError, attempt: int, seed: str) -> float:
        """How long to wait before the next time (s). The chance in it is drawn from `seed` and the attempt alone."""
        if failure.kind == "reset" and attempt == 1:
            return 0.0
        if failure.wait_s is not None:
            return min(failure.wait_s, self.cap_s)
        longest = min(self.base_s * 2.0 ** (attempt - 1), self.cap_s)
        return longest * random.Random(f"{seed}/{attempt}").uniform(0.5, 1.0)


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """The wait (s) that a Retry-After header asks for, as seconds or as a date; None where it asks for none."""
    if value is None:
        return None
    try:
        seconds = float(value)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())
