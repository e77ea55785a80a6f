"""How long a seat is waited for, and when it is asked again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from evalflow.model.seat.failure import FAILURES, SeatError
from evalflow.model.seat.patience import Retries, Timeouts, retry_after

BUSY = SeatError("http_503", "busy", 503)


def test_what_may_pass_is_tried_as_often_as_told() -> None:
    """Three attempts are two more; a refusal that will stay is never tried again."""
    assert [Retries().again(BUSY, attempt) for attempt in (1, 2, 3)] == [True, True, False]
    assert not Retries().again(SeatError("http_400", "no", 400), 1)


@pytest.mark.parametrize("kind", sorted({*FAILURES} - {"http", "connect", "connect_timeout", "reset"}))
def test_nothing_is_tried_again_once_an_answer_may_have_begun(kind: str) -> None:
    """Nor what the seat's own words, a certificate or the breaker have decided."""
    assert not Retries(attempts=9).again(SeatError(kind, "x"), 1)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_statuses_that_pass(status: int) -> None:
    """A seat that is busy or in trouble may answer later."""
    assert SeatError(f"http_{status}", "x", status).may_pass


@pytest.mark.parametrize("status", [307, 400, 401, 403, 404, 413, 422, 501])
def test_statuses_that_stay(status: int) -> None:
    """What is wrong with the request stays wrong."""
    assert not SeatError(f"http_{status}", "x", status).may_pass


def test_a_lost_connection_always_gets_a_second_attempt() -> None:
    """At once, even where nothing else is tried again: it may have been closed while it lay idle."""
    lost = SeatError("reset", "x")
    assert [Retries(attempts=1).again(lost, attempt) for attempt in (1, 2)] == [True, False]
    assert Retries().wait_s(lost, 1, "a") == 0.0
    assert Retries().wait_s(lost, 2, "a") > 0.0


def test_waits_double_up_to_a_cap() -> None:
    """Between half and the whole of 0.5, 1, 2, 4 and then 4 s again."""
    retries = Retries(attempts=9, base_s=0.5, cap_s=4.0)
    waits = [retries.wait_s(BUSY, attempt, "a/1") for attempt in (1, 2, 3, 4, 5)]
    for wait, longest in zip(waits, (0.5, 1.0, 2.0, 4.0, 4.0), strict=True):
        assert longest / 2 <= wait <= longest


def test_the_chance_in_a_wait_is_the_items_own() -> None:
    """The same item waits the same in every run; others wait otherwise, and do not come back together."""
    waits = [Retries().wait_s(BUSY, 1, f"item {number}/7") for number in range(20)]
    assert waits == [Retries().wait_s(BUSY, 1, f"item {number}/7") for number in range(20)]
    assert len(set(waits)) == 20


def test_a_seat_is_believed_when_it_says_when() -> None:
    """Up to the cap."""
    assert Retries().wait_s(SeatError("http_429", "x", 429, wait_s=3.0), 1, "a") == 3.0
    assert Retries(cap_s=20.0).wait_s(SeatError("http_429", "x", 429, wait_s=3600.0), 1, "a") == 20.0
    assert Retries().wait_s(SeatError("http_429", "x", 429, wait_s=0.0), 1, "a") == 0.0


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        (None, None),
        ("7", 7.0),
        ("0.25", 0.25),
        ("-3", 0.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        ("Sun, 29 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 29 Nov 2026 13:00:30 +0100", 30.0),
        ("Sun, 29 Nov 2026 11:00:00 GMT", 0.0),
    ],
)
def test_retry_after_in_seconds_or_as_a_date(value: str | None, wait_s: float | None) -> None:
    """A date that is past asks for no wait; what is neither asks for nothing."""
    assert retry_after(value, datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)) == wait_s


def test_a_failure_after_some_attempts_says_so() -> None:
    """In words and as a number."""
    failed = BUSY.after(3)
    assert (str(failed), failed.attempts, failed.kind, failed.status) == ("busy (after 3 attempts)", 3, "http_503", 503)
    assert str(BUSY.after(1)) == "busy"


@pytest.mark.parametrize("name", ["connect_s", "first_token_s", "between_tokens_s", "total_s"])
def test_limits_that_are_none_are_refused(name: str) -> None:
    """A limit of 0 would end everything."""
    with pytest.raises(ValueError, match=rf"^{name} is 0; give a number above 0"):
        Timeouts(**{name: 0})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"attempts": 0}, "attempts is 0"), ({"base_s": -1.0}, "base_s is -1"), ({"cap_s": 0.1}, "cap_s 0.1")],
)
def test_retries_that_are_none_are_refused(wrong: dict[str, Any], said: str) -> None:
    """A request is sent at least once, and the longest wait is no shorter than the first."""
    with pytest.raises(ValueError, match=said):
        Retries(**wrong)
