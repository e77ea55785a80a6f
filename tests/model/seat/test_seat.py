"""The seat as an arm's model: where it is, who it is, and how often it asks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from evalflow.errors import ModelError
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.patience import Retries, Timeouts
from evalflow.model.seat.restraint import Breaker, RateLimits
from evalflow.model.seat.seat import Seat, _stopped
from evalflow.model.seat.stub import StubSeat, StubSettings
from evalflow.record import Completion, Decoding, Request
from tests.model.seat.odd_server import Asked, Wire, in_thread, odd

T = TypeVar("T")
REQUEST = Request("a", "Why?", Decoding(max_tokens=4), 7)
AT_ONCE = Retries(attempts=3, base_s=0.0, cap_s=0.0)


def during(url: str, act: Callable[[Seat], Awaitable[T]], **settings: Any) -> T:
    """What comes of a started seat; it is closed afterwards."""

    async def run() -> T:
        seat = Seat(**{"note": "a test's", "base_url": url, "probe": "off", "retries": AT_ONCE, **settings})
        try:
            await seat.start()
            await seat.prove(Decoding(), "cold")
            return await act(seat)
        finally:
            await seat.close()

    return asyncio.run(run())


async def one_answer(seat: Seat) -> Completion:
    return await seat.complete(REQUEST)


async def nothing(seat: Seat) -> None:
    return


async def good(asked: Asked, wire: Wire) -> None:
    await wire.answer(usage={"prompt_tokens": 5, "completion_tokens": 1})


def in_turn(*statuses: int, **headers: str) -> Callable[[Asked, Wire], Awaitable[None]]:
    """A server that answers so, and then well; 0 is a lost connection."""

    async def behave(asked: Asked, wire: Wire) -> None:
        status = statuses[asked.number - 1] if asked.number <= len(statuses) else 200
        if status == 0:
            wire.reset()
        elif status == 200:
            await good(asked, wire)
        else:
            await wire.told({"error": {"message": "not now"}}, status, **headers)

    return behave


@pytest.mark.parametrize("ending", ["/v1", "/v1/", "", "/"])
def test_its_url_with_and_without_v1(ending: str) -> None:
    """A server's root means its /v1."""
    with odd(good) as server:
        assert during(server.url.removesuffix("/v1") + ending, one_answer).text == "right"
        assert server.posts[0].path == "/v1/chat/completions"


def test_a_path_of_its_own_is_kept() -> None:
    """A gateway may serve elsewhere than under /v1."""
    with odd(good) as server:
        during(server.url.replace("/v1", "/team/llm"), one_answer)
        assert server.posts[0].path == "/team/llm/chat/completions"


def test_the_first_model_listed_is_taken() -> None:
    """Unless one is named; where neither is, that is said."""

    async def two(asked: Asked, wire: Wire) -> None:
        await wire.told({"data": [{"id": "first"}, {"id": "second"}]})

    async def none(asked: Asked, wire: Wire) -> None:
        await wire.told({"error": "no"}, 404)

    with odd(good, gets=two) as server:
        during(server.url, one_answer)
        during(server.url, one_answer, model="second")
        assert [one.body["model"] for one in server.posts] == ["first", "second"]
    with odd(good, gets=none) as server:
        during(server.url, one_answer, model="mine")
        with pytest.raises(ModelError, match=r"it lists no model; name one with model\.model"):
            during(server.url, nothing)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"note": " "}, "note is empty; say whose seat it is"),
        ({"base_url": None}, "base_url is missing"),
        ({"base_url": "127.0.0.1:8000"}, "base_url is no http:// or https:// URL"),
        ({"base_url": "http://127.0.0.1:port/v1"}, "base_url has a port that is none"),
        ({"base_url": "http://me:secret@host/v1"}, "base_url holds a user or a query"),
        ({"base_url": "http://host/v1?key=1"}, "base_url holds a user or a query"),
        ({"hide_host": True}, "hide_host is true with the URL in the config"),
        ({"headers": {"Authorization": "Bearer x"}}, "headers holds Authorization; name a variable"),
        ({"headers": {"X-Goog-Api-Key": "x"}}, "headers holds X-Goog-Api-Key"),
        ({"headers": {"x-access-token": "x"}}, "headers holds x-access-token"),
        ({"headers": {"Cookie": "x"}}, "headers holds Cookie"),
        ({"logprobs": 21}, "logprobs is 21; give 0 to 20"),
    ],
)
def test_settings_that_cannot_be_meant(wrong: dict[str, Any], said: str) -> None:
    """They are refused before anything is sent; a secret is named, and its value is not."""
    with pytest.raises(ValueError, match=said) as refused:
        Seat(**{"note": "a test's", "base_url": "http://127.0.0.1:9/v1", **wrong})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"key_env": "SEAT_KEY"}, r"^model\.key_env: the environment has no SEAT_KEY; set it$"),
        ({"headers_env": {"x-team": "SEAT_KEY"}}, r"^model\.headers_env: the environment has no SEAT_KEY; set it$"),
        ({"base_url": "env:SEAT_KEY"}, r"^model\.base_url: the environment has no SEAT_KEY; set it$"),
    ],
)
def test_a_variable_that_is_not_set_is_named(
    setting: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, whether it is missing or blank."""
    for value in (None, " "):
        monkeypatch.delenv("SEAT_KEY", raising=False) if value is None else monkeypatch.setenv("SEAT_KEY", value)
        with pytest.raises(ModelError, match=said):
            during("http://127.0.0.1:9/v1", nothing, **setting)


def test_a_key_is_sent_as_it_was_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the line end that was copied with it; what no header can carry is refused without being said."""
    monkeypatch.setenv("SEAT_KEY", "k-12345678\n")
    monkeypatch.setenv("TEAM", "blue")
    with odd(good) as server:
        during(server.url, one_answer, key_env="SEAT_KEY", headers_env={"x-team": "TEAM"}, headers={"x-own": "1"})
        sent = server.posts[0].headers
        assert (sent["authorization"], sent["x-team"], sent["x-own"]) == ("Bearer k-12345678", "blue", "1")
        monkeypatch.setenv("SEAT_KEY", "k-12\n345678é")
        with pytest.raises(ModelError, match="SEAT_KEY holds characters that no header can carry") as refused:
            during(server.url, nothing, key_env="SEAT_KEY")
    assert "345678" not in str(refused.value)


@pytest.mark.parametrize(
    ("status", "todo"), [(401, r"name the variable that holds its key with model\.key_env"), (403, r"model\.key_env")]
)
def test_a_seat_that_refuses_us_says_what_to_do(status: int, todo: str) -> None:
    """At the start, before a question is asked."""

    async def refuse(asked: Asked, wire: Wire) -> None:
        await wire.told({"error": {"message": "who are you"}}, status)

    with odd(good, gets=refuse) as server, pytest.raises(ModelError, match=rf"status {status} .*{todo}"):
        during(server.url, nothing)


def test_a_seat_that_is_not_there_says_what_to_do() -> None:
    """One line with the URL."""
    said = r"^seat http://127\.0\.0\.1:9/v1: no connection: Connection refused; start it, or mend model\.base_url$"
    with pytest.raises(ModelError, match=said):
        during("http://127.0.0.1:9/v1", nothing)


@pytest.mark.parametrize(("statuses", "attempts"), [((), 1), ((503,), 2), ((500, 429), 3), ((0,), 2)])
def test_it_asks_again_where_that_may_help(statuses: tuple[int, ...], attempts: int) -> None:
    """The answer says how often, and its times count from the first attempt."""
    with odd(in_turn(*statuses)) as server:
        answer = during(server.url, one_answer)
        assert (answer.text, answer.attempts, len(server.posts)) == ("right", attempts, attempts)
        assert len({str(one.body) for one in server.posts}) == 1


def test_times_of_a_late_answer_count_from_the_first_attempt() -> None:
    """The seat asked for 0.2 s, and whoever waits for the answer has waited those too."""
    with odd(in_turn(503, retry_after="0.2")) as server:
        answer = during(server.url, one_answer, retries=Retries())
    assert answer.times.sent is not None and answer.times.first_token is not None
    assert answer.times.first_token - answer.times.sent >= 0.2


def test_it_gives_up_after_as_many_attempts() -> None:
    """And says so, in words and as a number."""
    with odd(in_turn(503, 503, 503, 503)) as server:
        with pytest.raises(SeatError, match=r"^status 503: not now \(after 3 attempts\)$") as failed:
            during(server.url, one_answer)
        assert (failed.value.attempts, failed.value.kind, len(server.posts)) == (3, "http_503", 3)


@pytest.mark.parametrize("status", [400, 401, 404, 307])
def test_a_refusal_that_stays_is_not_asked_again(status: int) -> None:
    """One request, one failure."""
    with odd(in_turn(status, status)) as server:
        with pytest.raises(SeatError) as failed:
            during(server.url, one_answer)
        assert (failed.value.attempts, failed.value.kind, len(server.posts)) == (1, f"http_{status}", 1)


@pytest.mark.parametrize("mode", ["cut", "stall", "sse_error", "no_finish", "empty", "garbage"])
def test_an_answer_that_began_is_never_asked_for_again(mode: Any) -> None:
    """Whatever became of it."""
    settings = StubSettings(tokens=4, fail_share=1.0, fail_mode=mode)
    with in_thread(StubSeat(settings)) as stub:
        with pytest.raises(SeatError):
            during(stub.url, one_answer, timeouts=Timeouts(between_tokens_s=0.1))
        assert stub.truth.requests == 1


def test_a_connection_that_was_closed_while_idle_is_replaced() -> None:
    """Servers close what lies idle; the next request notices, and is sent once more even where nothing else is."""

    async def serve(asked: Asked, wire: Wire) -> None:
        if len(server.posts) == 2 and asked.of_connection > 1:
            wire.reset()
        else:
            await good(asked, wire)

    async def two(seat: Seat) -> list[int]:
        return [(await seat.complete(REQUEST)).attempts for _ in range(2)]

    with odd(serve) as server:
        assert during(server.url, two, retries=Retries(attempts=1)) == [1, 2]
        assert (server.n_connections, len(server.posts)) == (2, 3)


def test_a_seat_that_is_gone_is_left_alone() -> None:
    """After as many lost connections as the breaker allows, nothing is sent; the row says why."""

    async def many(seat: Seat) -> list[tuple[str | None, int]]:
        failed = []
        for _ in range(4):
            with pytest.raises(SeatError) as one:
                await seat.complete(REQUEST)
            failed.append((one.value.kind, one.value.attempts))
        return failed

    with odd(in_turn(*[0] * 99)) as server:
        kinds = during(server.url, many, breaker=Breaker(failures=4), retries=Retries(attempts=1))
        assert kinds == [("reset", 2), ("reset", 2), ("seat_down", 1), ("seat_down", 1)]
        assert len(server.posts) == 4


def test_it_keeps_within_its_rate() -> None:
    """Retries count too: four requests at 1200 a minute take three gaps of 50 ms."""

    async def timed(seat: Seat) -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.gather(*(seat.complete(REQUEST) for _ in range(3)))
        return loop.time() - began

    with odd(in_turn(503)) as server:
        took = during(server.url, timed, limits=RateLimits(requests_per_minute=1200.0))
        assert len(server.posts) == 4
    assert took >= 0.149


def test_it_is_the_same_seat_afterwards_or_that_is_said() -> None:
    """Its models and its version are read before and after."""
    told = {"models": "a", "version": "1"}

    async def who(asked: Asked, wire: Wire) -> None:
        if asked.path.endswith("/version"):
            await wire.told({"version": told["version"]})
        elif asked.path.endswith("/models"):
            await wire.told({"data": [{"id": told["models"]}]})
        else:
            await wire.told({}, 404)

    def changing(**change: str) -> Callable[[Seat], Awaitable[str | None]]:
        async def act(seat: Seat) -> str | None:
            await seat.complete(REQUEST)
            told.update(change)
            await seat.settle()
            fault = seat.facts().get("instrument_fault")
            return None if fault is None else str(fault)

        return act

    with odd(good, gets=who) as server:
        assert during(server.url, changing()) is None
        said = "the seat changed while it answered: its version was 1, is 2"
        assert during(server.url, changing(version="2")) == said
        said = "the seat changed while it answered: its models were a, are b"
        assert during(server.url, changing(models="b")) == said


def test_what_it_knows_of_itself() -> None:
    """Its note, its model, who it says it is, and how many connections were opened."""

    async def facts(seat: Seat) -> Any:
        await seat.complete(REQUEST)
        return seat.facts()

    with odd(good) as server:
        told = during(server.url, facts)
    assert (told["seat"]["model"], told["connections_opened"]) == ("odd", 1)
    assert told["seat"]["identity"] == {"models": ["odd"], "version": None, "facts": {}}


def test_a_seat_that_was_never_started_tells_nothing() -> None:
    """Nor does it fail when it is let go."""

    async def act() -> object:
        seat = Seat(note="a test's", base_url="http://127.0.0.1:9/v1")
        await seat.settle()
        await seat.close()
        return seat.facts()

    assert asyncio.run(act()) == {}


def test_an_answer_that_holds_the_key_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """It becomes a failure that says why; a placeholder of a key is an ordinary word."""

    async def echo(asked: Asked, wire: Wire) -> None:
        await wire.answer(f"you sent {asked.headers['authorization']}")

    with odd(echo) as server:
        monkeypatch.setenv("SEAT_KEY", "k-123456789")
        with pytest.raises(SeatError, match="the answer holds the key") as failed:
            during(server.url, one_answer, key_env="SEAT_KEY")
        assert (failed.value.kind, "k-1234" in str(failed.value)) == ("bad_reply", False)
        monkeypatch.setenv("SEAT_KEY", "EMPTY")
        assert during(server.url, one_answer, key_env="SEAT_KEY").text == "you sent Bearer EMPTY"


@pytest.mark.parametrize(
    ("text", "stop", "left"),
    [("one. two.", (".",), "one"), ("a\nb.c", (".", "\n"), "a"), ("whole", (".",), "whole"), (".", (".",), "")],
)
def test_a_stop_string_that_a_seat_leaves_in_its_text_is_cut(text: str, stop: tuple[str, ...], left: str) -> None:
    """With all that follows it, at whichever of them comes first; every other field is as it was."""
    cut = _stopped(Completion(text, "stop", tokens_out=7), stop)
    assert (cut.text, cut.finish_reason, cut.tokens_out) == (left, "stop", 7)


def test_one_answer_is_asked_for() -> None:
    """Of several only the first would be read, while usage counts them all."""
    with pytest.raises(ValueError, match="extra_body asks for n = 2"):
        Seat(note="a desk", base_url="http://127.0.0.1:9/v1", extra_body={"n": 2})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"key_env": "sk-REALKEY1234567890"}, "key_env is no name of an environment variable"),
        ({"key_env": "abcDEF123"}, "key_env is no name"),
        ({"headers_env": {"x-team": "sk-REALKEY"}}, "headers_env is no name"),
        ({"base_url": "env:https://host/v1"}, "base_url is no name"),
        ({"extra_body": {"api-key": "sk-REALKEY"}}, "extra_body holds api-key; send a key by key_env"),
    ],
)
def test_a_value_that_stands_where_a_name_should_is_refused_and_not_repeated(wrong: Any, said: str) -> None:
    """A key pasted in place of its variable's name would be kept with the run, and printed."""
    with pytest.raises(ValueError, match=said) as refused:
        Seat(**{"note": "a desk", "base_url": "http://127.0.0.1:9/v1", **wrong})
    assert "REALKEY" not in str(refused.value)


def test_a_key_in_the_tokens_of_an_answer_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is clean, and the tokens spell the key."""
    monkeypatch.setenv("SEAT_KEY", "hush-hush-42")

    async def spelling(asked: Asked, wire: Wire) -> None:
        logprobs = {"content": [{"token": part, "logprob": -0.1} for part in ("hush-", "hush-42")]}
        choice = {"index": 0, "message": {"content": "fine"}, "logprobs": logprobs, "finish_reason": "stop"}
        await wire.told({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 2}})

    async def answer(seat: Seat) -> Completion:
        return await seat.complete(REQUEST)

    with odd(spelling) as server, pytest.raises(SeatError, match="holds the key"):
        during(server.url, answer, key_env="SEAT_KEY", stream=False, logprobs=1)


async def echoes(asked: Asked, wire: Wire) -> None:
    """A server that scores each word of a prompt, the first as nothing, and writes a dot."""
    words = asked.body["prompt"].replace(" ", "| ").split("|")
    scores = [None, *(-float(place) for place in range(1, len(words))), -9.0]
    logprobs = {"tokens": [*words, "."], "token_logprobs": scores, "top_logprobs": None}
    usage = {"prompt_tokens": len(words), "completion_tokens": 1}
    await wire.told({"choices": [{"text": ".", "logprobs": logprobs, "finish_reason": "length"}], "usage": usage})


def test_it_scores_a_text() -> None:
    """Each piece with its place and its log-probability, whatever the server wrote after them."""
    with odd(echoes) as server:
        found = during(server.url, lambda seat: seat.score_text("how now brown"), api="completions", scoring="echo")
        assert found.encoded.starts.tolist() == [0, 3, 7]
        assert found.logprobs.tolist() == pytest.approx([float("nan"), -1.0, -2.0], nan_ok=True)
        assert server.posts[0].body["echo"] is True


def test_it_scores_nothing_unless_it_was_asked_to() -> None:
    """By its setting, which says how it can."""
    with odd(echoes) as server:
        with pytest.raises(ModelError, match=r"this seat was not asked to score; set model\.scoring"):
            during(server.url, lambda seat: seat.score_text("how now"), api="completions")
        assert server.posts == []


def test_a_text_that_is_not_scored_is_an_error() -> None:
    """A server that echoes nothing."""
    with odd(good) as server, pytest.raises(SeatError):
        during(server.url, lambda seat: seat.score_text("how now"), scoring="echo")
