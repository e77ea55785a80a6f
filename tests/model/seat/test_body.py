"""What a request to a seat holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evalflow.model.seat.body import Accepted, Shape
from evalflow.record import Decoding, Request

REQUEST = Request("a", "Why?", Decoding(temperature=0.5, top_p=0.9, max_tokens=7), 11, cache_salt="s4lt")
CHAT = Shape("chat", "m", None, stream=True, isolation="none", logprobs=None)


def body(shape: Shape = CHAT, request: Request = REQUEST, accepted: Accepted | None = None, **over: Any) -> Any:
    return replace(shape, **over).body(request, accepted or Accepted())


def test_a_chat_request_in_full() -> None:
    """Everything that is asked for stands in it, and nothing else."""
    assert body() == {
        "model": "m",
        "messages": [{"role": "user", "content": "Why?"}],
        "max_tokens": 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 11,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }


def test_a_completions_request_in_full() -> None:
    """The system's words go before the prompt, and nothing is put between."""
    plain = body(api="completions", system="Be short. ", stream=False)
    sampling = {"max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "seed": 11}
    assert plain == {"model": "m", "prompt": "Be short. Why?", **sampling}
    assert replace(CHAT, api="completions").path == "/completions"
    assert CHAT.path == "/chat/completions"


def test_the_systems_words_are_a_message_of_their_own() -> None:
    """Before the user's."""
    assert body(system="Be short.")["messages"][0] == {"role": "system", "content": "Be short."}


def test_stops_and_logprobs_only_where_asked() -> None:
    """Logprobs are spelt otherwise on the two routes."""
    stopped = replace(REQUEST, decoding=Decoding(stop=("\n", "END")))
    assert body(request=stopped)["stop"] == ["\n", "END"]
    assert {"stop", "logprobs", "top_logprobs"}.isdisjoint(body())
    chat, plain = body(logprobs=2), body(logprobs=2, api="completions")
    assert (chat["logprobs"], chat["top_logprobs"]) == (True, 2)
    assert (plain["logprobs"], "top_logprobs" in plain) == (2, False)


def test_passes_of_one_cache_are_kept_apart() -> None:
    """By a salt, by a marker before the prompt, or by not reading the cache; without a salt there is no marker."""
    assert body(isolation="cache_salt")["cache_salt"] == "s4lt"
    assert "cache_salt" not in body(isolation="none")
    assert body(isolation="marker")["messages"][0]["content"] == "[s4lt]\nWhy?"
    assert body(isolation="marker", request=replace(REQUEST, cache_salt=""))["messages"][0]["content"] == "Why?"
    regimes = {
        cache: body(isolation="cache_prompt", request=replace(REQUEST, cache=cache))["cache_prompt"]
        for cache in ("cold", "isolated", "warm")
    }
    assert regimes == {"cold": False, "isolated": False, "warm": True}


def test_what_a_seat_refused_is_not_sent() -> None:
    """Each of the smaller requests asks for less than the first."""
    assert body(accepted=Accepted(running_usage=False))["stream_options"] == {"include_usage": True}
    assert "stream_options" not in body(accepted=Accepted(include_usage=False))
    assert "seed" not in body(accepted=Accepted(seed=False))
    renamed = body(accepted=Accepted(max_tokens_field="max_completion_tokens"))
    assert (renamed["max_completion_tokens"], "max_tokens" in renamed) == (7, False)
    assert all(less != Accepted() for less in Accepted().without())


def test_what_is_configured_stands_over_everything() -> None:
    """The user knows the seat better."""
    extra = body(extra={"temperature": 0.7, "min_p": 0.1})
    assert (extra["temperature"], extra["min_p"]) == (0.7, 0.1)
