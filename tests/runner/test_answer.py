"""One request becomes one row: what the model says of it, what is ours to say, and how it failed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from evalflow.errors import DataError, ModelError
from evalflow.model.protocol import Model
from evalflow.record import Completion, Decoding, Item, Request, Row, Times, Token, to_json
from evalflow.runner.answer import Asked, ask
from evalflow.runner.walk import Step
from evalflow.stored_record import row_from_json

STEP = Step(Item("a", "p", kind="k", cluster="c", prefix_group="g"), 3, Request("a", "p", Decoding(), 42))
ASKED = Asked("run", "session", "arm", 5.0)
SOUND = Completion("right", "stop")


@dataclass(frozen=True)
class Doing(Model):
    """Does what it is told, a moment after it was asked."""

    what: Callable[[], Completion]

    def identity(self) -> Mapping[str, Any]:
        return {"model": "doing"}

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(0.01)
        return self.what()


@dataclass(frozen=True)
class Paced(Doing):
    """The same, by a model that may hold requests back."""

    paced: ClassVar[bool] = True


def asked(
    what: Callable[[], Completion], due: float | None = None, kind: type[Doing] = Doing
) -> tuple[Row, Completion | None]:
    return asyncio.run(ask(STEP, kind(what), ASKED, due))


def failing(fault: BaseException) -> Callable[[], Completion]:
    def fail() -> Completion:
        raise fault

    return fail


class SeatBusyError(ModelError):
    """A model's own class of failure."""


@pytest.mark.parametrize(
    ("fault", "kind", "attempts"),
    [
        (ModelError("no luck", "http_429", 3), "http_429", 3),
        (SeatBusyError("no luck", "http_503"), "http_503", 1),
        (SeatBusyError("no luck"), "SeatBusyError", 1),
        (ModelError("no luck"), "ModelError", 1),
        (DataError("no luck"), "DataError", 1),
        (ValueError("no luck"), "ValueError", 1),
    ],
)
def test_a_failures_kind_and_attempts_reach_the_row(fault: Exception, kind: str, attempts: int) -> None:
    """A model that sorts its failures is believed; any other failure goes by its class, and was one attempt."""
    row, completion = asked(failing(fault))
    assert row.error is not None and completion is None
    assert (row.status, row.error.kind, row.error.message, row.draft) == ("error", kind, "no luck", None)
    assert (row.error.attempts, row.attempts) == (attempts, attempts)


def test_a_kind_of_somebody_elses_error_is_not_ours() -> None:
    """An exception of another library may have a `kind` that means something else, or is no text at all."""
    odd = ValueError("no luck")
    odd.kind, odd.attempts = 5, "many"  # type: ignore[attr-defined]
    row, _ = asked(failing(odd))
    assert row.error is not None
    assert (row.error.kind, row.error.attempts, row.attempts) == ("ValueError", 1, 1)


def test_no_answer_in_time_is_a_timeout() -> None:
    """It was one attempt, and it was sent and given up at known times."""
    begun = time.monotonic()
    row, completion = asyncio.run(ask(STEP, Doing(lambda: SOUND), replace(ASKED, timeout_s=0.001)))
    assert row.error is not None and completion is None
    assert (row.error.kind, row.error.message) == ("timeout", "no answer in 0.001 s")
    assert row.times.sent is not None and row.times.end is not None
    assert begun <= row.times.sent <= row.times.end <= time.monotonic()


def test_an_answer_is_kept_whole() -> None:
    """Every count, chunk and token that the model gave is in the row, and comes back from the file."""
    given = Completion(
        "a b",
        "stop",
        tokens_in=7,
        tokens_out=5,
        tokens_source="usage",
        cached_tokens=4,
        cached_source="usage",
        gaps=(0.5,),
        attempts=2,
        chunk_tokens=(1, 4),
        reasoning_tokens=3,
        tokens=(Token("a", -0.5, 1.5), Token(" b", -0.25)),
    )
    row, completion = asked(lambda: given)
    assert completion is given
    same = set(vars(given)) - {"text", "times"}
    assert {name: getattr(row, name) for name in same} == {name: getattr(given, name) for name in same}
    assert (row.status, row.draft, row.served) == ("ok", "a b", "a b")
    assert row_from_json(to_json(row), "rows.jsonl:1") == row


def test_a_row_says_whose_it_is() -> None:
    """Run, session and arm are the asker's, groupings the item's, and the seed is beside the one that was sent."""
    row, _ = asked(lambda: SOUND)
    assert (row.run_id, row.session, row.arm, row.item_id) == ("run", "session", "arm", "a")
    assert (row.kind, row.cluster, row.prefix_group, row.seed, row.seed_sent) == ("k", "c", "g", 3, 42)


@pytest.mark.parametrize(
    ("text", "finish", "status"),
    [
        ("x", "stop", "ok"),
        ("x", None, "ok"),
        ("x", "content_filter", "ok"),
        (" \n", "stop", "empty"),
        ("", "tool_calls", "empty"),
        ("x", "length", "truncated"),
        ("", "length", "truncated"),
    ],
)
def test_how_an_answer_ended_is_its_status(text: str, finish: Any, status: str) -> None:
    """Cut at its limit is truncated even where nothing was said; blanks are empty; the model's reason is kept."""
    row, _ = asked(lambda: Completion(text, finish))
    assert (row.status, row.finish_reason, row.draft) == (status, finish, text)


@pytest.mark.parametrize("paced", [True, False])
def test_the_time_of_sending_is_the_models_own_only_where_it_may_hold_back(paced: bool) -> None:
    """A paced model knows better than we do when it sent; no other can make itself fast by stamping late."""
    stamps: list[float] = []

    def late() -> Completion:
        stamps.append(time.monotonic())
        return replace(SOUND, times=Times(sent=stamps[0], first_token=stamps[0], end=stamps[0]))

    begun = time.monotonic()
    row, _ = asked(late, kind=Paced if paced else Doing)
    assert row.times.first_token == stamps[0]
    assert stamps[0] - begun >= 0.01  # it was asked then
    assert (row.times.sent == stamps[0]) is paced
    assert row.times.sent is not None and begun <= row.times.sent <= stamps[0]
    assert row.times.end is not None and stamps[0] <= row.times.end <= time.monotonic()


def test_a_model_without_stamps_gets_ours() -> None:
    """When it was asked and when it answered; what lies between nobody knows."""
    begun = time.monotonic()
    row, _ = asked(lambda: SOUND)
    known = {name: stamp for name, stamp in vars(row.times).items() if stamp is not None}
    assert set(known) == {"sent", "end"}
    assert begun <= known["sent"] < known["end"] <= time.monotonic()


@pytest.mark.parametrize("stamp", ["scheduled", "sent", "headers", "first_byte", "first_token", "last_token", "end"])
def test_stamps_of_another_clock_are_all_dropped(stamp: str) -> None:
    """One that lies outside the request spoils the others, gaps and chunks too; the row says so and keeps its text."""

    def odd() -> Completion:
        now = time.monotonic()
        times = replace(Times(sent=now, first_token=now, end=now), **{stamp: now - 3600.0})
        return replace(SOUND, times=times, gaps=(0.1,), chunk_tokens=(1, 1), tokens_out=2)

    begun = time.monotonic()
    row, _ = asked(odd)
    assert (row.status, row.draft, row.tokens_out) == ("ok", "right", 2)
    assert (row.gaps, row.chunk_tokens) == (None, None)
    assert row.detail == {"times": {"dropped": "the model's stamps are of another clock"}}
    known = {name: value for name, value in vars(row.times).items() if value is not None}
    assert set(known) == {"sent", "end"}
    assert begun <= known["sent"] <= known["end"]


def test_when_a_request_was_due_is_the_loops_to_say() -> None:
    """Whatever the model stamps, and on error rows too."""

    def stamped() -> Completion:
        now = time.monotonic()
        return replace(SOUND, times=Times(scheduled=now, sent=now, end=now))

    assert asked(stamped, due=5.0)[0].times.scheduled == 5.0
    assert asked(failing(ModelError("no luck")), due=5.0)[0].times.scheduled == 5.0
    assert asked(stamped)[0].times.scheduled is None


@pytest.mark.parametrize(
    "odd",
    [
        Completion("x", "stop", chunk_tokens=(1, "2")),  # type: ignore[arg-type]
        Completion("x", "stop", reasoning_tokens=1.5),  # type: ignore[arg-type]
        Completion("x", "stop", tokens=(Token("x", "low"),)),  # type: ignore[arg-type]
        Completion("x", "stop", tokens=(("x", -0.5),)),  # type: ignore[arg-type]
        Completion("x", "stop", tokens=(Token("x", float("nan")),)),
        Completion("x", "gone"),  # type: ignore[arg-type]
    ],
    ids=range(6),
)
def test_an_answer_that_could_not_be_read_back_is_an_error(odd: Completion) -> None:
    """It is refused before it is stored, with what is wrong with it."""
    row, completion = asked(lambda: odd)
    assert row.error is not None and completion is None
    assert row.error.kind == "ModelError"
    assert row.error.message.startswith("the completion cannot be stored (")
    assert row_from_json(to_json(row), "rows.jsonl:1") == row


def test_a_kind_that_is_no_text_spoils_no_file() -> None:
    """A model may give any object as its kind and attempts; the row can be stored and read all the same."""
    row, _ = asked(failing(ModelError("no luck", kind=429, attempts="3")))  # type: ignore[arg-type]
    assert row.status == "error"
    assert row_from_json(to_json(row), "rows.jsonl:1") == row


@dataclass(frozen=True)
class About(Doing):
    """Tells something of each request beside its answer."""

    def about(self, request: Request) -> Mapping[str, Any]:
        return {"of": request.item_id, "repeat": request.repeat}


@dataclass(frozen=True)
class Unclear(Doing):
    """Cannot tell it."""

    def about(self, request: Request) -> Mapping[str, Any]:
        return {"at": object()}


def test_what_a_model_tells_of_a_request_is_in_its_row() -> None:
    """Beside an answer and beside an error; it can be stored, and a model that cannot tell it loses no answer."""
    answered, _ = asked(lambda: SOUND, kind=About)
    failed, _ = asked(failing(ModelError("no")), kind=About)
    assert answered.detail == failed.detail == {"about": {"of": "a", "repeat": 0}}
    assert row_from_json(to_json(answered), "here") == answered
    unclear, _ = asked(lambda: SOUND, kind=Unclear)
    assert (unclear.status, unclear.detail["about"]["failed"]) == (
        "ok",
        "TypeError: Object of type object is not JSON serializable",
    )
    assert asked(lambda: SOUND)[0].detail == {}
