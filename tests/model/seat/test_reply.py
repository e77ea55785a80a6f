"""What a reply comes to, whatever its events hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalflow.model.seat.events import Event
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.reply import Reply, tokens_of, words_of
from evalflow.record import Completion, Token

Json = dict[str, Any]


def delta(finish: str | None = None, usage: Json | None = None, **part: Any) -> Json:
    told: Json = {"choices": [{"index": 0, "delta": part, "finish_reason": finish}]}
    return told if usage is None else {**told, "usage": usage}


def written(n: int) -> Json:
    return {"prompt_tokens": 5, "completion_tokens": n}


def streamed(*events: Json, done: bool = True, step_s: float = 1.0) -> Completion:
    """The completion of events that came one each `step_s`, the first at 1 s; it was sent at 0 s."""
    reply = Reply(0.0)
    for i, event in enumerate(events):
        reply.take(Event(json.dumps(event).encode()), (i + 1) * step_s)
    if done:
        reply.take(Event(b"[DONE]"), (len(events) + 1) * step_s)
    return reply.completion(100.0)


def whole(told: Json) -> Completion:
    reply = Reply(0.0)
    reply.take_whole(json.dumps(told).encode())
    return reply.completion(100.0)


def fails(act: Callable[[], Any]) -> tuple[str | None, str]:
    with pytest.raises(SeatError) as fault:
        act()
    return fault.value.kind, str(fault.value)


ROLE = delta(role="assistant", content="")
USAGE_EVENT = {"choices": [], "usage": written(3)}


def test_a_plain_stream() -> None:
    """Role at 1 s, text at 2, 3 and 4 s, usage at 5 s: the first token is the first text, and nothing else is one."""
    done = streamed(ROLE, delta(content="a"), delta(content="b"), delta("stop", content="c"), USAGE_EVENT)
    assert (done.text, done.finish_reason) == ("abc", "stop")
    assert (done.tokens_in, done.tokens_out, done.tokens_source) == (5, 3, "usage")
    assert (done.times.first_token, done.times.first_visible, done.times.last_token) == (2.0, 2.0, 4.0)
    assert (done.gaps, done.chunk_tokens) == ((1.0, 1.0), (1, 1, 1))
    assert done.times.end == 100.0


def test_empty_parts_are_no_tokens() -> None:
    """Content that is empty, null or absent, a delta that is null, choices that are empty: none starts the clock."""
    nothing = [ROLE, delta(content=None), delta(), {"choices": [{"index": 0, "delta": None}]}, {"choices": []}, {}]
    done = streamed(*nothing, delta(content="a"), delta("stop"), {"choices": [], "usage": written(1)})
    assert (done.text, done.times.first_token, done.gaps, done.chunk_tokens) == ("a", 7.0, (), (1,))


def test_chunks_of_four_with_a_running_count() -> None:
    """Sixteen tokens in four chunks: four each, of which the first four are no part of the time after the first."""
    chunks = [delta(content="wxyz", usage=written(n)) for n in (4, 8, 12, 16)]
    done = streamed(ROLE, *chunks, delta("stop", usage=written(16)), {"choices": [], "usage": written(16)})
    assert (done.tokens_out, done.chunk_tokens, done.gaps) == (16, (4, 4, 4, 4), (1.0, 1.0, 1.0))


def test_chunks_of_unequal_size_with_a_running_count() -> None:
    """A parser that holds text back lets several tokens go at once; the end token is counted after the last of them."""
    counts = [delta(content="x", usage=written(n)) for n in (1, 2, 7)]
    done = streamed(delta(role="assistant", usage=written(0)), *counts, delta("stop", usage=written(8)))
    assert (done.tokens_out, done.chunk_tokens) == (8, (1, 1, 5))


def test_chunks_without_a_running_count_are_unknown() -> None:
    """Sixteen tokens in four chunks: nobody says how many were in which."""
    chunks = [delta(content="wxyz") for _ in range(4)]
    assert streamed(*chunks, delta("stop"), {"choices": [], "usage": written(16)}).chunk_tokens is None


def test_a_count_that_does_not_run_is_unknown() -> None:
    """One token in two chunks, and two in the third: they are not taken for one each although the sum would fit."""
    counts = [delta(content="x", usage=written(n)) for n in (1, 1, 3)]
    assert streamed(*counts, delta("stop")).chunk_tokens is None


@pytest.mark.parametrize("count", [True, -1, "2", 2.0])
def test_a_running_count_is_a_count(count: Any) -> None:
    """What is no whole number counts no tokens of a chunk."""
    odd = delta(content="x", usage={"completion_tokens": count})
    done = streamed(odd, delta(content="y", usage=written(9)), delta("stop"))
    assert (done.tokens_out, done.chunk_tokens) == (9, None)


def test_the_end_token_may_be_counted() -> None:
    """Two chunks and three tokens: the third is the end token, which has no text."""
    done = streamed(delta(content="a"), delta(content="b"), delta("stop"), USAGE_EVENT)
    assert (done.tokens_out, done.chunk_tokens) == (3, (1, 1))


def test_without_usage_chunks_are_counted_and_said_to_be() -> None:
    """Its tokens are chunks by name, and the prompt's are unknown."""
    done = streamed(delta(content="a"), delta(content="b"), delta("stop"))
    assert (done.tokens_in, done.tokens_out, done.tokens_source, done.chunk_tokens) == (None, 2, "chunks", (1, 1))


def test_usage_that_is_null_takes_nothing_back() -> None:
    """Usage on one event and null on the rest."""
    done = streamed(delta(content="a", usage=written(1)), {**delta("stop"), "usage": None})
    assert (done.tokens_out, done.tokens_source) == (1, "usage")


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_tokens_and_not_text(name: str) -> None:
    """The first token is the first thought; the first visible one comes after two of them."""
    thoughts = [delta(**{name: "hm"}), delta(**{name: " so"})]
    usage = {**written(3), "completion_tokens_details": {"reasoning_tokens": 2}}
    done = streamed(ROLE, *thoughts, delta(content="a"), delta("stop", usage=usage))
    assert (done.text, done.reasoning_tokens, done.tokens_out) == ("a", 2, 3)
    assert (done.times.first_token, done.times.first_visible) == (2.0, 4.0)
    assert done.chunk_tokens == (1, 1, 1)


def test_reasoning_under_both_names_counts_once() -> None:
    """Some servers send the one as an alias of the other."""
    both = delta(reasoning_content="hm", reasoning="hm")
    done = streamed(both, both, delta(content="a"), delta("stop"))
    assert (done.tokens_out, done.gaps) == (3, (1.0, 1.0))


def test_reasoning_alone_is_an_empty_answer() -> None:
    """It was cut before it said anything: a text of nothing, no first visible token, and no failure."""
    done = streamed(delta(reasoning="hm"), delta("length", usage=written(1)))
    assert (done.text, done.finish_reason, done.times.first_visible) == ("", "length", None)


def test_tool_calls_are_tokens_and_not_text() -> None:
    """Streamed or in one piece, under the new name or the old one."""
    call = {"index": 0, "function": {"name": "look", "arguments": "{"}}
    for part in ({"tool_calls": [call]}, {"function_call": {"name": "look"}}):
        done = streamed(ROLE, delta(**part), delta(**part), delta("tool_calls"), {"choices": [], "usage": written(9)})
        assert (done.text, done.finish_reason, done.tokens_out, done.gaps) == ("", "tool_calls", 9, (1.0,))
        message = {"role": "assistant", "content": None, **part}
        said = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": written(9)}
        assert (whole(said).text, whole(said).tokens_out) == ("", 9)


def test_reasoning_alone_in_one_piece() -> None:
    """An answer that was cut while it thought is no failure either."""
    message = {"role": "assistant", "content": "", "reasoning_content": "hm, so"}
    done = whole({"choices": [{"message": message, "finish_reason": "length"}], "usage": written(4)})
    assert (done.text, done.finish_reason, done.tokens_out) == ("", "length", 4)


def test_a_reply_in_one_piece_says_nothing_of_its_tokens_times() -> None:
    """Times of tokens, gaps and chunks are unknown, not 0."""
    done = whole({"choices": [{"text": "ab", "finish_reason": "stop"}], "usage": written(2)})
    assert (done.text, done.gaps, done.chunk_tokens, done.times.first_token) == ("ab", None, None, None)
    silent = whole({"choices": [{"text": "ab", "finish_reason": "stop"}]})
    assert (silent.tokens_out, silent.tokens_source) == (None, None)


def test_text_in_parts() -> None:
    """Content may be a list of parts, of which the text is text."""
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    assert streamed(delta(content=parts), delta("stop")).text == "ab"


def test_of_several_choices_the_first_is_read() -> None:
    """In whatever order they come, and whichever ends first."""
    other = {"choices": [{"index": 1, "delta": {"content": "z"}, "finish_reason": None}]}
    ended = {"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]}
    done = streamed(other, delta(content="a"), ended, delta("stop"))
    assert (done.text, done.finish_reason, done.times.first_token) == ("a", "stop", 2.0)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("end_turn", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "content_filter"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("repetition", "other"),
    ],
)
def test_why_it_ended(said: str, meant: str) -> None:
    """Under the names of several vendors; one that is unknown is told as such."""
    assert streamed(delta(content="a"), delta(said)).finish_reason == meant


@pytest.mark.parametrize("reason", ["error", "abort", "cancelled"])
def test_some_ends_leave_no_answer(reason: str) -> None:
    """A reply that says that it was broken off is an error, with the text so far or without it."""
    assert fails(lambda: streamed(delta(content="a"), delta(reason))) == (
        "stream_error",
        f"the reply ended with finish_reason {reason}",
    )
    assert fails(lambda: whole({"choices": [{"text": "a", "finish_reason": reason}]}))[0] == "stream_error"


def test_no_reason_to_end_is_none_be_it_an_empty_string() -> None:
    """A stream whose events all say "" and that stops is cut; with [DONE] it is whole, and its reason unknown."""
    assert fails(lambda: streamed(delta("", content="a"), done=False))[0] == "cut"
    assert streamed(delta("", content="a")).finish_reason is None


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (b'{"error": {"message": "out of memory", "code": 500}}', "out of memory"),
        (b'{"error": "out of memory"}', "out of memory"),
        (b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}', "Overloaded"),
        (b'{"type": "error", "message": "Overloaded"}', "Overloaded"),
        (b'{"object": "error", "error": {"code": 40303}}', '{"code": 40303}'),
    ],
)
def test_an_error_inside_a_stream_ends_it(event: bytes, said: str) -> None:
    """Whatever text came before it, and whatever comes after."""
    reply = Reply(0.0)
    reply.take(Event(b'{"choices": [{"index": 0, "delta": {"content": "a"}}]}'), 1.0)
    assert fails(lambda: reply.take(Event(event), 2.0)) == (
        "stream_error",
        f"the reply broke off with an error: {said}",
    )


def test_an_event_of_the_type_error_is_one() -> None:
    """Its object may hold a bare message."""
    event = Event(b'{"message": "Overloaded"}', b"error")
    assert fails(lambda: Reply(0.0).take(event, 1.0))[1].endswith("Overloaded")


def test_an_error_of_status_200_in_one_piece() -> None:
    """It is no answer."""
    assert fails(lambda: whole({"error": {"message": "no"}})) == ("stream_error", "status 200 with an error: no")


@pytest.mark.parametrize("data", [b"{no JSON", b"[1]", b'"a"', b"7", b'{"a": "\xff"}', b"", b"[" * 100_000])
def test_what_is_no_object_is_a_bad_reply(data: bytes) -> None:
    """No JSON, another kind of JSON, no UTF-8, nothing at all, or nested beyond measure."""
    assert fails(lambda: Reply(0.0).take(Event(data), 1.0))[0] == "bad_reply"
    assert fails(lambda: Reply(0.0).take_whole(data))[0] == "bad_reply"


def test_a_reply_that_stops_is_cut() -> None:
    """Text without a reason to end and without [DONE]; either of the two is enough."""
    assert fails(lambda: streamed(delta(content="a"), done=False))[0] == "cut"
    assert fails(lambda: streamed(done=False))[0] == "cut"
    assert streamed(delta(content="a")).text == "a"
    assert streamed(delta("stop", content="a"), done=False).text == "a"


def test_no_token_is_no_answer() -> None:
    """Usage and [DONE] alone; a reason to end and nothing counted; two tokens counted and none there."""
    assert fails(lambda: streamed(ROLE, USAGE_EVENT)) == (
        "no_tokens",
        "a complete reply without one token (its usage says 3)",
    )
    assert fails(lambda: streamed(delta("stop")))[0] == "no_tokens"
    assert fails(lambda: streamed(delta("stop"), {"choices": [], "usage": written(2)}))[0] == "no_tokens"
    assert fails(lambda: whole({"choices": [{"text": "", "finish_reason": "stop"}]}))[0] == "no_tokens"


@pytest.mark.parametrize("count", [0, 1])
def test_the_end_token_alone_is_an_empty_answer(count: int) -> None:
    """A model may end at once; then usage counts its end token, or nothing."""
    done = streamed(delta("stop"), {"choices": [], "usage": written(count)})
    assert (done.text, done.finish_reason, done.tokens_out) == ("", "stop", count)
    assert (done.times.first_token, done.gaps) == (None, None)


def test_a_margin_is_of_the_two_likeliest() -> None:
    """-0.5 less -2.0 is 1.5, whichever was drawn; of fewer than two it is unknown."""
    top = [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -2.0}, {"token": "c", "logprob": -3.0}]
    entries = [
        {"token": "c", "logprob": -3.0, "top_logprobs": top},
        {"token": "a", "logprob": -0.5, "top_logprobs": top[:1]},
        {"token": "a", "logprob": -0.5, "top_logprobs": []},
        {"token": "a", "logprob": -0.5},
    ]
    assert tokens_of({"content": entries}) == [
        Token("c", -3.0, 1.5),
        Token("a", -0.5, None),
        Token("a", -0.5, None),
        Token("a", -0.5, None),
    ]


def test_the_drawn_token_is_not_taken_for_the_second() -> None:
    """Completions list the drawn token beside the likeliest: of such a pair nobody knows what was second."""
    told = {
        "tokens": ["a", "z", "z"],
        "token_logprobs": [-0.5, -9.0, -9.0],
        "top_logprobs": [{"a": -0.5, "b": -2.0}, {"a": -0.5, "z": -9.0}, {"a": -0.5, "b": -2.0, "z": -9.0}],
    }
    assert tokens_of(told) == [Token("a", -0.5, 1.5), Token("z", -9.0, None), Token("z", -9.0, 1.5)]


@pytest.mark.parametrize("odd", [None, [], "a", 7, {}, {"content": None}, {"content": "a"}, {"tokens": ["a"]}])
def test_log_probabilities_of_another_shape_are_none(odd: Any) -> None:
    """Nothing is made up."""
    assert tokens_of(odd) == []


def test_a_number_beyond_floats_is_no_log_probability() -> None:
    """Nor is NaN, infinity, or a truth value."""
    for odd in ("1e999", "NaN", "-Infinity", "1" + "0" * 400, "true", '"-1"', "null"):
        told = json.loads(f'{{"token": "a", "logprob": {odd}, "top_logprobs": []}}')
        assert tokens_of({"content": [told]}) == []


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"error": {"message": "no such  model", "code": 404}}, "no such model"),
        ({"error": "plain"}, "plain"),
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": [{"loc": ["body", 28], "msg": "JSON decode error"}]}, "body.28 JSON decode error"),
        ({"detail": [{"loc": ["a"], "msg": "x"}, {"loc": ["b"], "msg": "y"}]}, "a x; b y"),
        ({"detail": [{"loc": None, "msg": "x"}, 7]}, "x; 7"),
        ({"message": "bare"}, "bare"),
        ({"error": {"code": 7}}, '{"code": 7}'),
        ({}, "{}"),
    ],
)
def test_the_words_of_an_error(told: Json, said: str) -> None:
    """In every shape that servers have."""
    assert words_of(told) == said


NAMES = (
    "choices",
    "delta",
    "content",
    "text",
    "usage",
    "completion_tokens",
    "prompt_tokens_details",
    "cached_tokens",
    "timings",
    "error",
    "message",
    "finish_reason",
    "logprobs",
    "tokens",
    "token_logprobs",
    "top_logprobs",
    "logprob",
    "token",
    "index",
    "detail",
    "loc",
    "msg",
    "reasoning",
    "tool_calls",
    "type",
)
"""What the reader looks for."""
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(JSONS, JSONS, JSONS)
def test_no_json_breaks_it(first: Any, second: Any, choice: Any) -> None:
    """Any JSON in any place gives a completion, or a failure by name."""
    for events in ([first, second], [{"choices": [choice], "usage": first}, {"choices": [{"delta": second}]}]):
        reply = Reply(0.0)
        try:
            for event in events:
                reply.take(Event(json.dumps(event).encode()), 1.0)
            reply.take(Event(b"[DONE]"), 2.0)
            done = reply.completion(3.0)
        except SeatError as fault:
            assert str(fault)
        else:
            assert done.chunk_tokens is None or len(done.chunk_tokens) == len(done.gaps or ()) + 1
    for body in (first, {"choices": [choice], "usage": second}):
        reply = Reply(0.0)
        try:
            reply.take_whole(json.dumps(body).encode())
            reply.completion(3.0)
        except SeatError as fault:
            assert str(fault)


def test_nothing_belongs_to_a_reply_after_its_end() -> None:
    """Text that follows [DONE] is no part of the answer."""
    reply = Reply(0.0)
    for data in (
        json.dumps(delta("stop", content="Paris")).encode(),
        b"[DONE]",
        json.dumps(delta(content="MORE")).encode(),
    ):
        reply.take(Event(data), 1.0)
    assert reply.completion(2.0).text == "Paris"


def test_a_count_of_none_beside_a_text_is_no_count() -> None:
    """Two chunks came, so that 0 tokens cannot be; they are counted as chunks, and marked so."""
    told = streamed(delta(content="a"), delta("stop", content="b", usage={"prompt_tokens": 0, "completion_tokens": 0}))
    assert (told.tokens_out, told.tokens_source, told.chunk_tokens) == (2, "chunks", (1, 1))
