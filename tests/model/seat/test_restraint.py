"""What keeps a client from asking too much."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evalflow.model.seat import restraint
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.restraint import Breaker, Circuit, Pace, RateLimits

GONE = SeatError("connect", "no connection")


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(restraint.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(restraint.asyncio, "sleep", self._sleep)

    async def _sleep(self, wait_s: float) -> None:
        self.now += wait_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def turns(pace: Pace, clock: Clock, times: int) -> list[float]:
    """When each of some turns came (s after the first)."""

    async def act() -> list[float]:
        came = []
        for _ in range(times):
            await pace.turn()
            came.append(clock.now)
        return came

    came = asyncio.run(act())
    return [round(at - came[0], 6) for at in came]


def test_requests_are_spread_over_the_minute(clock: Clock) -> None:
    """Thirty a minute are one every 2 s, the first at once."""
    assert turns(Pace(RateLimits(requests_per_minute=30.0)), clock, 4) == [0.0, 2.0, 4.0, 6.0]


def test_without_limits_nobody_waits(clock: Clock) -> None:
    """As many as wish, at once."""
    assert turns(Pace(RateLimits()), clock, 3) == [0.0, 0.0, 0.0]


def test_time_that_was_not_used_is_not_saved(clock: Clock) -> None:
    """After a pause there is no burst."""
    pace = Pace(RateLimits(requests_per_minute=30.0))
    turns(pace, clock, 1)
    clock.now += 60.0
    assert turns(pace, clock, 3) == [0.0, 2.0, 4.0]


def test_tokens_put_the_next_turn_off(clock: Clock) -> None:
    """Of 600 tokens a minute, an answer of 50 is worth 5 s; one of unknown length nothing."""
    pace = Pace(RateLimits(tokens_per_minute=600.0))
    turns(pace, clock, 1)
    pace.spent(50)
    began = clock.now
    turns(pace, clock, 1)
    assert clock.now - began == pytest.approx(5.0)
    pace.spent(0)
    assert turns(pace, clock, 2) == [0.0, 0.0]


def test_requests_at_once_wait_for_each_other() -> None:
    """Six at once at 1200 a minute end no sooner than five gaps of 50 ms, in the order that they came."""

    async def act() -> tuple[float, list[int]]:
        pace, order = Pace(RateLimits(requests_per_minute=1200.0)), []
        loop = asyncio.get_running_loop()
        began = loop.time()

        async def one(number: int) -> None:
            await pace.turn()
            order.append(number)

        await asyncio.gather(*(one(number) for number in range(6)))
        return loop.time() - began, order

    took, order = asyncio.run(act())
    assert took >= 0.249
    assert order == [0, 1, 2, 3, 4, 5]


def test_the_breaker_opens_tries_once_and_closes(clock: Clock) -> None:
    """After 3 failures in a row nothing is sent for 10 s; then one tries, and its answer lets all others through."""
    circuit = Circuit(Breaker(failures=3, cool_off_s=10.0))
    for _ in range(2):
        circuit.failed(GONE)
        circuit.check()
    circuit.failed(GONE)
    with pytest.raises(SeatError, match="the seat failed 3 times in a row, last: no connection") as refused:
        circuit.check()
    assert (refused.value.kind, refused.value.may_pass) == ("seat_down", False)
    clock.now += 10.0
    circuit.check()
    with pytest.raises(SeatError, match="not asked"):
        circuit.check()
    circuit.answered()
    circuit.check()


def test_a_failed_trial_keeps_it_open(clock: Clock) -> None:
    """For another while, after which the next one tries."""
    circuit = Circuit(Breaker(failures=1, cool_off_s=10.0))
    circuit.failed(GONE)
    clock.now += 10.0
    circuit.check()
    circuit.failed(GONE)
    clock.now += 9.0
    with pytest.raises(SeatError, match="not asked"):
        circuit.check()
    clock.now += 1.0
    circuit.check()


def test_a_seat_that_speaks_is_not_gone(clock: Clock) -> None:
    """Whatever it says, be it an error: it was reached, and the count begins anew."""
    circuit = Circuit(Breaker(failures=2))
    for failure in (GONE, SeatError("http_500", "no", 500), GONE, SeatError("stalled", "no"), GONE):
        circuit.failed(failure)
        circuit.check()


@pytest.mark.parametrize(
    ("kind", "wrong", "said"),
    [
        (RateLimits, {"requests_per_minute": 0.0}, "requests_per_minute is 0.0; give at least 0.01"),
        (RateLimits, {"tokens_per_minute": -1.0}, "tokens_per_minute is -1.0"),
        (Breaker, {"failures": 0}, "failures is 0; give at least 1"),
        (Breaker, {"cool_off_s": 0.0}, "cool_off_s is 0.0"),
    ],
)
def test_limits_that_are_none_are_refused(kind: Any, wrong: dict[str, Any], said: str) -> None:
    """None is no limit; 0 would let nothing through."""
    with pytest.raises(ValueError, match=said):
        kind(**wrong)
