"""The seat's client against what four real servers sent, wherever the network cuts it.

Each test of a difference between servers is named after it; the expected values are read off the recorded replies.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from evalflow.errors import ModelError
from evalflow.model.seat.client import Client
from evalflow.model.seat.events import Events
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.reply import Reply
from evalflow.model.seat.seat import Seat
from evalflow.record import Completion, Decoding, Request, Times
from tests.model.seat.replay import (
    SERVERS,
    Answer,
    Answerer,
    Asked,
    Replay,
    at,
    every_byte,
    recorded,
    scattered,
    stream_of,
    streams,
    uncut,
    with_client,
)

VLLM, LLAMA, PYTHON, TRANSFORMERS = SERVERS
CHAT = "/chat/completions"
PARIS = "The capital of France is Paris."
OPENAI_SOURCE = "usage.prompt_tokens_details.cached_tokens"


def asked(answer: Answer, **how: Any) -> Completion:
    """What a real client makes of one reply."""

    async def act(client: Client) -> Completion:
        return await client.ask(CHAT, {})

    return with_client(Replay(answer, **how), act)


def said(server: str, name: str) -> Completion:
    return asked(recorded(server, name))


def refused(answer: Answer) -> tuple[str | None, int | None, str]:
    """Why there is no answer: class, status, words."""
    with pytest.raises(SeatError) as fault:
        asked(answer)
    return fault.value.kind, fault.value.status, str(fault.value)


def content(done: Completion) -> tuple[Completion, int | None]:
    """All of a completion but when it came."""
    return replace(done, times=Times(), gaps=None), None if done.gaps is None else len(done.gaps)


def fed(body: bytes, *cuts: int) -> Completion:
    """A stream's completion, without the network."""
    events, reply, edges = Events(), Reply(0.0), [0, *cuts, len(body)]
    for start, end in pairwise(edges):
        for event in events.feed(body[start:end]):
            reply.take(event, 1.0)
    return reply.completion(2.0)


def plainly(answer: Answer) -> dict[str, Any]:
    """A recorded stream read the plain way: all lines at once."""
    choices = [choice for event in answer.events for choice in event["choices"]]
    parts = [choice.get("delta", {}).get("content") or choice.get("text") or "" for choice in choices]
    reasons = [choice.get("finish_reason") for choice in choices]
    usage = next((event["usage"] for event in reversed(answer.events) if event.get("usage")), {})
    return {
        "text": "".join(parts),
        "finish_reason": next(reason for reason in reversed(reasons) if reason),
        "tokens_in": usage.get("prompt_tokens"),
        "tokens_out": usage.get("completion_tokens", len([part for part in parts if part])),
        "gaps": len([part for part in parts if part]) - 1,
    }


@pytest.mark.parametrize(("server", "name"), streams())
def test_a_stream_is_the_same_wherever_it_is_cut(server: str, name: str) -> None:
    """In one write, at random places, in HTTP chunks that end anywhere, with a length, or ended by the connection."""
    answer = recorded(server, name)
    ways: list[dict[str, Any]] = [
        {"cuts": uncut},
        *({"cuts": scattered(seed, pieces)} for seed, pieces in ((1, 2), (2, 5), (3, 20), (4, 60))),
        {"cuts": scattered(5), "per_chunk": 7},
        {"cuts": uncut, "per_chunk": 1},
        {"cuts": scattered(6), "framing": "length"},
    ]
    replay = Replay(answer)

    async def act(client: Client) -> list[Completion]:
        found = []
        for way in ways:
            replay.cuts, replay.framing, replay.per_chunk = uncut, "chunked", 2**16
            vars(replay).update(way)
            found.append(await client.ask(CHAT, {}))
        return found

    done = with_client(replay, act)
    assert replay.connections == 1  # read to the end each time, so that the connection could be used again
    meant = plainly(answer)
    for one in [*done, asked(answer, cuts=scattered(7), framing="close")]:
        assert content(one) == content(done[0])
        assert {**{key: getattr(one, key) for key in meant}, "gaps": len(one.gaps or ())} == meant


@pytest.mark.parametrize("server", SERVERS)
def test_a_small_stream_is_the_same_at_every_cut(server: str) -> None:
    """In two at each position of its body."""
    body = recorded(server, "max_tokens_1_stream").body
    whole = fed(body)
    assert whole.text == "The"
    assert all(fed(body, position) == whole for position in range(1, len(body)))


def test_a_small_stream_is_the_same_at_every_cut_of_the_wire() -> None:
    """Head, chunk sizes and all; and byte by byte."""
    replay = Replay(recorded(TRANSFORMERS, "max_tokens_1_stream"), per_chunk=100)
    lengths: list[int] = []

    def measure(length: int) -> list[int]:
        lengths.append(length)
        return []

    async def act(client: Client) -> list[Completion]:
        replay.cuts = measure
        found = [await client.ask(CHAT, {})]
        for cuts in [*(at(position) for position in range(1, lengths[0], 3)), every_byte]:
            replay.cuts = cuts
            found.append(await client.ask(CHAT, {}))
        return found

    done = with_client(replay, act)
    assert len(done) > 200
    assert all(content(one) == content(done[0]) for one in done)


def test_events_of_one_write_have_one_stamp() -> None:
    """Seven tokens that come in one read lie no time apart, which is what the network gave."""
    assert asked(recorded(LLAMA, "chat_stream_usage"), cuts=uncut).gaps == (0.0,) * 6


@pytest.mark.parametrize("server", SERVERS)
def test_a_part_of_a_stream_is_never_a_shorter_answer(server: str) -> None:
    """Ended anywhere, it is an error, or it is whole but for what follows its reason to end."""
    body = recorded(server, "chat_stream_usage").body
    finished = body.index(b"\n\n", body.index(b'"stop"')) + 2
    for end in range(0, len(body), 7):
        if end < finished:
            with pytest.raises(SeatError):
                fed(body[:end])
        else:
            assert fed(body[:end]).text == PARIS


def test_a_stream_that_ends_in_the_middle_of_an_event() -> None:
    """It says so; one that ends between two events says what it lacks."""
    body = recorded(VLLM, "chat_stream_usage").body
    between = body.index(b"\n\n") + 2
    assert refused(Answer(200, "text/event-stream", body[: between + 30]))[2] == (
        "the reply ended in the middle of an event"
    )
    assert refused(Answer(200, "text/event-stream", body[:between]))[2] == (
        "the reply ended without finish_reason and without [DONE]"
    )


UNICODE = "Grüße — 日本語 🙂 e\u0301"


@pytest.mark.parametrize("server", SERVERS)
def test_unicode_split_inside_a_character(server: str) -> None:
    """A recorded stream whose words are put into other scripts as UTF-8: every cut inside a character is mended."""
    body = recorded(server, "max_tokens_1_stream").body.replace(b'"The"', f'"{UNICODE}"'.encode())
    inside = [i for i in range(1, len(body)) if body[i] & 0xC0 == 0x80]
    assert len(inside) == 2 + 2 + 6 + 3 + 1  # ü and ß; the dash; three of Japanese; the face; the accent
    assert all(fed(body, i).text == UNICODE for i in inside)
    answer = Answer(200, "text/event-stream", body)
    assert asked(answer, cuts=every_byte).text == UNICODE


@pytest.mark.parametrize("server", SERVERS)
def test_the_recorded_unicode_stream(server: str) -> None:
    """Sixteen tokens, as many chunks."""
    done = said(server, "unicode_stream")
    assert done.text.startswith("I'm sorry for any")
    assert (done.tokens_out, done.chunk_tokens, done.finish_reason) == (16, (1,) * 16, "length")


# usage


@pytest.mark.parametrize("server", [VLLM, LLAMA])
def test_usage_in_an_event_without_choices(server: str) -> None:
    """It is counted, and is no token."""
    done = said(server, "chat_stream_usage")
    assert (done.text, done.tokens_in, done.tokens_out, done.tokens_source) == (PARIS, 42, 8, "usage")


@pytest.mark.parametrize("name", ["chat_stream_usage", "chat_stream_no_usage_option"])
def test_usage_on_the_last_choice_event(name: str) -> None:
    """Whether it was asked for or not."""
    done = said(TRANSFORMERS, name)
    assert (done.text, done.tokens_in, done.tokens_out, done.tokens_source) == (PARIS, 42, 8, "usage")


@pytest.mark.parametrize(("server", "name"), [(PYTHON, "chat_stream_usage"), (VLLM, "chat_stream_no_usage_option")])
def test_never_any_usage(server: str, name: str) -> None:
    """Chunks are counted and named as such; the prompt's tokens are unknown, not 0."""
    done = said(server, name)
    assert (done.text, done.tokens_in, done.tokens_out, done.tokens_source) == (PARIS, None, 7, "chunks")


@pytest.mark.parametrize(("server", "n"), [(VLLM, 8), (LLAMA, 8), (PYTHON, 7), (TRANSFORMERS, 8)])
def test_the_end_token_is_counted_or_not(server: str, n: int) -> None:
    """As each server says, in one piece; streamed, its seven chunks are one token each either way."""
    assert said(server, "chat_nonstream").tokens_out == n
    assert said(server, "chat_stream_usage").chunk_tokens == (1,) * 7


# begin and end


def test_no_done_at_the_end() -> None:
    """A reason to end is enough."""
    answer = recorded(TRANSFORMERS, "chat_stream_usage")
    assert b"[DONE]" not in answer.body
    assert asked(answer).finish_reason == "stop"


@pytest.mark.parametrize(
    ("server", "delta"),
    [
        (VLLM, {"role": "assistant", "content": ""}),
        (LLAMA, {"role": "assistant", "content": None}),
        (PYTHON, {"role": "assistant"}),
        (TRANSFORMERS, {"role": "assistant"}),
    ],
)
def test_a_role_event_is_no_token(server: str, delta: dict[str, Any]) -> None:
    """Sent early, with empty content, null or none: the first token is the first text."""
    answer = recorded(server, "chat_stream_usage")
    assert answer.events[0]["choices"][0]["delta"] == delta
    cut = answer.body.index(b"\n\n") + 2
    events, reply = Events(), Reply(0.0)
    for stamp, part in ((1.0, answer.body[:cut]), (9.0, answer.body[cut:])):
        for event in events.feed(part):
            reply.take(event, stamp)
    assert not answer.body[:cut].count(b"The")
    assert reply.completion(10.0).times.first_token == 9.0


@pytest.mark.parametrize("server", SERVERS)
def test_the_reason_to_end_in_an_event_of_its_own(server: str) -> None:
    """Without content; it is no token."""
    choices = [choice for event in recorded(server, "chat_stream_usage").events for choice in event["choices"]]
    assert not choices[-1]["delta"].get("content")
    done = said(server, "chat_stream_usage")
    assert (done.finish_reason, len(done.gaps or ())) == ("stop", 6)


def test_the_reason_to_end_on_the_last_token() -> None:
    """vLLM's, where the limit cut it."""
    choices = [choice for event in recorded(VLLM, "unicode_stream").events for choice in event["choices"]]
    assert (choices[-1]["delta"]["content"], choices[-1]["finish_reason"]) == (" users", "length")
    done = said(VLLM, "unicode_stream")
    assert (done.finish_reason, done.text.split()[-1]) == ("length", "users")


@pytest.mark.parametrize("server", SERVERS)
def test_one_token_alone(server: str) -> None:
    """It has no gaps, and one chunk."""
    done = said(server, "max_tokens_1_stream")
    assert (done.text, done.tokens_out, done.gaps, done.chunk_tokens) == ("The", 1, (), (1,))


# cached tokens


@pytest.mark.parametrize(
    ("server", "cached", "source"),
    [(VLLM, 256, OPENAI_SOURCE), (LLAMA, 289, OPENAI_SOURCE), (PYTHON, None, None), (TRANSFORMERS, None, None)],
)
def test_cached_tokens_reported_or_absent(server: str, cached: int | None, source: str | None) -> None:
    """The same prompt of 290 tokens again: where nothing is said, nothing is known."""
    done = said(server, "cache_second_same")
    assert (done.tokens_in, done.cached_tokens, done.cached_source) == (290, cached, source)


def test_cached_tokens_of_nothing_are_zero() -> None:
    """A first prompt read none, and the server says so."""
    assert (said(VLLM, "cache_first").cached_tokens, said(VLLM, "cache_first").cached_source) == (0, OPENAI_SOURCE)


@pytest.mark.parametrize(("server", "cached"), [(VLLM, 256), (LLAMA, 278), (PYTHON, None), (TRANSFORMERS, None)])
def test_cached_tokens_of_a_stream(server: str, cached: int | None) -> None:
    """They come with its usage."""
    assert said(server, "cache_stream_same").cached_tokens == cached


def test_cached_tokens_null_is_a_state_of_its_own() -> None:
    """vLLM without its flag: the field is there and says nothing."""
    told = recorded(VLLM, "cache_second_same").body.replace(b'"cached_tokens": 256', b'"cached_tokens": null')
    done = asked(Answer(200, "application/json", told))
    assert (done.cached_tokens, done.cached_source) == (None, OPENAI_SOURCE)


def test_cached_tokens_from_timings() -> None:
    """llama-server without usage still tells of its cache, in the last event of a choice."""
    done = said(LLAMA, "chat_stream_no_usage_option")
    assert (done.tokens_in, done.cached_tokens, done.cached_source) == (None, 41, "timings.cache_n")


# log-probabilities


@pytest.mark.parametrize(
    ("server", "first", "margin"),  # the margins: of The and A, or of The and I
    [(VLLM, -1.3588, 2.8112 - 1.3588), (LLAMA, -1.4125, 2.7570 - 1.4125), (PYTHON, -1.3164, 2.7554 - 1.3164)],
)
@pytest.mark.parametrize("name", ["chat_logprobs", "chat_stream_logprobs"])
def test_log_probabilities_of_a_chat(server: str, first: float, margin: float, name: str) -> None:
    """Four tokens, streamed or not, with ids, with bytes, or with bytes that are null."""
    done = said(server, name)
    assert done.tokens is not None
    assert [token.text for token in done.tokens] == ["The", " capital", " of", " France"]
    assert done.tokens[0].logprob == pytest.approx(first, abs=2e-3)
    assert done.tokens[0].margin == pytest.approx(margin, abs=6e-3)


@pytest.mark.parametrize("name", ["chat_logprobs", "chat_stream_logprobs"])
def test_log_probabilities_ignored_in_silence(name: str) -> None:
    """Asked for and not given: unknown."""
    done = said(TRANSFORMERS, name)
    assert (done.text, done.tokens) == ("The capital of France", None)


def test_log_probabilities_of_completions() -> None:
    """vLLM's lists, of which the last is of the written token; the first has none, and none is made up."""
    done = said(VLLM, "completions_echo_logprobs")
    assert done.tokens is not None
    assert [token.text for token in done.tokens] == [" capital", " of", " France", " is", " Paris", ".", "\n"]
    assert done.tokens[-1].logprob == pytest.approx(-1.0121, abs=1e-4)
    assert done.tokens[-1].margin == pytest.approx(2.4408 - 1.0121, abs=1e-4)


def test_log_probabilities_of_completions_in_the_shape_of_a_chat() -> None:
    """llama-server's."""
    done = said(LLAMA, "completions_echo_logprobs")
    assert done.tokens is not None
    assert [(token.text, round(token.logprob, 4)) for token in done.tokens] == [("\n", -0.9539)]
    assert done.tokens[0].margin == pytest.approx(2.3302 - 0.9539, abs=1e-4)


# limits and refusals


@pytest.mark.parametrize(("server", "text", "n"), [(LLAMA, "The", 1), (PYTHON, PARIS, 7)])
def test_a_limit_of_no_tokens_that_is_not_refused(server: str, text: str, n: int) -> None:
    """One token all the same, or as many as it likes: both are told as they came."""
    done = said(server, "max_tokens_0")
    assert (done.text, done.tokens_out) == (text, n)


@pytest.mark.parametrize(
    ("server", "n", "reason"),
    [(VLLM, 3, "length"), (LLAMA, 3, "length"), (PYTHON, 7, "stop"), (TRANSFORMERS, 3, "length")],
)
def test_max_completion_tokens_ignored(server: str, n: int, reason: str) -> None:
    """Three were allowed; one server knows the older name alone, and its usage shows it."""
    done = said(server, "max_completion_tokens_3")
    assert (done.tokens_out, done.finish_reason) == (n, reason)


@pytest.mark.parametrize(
    ("server", "name", "status", "words"),
    [
        (VLLM, "max_tokens_0", 400, "max_tokens must be at least 1, got 0"),
        (TRANSFORMERS, "max_tokens_0", 500, "Internal Server Error"),
        (VLLM, "overlong_prompt", 400, "maximum context length is 1024 tokens"),
        (VLLM, "overlong_prompt_stream", 400, "maximum context length is 1024 tokens"),
        (LLAMA, "overlong_prompt", 400, "request (4031 tokens) exceeds the available context size (2048 tokens)"),
        (LLAMA, "overlong_prompt_stream", 400, "request (4031 tokens) exceeds the available context size"),
        (PYTHON, "overlong_prompt", 400, "you requested 4043 tokens (4031 in the messages"),
        (PYTHON, "overlong_completions", 400, "4001 in your prompt"),
        (VLLM, "unknown_model", 404, "The model `no-such-model` does not exist"),
        (TRANSFORMERS, "unknown_model_stream", 400, "requested 'no-such-model'"),
        (VLLM, "malformed_json", 400, "JSON decode error"),
        (LLAMA, "malformed_json", 400, "parse error at line 1, column 29"),
        (PYTHON, "malformed_json", 500, "Internal Server Error"),
        (TRANSFORMERS, "malformed_json", 422, "body.28 JSON decode error"),
        (VLLM, "wrong_type", 400, "Input should be a valid integer"),
        (LLAMA, "wrong_type", 400, "type must be number, but is string"),
        (PYTHON, "wrong_type", 500, "Input should be a valid integer"),
        (TRANSFORMERS, "wrong_type", 500, "Internal Server Error"),
        (LLAMA, "wrong_type_messages", 400, "Expected 'messages' to be an array"),
        (VLLM, "empty_messages", 400, "Cannot apply chat template to an empty conversation"),
        (TRANSFORMERS, "empty_messages", 500, "Internal Server Error"),
        (TRANSFORMERS, "unknown_field", 422, "Unexpected fields in the request: {'no_such_field'}"),
        (TRANSFORMERS, "chat_prompt_logprobs", 422, "Unexpected fields in the request: {'prompt_logprobs'}"),
        (LLAMA, "n2_t1", 400, "Value must be between 1 <= value <= 1, but got 2"),
        (TRANSFORMERS, "models", 500, "Internal Server Error"),
    ],
)
def test_a_refusal_in_each_shape(server: str, name: str, status: int, words: str) -> None:
    """An error object, a detail, a list of details, plain text: status and the server's own words."""
    kind, number, told = refused(recorded(server, name))
    assert (kind, number) == (f"http_{status}", status)
    assert told.startswith(f"status {status}: ")
    assert words in told


def test_an_over_long_prompt_that_is_answered_by_nothing() -> None:
    """Status 200 and an empty stream is an error, not an empty answer."""
    answer = recorded(PYTHON, "overlong_prompt_stream")
    assert (answer.status, answer.streamed, answer.body) == (200, True, b"")
    kind, _, _ = refused(answer)
    assert kind == "cut"


@pytest.mark.parametrize("server", [LLAMA, PYTHON])
@pytest.mark.parametrize("name", ["unknown_model", "unknown_model_stream"])
def test_an_unknown_model_that_answers(server: str, name: str) -> None:
    """The client cannot tell by the answer, which is why the seat is asked first."""
    assert said(server, name).text == PARIS


@pytest.mark.parametrize("server", [VLLM, PYTHON, TRANSFORMERS])
def test_of_two_answers_one_is_read(server: str) -> None:
    """Two were asked for; some give one."""
    assert said(server, "n2_t1").text == "The capital of France is Paris"


@pytest.mark.parametrize("name", ["stop_string", "stop_string_stream"])
def test_a_stop_string_ends_the_text(name: str) -> None:
    """llama-server leaves it out of the text and counts it; transformers serve leaves it in, which the text shows."""
    done = said(LLAMA, name)
    assert (done.text[-16:], done.finish_reason, done.tokens_out) == (" writing project", "stop", 15)
    assert said(TRANSFORMERS, name).text.endswith("misunderstanding.")


@pytest.mark.parametrize("server", SERVERS)
def test_seeds(server: str) -> None:
    """One seed gives one text twice; another gives another, but of a server that is greedy in silence."""
    same, again, other = (said(server, name).text for name in ("seed7_t1_a", "seed7_t1_b", "seed8_t1"))
    assert same == again
    assert (other == same) == (server == TRANSFORMERS)


# through the seat, which asks first


def server_of(server: str, post: Callable[[Asked], Answer]) -> Answerer:
    """A recorded server whose answers are chosen by `post`."""

    def answer(one: Asked) -> Answer:
        if one.method == "GET":
            return recorded(server, "models" if one.path.endswith("models") else "version")
        return post(one)

    return answer


def proven(replay: Replay, decoding: Decoding, **settings: Any) -> tuple[dict[str, Any], Completion]:
    """What a seat finds out before an arm, and one answer of the arm."""

    async def run() -> tuple[dict[str, Any], Completion]:
        async with replay:
            seat = Seat(note="a recorded server", base_url=replay.url, model="smollm2", **settings)
            try:
                await seat.start()
                await seat.prove(decoding, "cold")
                done = await seat.complete(Request("one", "What is the capital of France?", decoding, 7))
                return dict(seat.facts()["seat"]), done
            finally:
                await seat.close()

    return asyncio.run(run())


def as_recorded(server: str) -> Callable[[Asked], Answer]:
    """Unknown models, seeds at temperature 1 and all else as the server was recorded to treat them."""
    sampled = {1: "seed7_t1_a", 2: "seed8_t1", 3: "noseed_t1_a"}

    def post(one: Asked) -> Answer:
        if one.body["model"].startswith("no-such-model"):
            return recorded(server, "unknown_model_stream")
        if one.body["temperature"] == 1.0:
            return recorded(server, sampled[one.body["seed"]])
        return recorded(server, "chat_stream_usage")

    return post


@pytest.mark.parametrize(
    ("server", "usage", "cached", "unknown_refused", "varies", "honoured"),
    [
        (VLLM, True, "reported", True, True, True),
        (LLAMA, True, "reported", False, True, True),
        (PYTHON, False, "absent", False, True, True),
        (TRANSFORMERS, True, "absent", True, False, None),
    ],
)
def test_what_a_seat_is_found_to_do(
    server: str, usage: bool, cached: str, unknown_refused: bool, varies: bool, honoured: bool | None
) -> None:
    """Usage in streams, cached tokens, an unknown model, sampling and seeds, each as recorded."""
    facts, done = proven(Replay(server_of(server, as_recorded(server))), Decoding(max_tokens=12))
    found = facts["findings"]
    assert (found["streams"], found["stream_usage"], found["cached_tokens"]) == (True, usage, cached)
    assert (found["unknown_model_refused"], found["sampling_varies"]) == (unknown_refused, varies)
    assert found["seed_honoured"] == honoured
    assert done.text == PARIS


def test_a_sampled_arm_of_a_greedy_seat_is_refused() -> None:
    """transformers serve takes a temperature and seeds, and gives one text."""
    replay = Replay(server_of(TRANSFORMERS, as_recorded(TRANSFORMERS)))
    with pytest.raises(ModelError, match="three seeds gave one text"):
        proven(replay, Decoding(temperature=1.0))


@pytest.mark.parametrize(
    ("unknown", "kept"),
    [
        ("continuous_usage_stats", {"include_usage": True, "seed": True}),
        ("stream_options", {"include_usage": False, "seed": True}),
        ("seed", {"include_usage": False, "seed": False}),
    ],
)
def test_an_unknown_field_is_not_sent_again(unknown: str, kept: dict[str, bool]) -> None:
    """It is refused as transformers serve refuses what it does not know; the arm goes without it."""

    def post(one: Asked) -> Answer:
        known = unknown not in json.dumps(one.body)
        return recorded(TRANSFORMERS, "chat_stream_usage" if known else "unknown_field")

    replay = Replay(server_of(TRANSFORMERS, post))
    facts, done = proven(replay, Decoding(max_tokens=12), probe="brief")
    assert {key: facts["accepted"][key] for key in kept} == kept
    assert facts["accepted"]["running_usage"] is False
    assert unknown not in json.dumps(replay.asked[-1].body)
    assert done.text == PARIS


def test_a_seat_that_refuses_everything_says_why() -> None:
    """The first refusal is told: the plainest request was refused as well."""
    replay = Replay(server_of(TRANSFORMERS, lambda _: recorded(TRANSFORMERS, "unknown_field")))
    with pytest.raises(ModelError, match="status 422: Unexpected fields"):
        proven(replay, Decoding(), probe="brief")


def test_models_offline() -> None:
    """A seat whose list of models fails is asked for the model that the config names."""
    facts, done = proven(Replay(server_of(TRANSFORMERS, as_recorded(TRANSFORMERS))), Decoding(), probe="off")
    assert (facts["identity"]["models"], facts["model"], done.text) == ([], "smollm2", PARIS)


def test_an_error_object_inside_a_stream_of_status_200() -> None:
    """vLLM's shape: some text, an error, [DONE]; the connection can be used again."""
    broken = stream_of(
        {"choices": [{"index": 0, "delta": {"content": "The"}, "finish_reason": None}]},
        {"error": {"message": "out of memory", "type": "InternalServerError", "param": None, "code": 500}},
    )
    assert refused(broken) == ("stream_error", None, "the reply broke off with an error: out of memory")
