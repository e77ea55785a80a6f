"""What a seat can do, found out before an arm; what cannot be told is unknown."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evalflow.errors import ModelError
from evalflow.model.seat.patience import Retries
from evalflow.model.seat.probe import Findings
from evalflow.model.seat.seat import Seat
from evalflow.model.seat.stub import StubSeat, StubSettings
from evalflow.record import Decoding
from tests.model.seat.odd_server import Asked, Behaviour, Wire, in_thread, odd

GREEDY, SAMPLED = Decoding(), Decoding(temperature=1.0)


def proved(url: str, decoding: Decoding = GREEDY, **settings: Any) -> tuple[dict[str, Any], Findings]:
    """What was accepted and found of a seat, once it was proved."""

    async def act() -> tuple[dict[str, Any], Findings]:
        retries = Retries(attempts=2, base_s=0.0, cap_s=0.0)
        seat = Seat(**{"note": "a test's", "base_url": url, "retries": retries, **settings})
        try:
            await seat.start()
            await seat.prove(decoding, "cold")
            told = seat.facts()["seat"]
            return told["accepted"], Findings(**told["findings"])
        finally:
            await seat.close()

    return asyncio.run(act())


def found(stub: StubSettings, **settings: Any) -> Findings:
    with in_thread(StubSeat(stub)) as seat:
        return proved(seat.url, **settings)[1]


def sampler(text: Any) -> Behaviour:
    """A seat whose text is `text(seed, number of the request)`."""

    async def behave(asked: Asked, wire: Wire) -> None:
        await wire.answer(text(asked.body.get("seed"), asked.number))

    return behave


def test_a_good_seat_in_full() -> None:
    """It streams, counts as it goes, and tells what was cached; one text for all seeds says nothing of seeds."""
    told = found(StubSettings(cache_block=16, tokens_per_chunk=2))
    assert (told.streams, told.stream_usage, told.running_usage) == (True, True, True)
    assert (told.cached_tokens, told.cached_source) == ("reported", "usage.prompt_tokens_details.cached_tokens")
    assert (told.sampling_varies, told.seed_honoured) == (False, None)
    assert told.unknown_model_refused is False
    assert told.prompt_scoring == "not asked"


@pytest.mark.parametrize("block", [1, 16, 32, 64, 128, 256])
def test_the_block_size_of_a_cache_is_found(block: int) -> None:
    """Of a prompt of 505 tokens, each size leaves another part uncached: 504, 496, 480, 448, 384 or 256 are hit."""
    told = found(StubSettings(cache_block=block))
    assert (told.repeat_prompt, told.cache_step) == (505, block)
    assert told.repeat_cached == {1: 504, 16: 496, 32: 480, 64: 448, 128: 384, 256: 256}[block]


def test_a_block_size_that_could_be_several_is_unknown() -> None:
    """Of 513 tokens every size hits 512, so that none is told; nor where nothing was hit."""

    async def cached(asked: Asked, wire: Wire) -> None:
        details = {"prompt_tokens_details": {"cached_tokens": 512}}
        await wire.answer(usage={"prompt_tokens": 513, "completion_tokens": 1, **details})

    with odd(cached) as server:
        _, told = proved(server.url)
    assert (told.repeat_cached, told.repeat_prompt, told.cache_step) == (512, 513, None)
    assert found(StubSettings(cache_block=0)).cache_step is None


@pytest.mark.parametrize(("cached", "spoken"), [("counted", "reported"), ("null", "null"), ("absent", "absent")])
def test_three_ways_to_speak_of_cached_tokens(cached: Any, spoken: str) -> None:
    """Without a count there is no block size either."""
    told = found(StubSettings(cache_block=16, cached=cached))
    assert told.cached_tokens == spoken
    assert (told.cache_step is None) is (cached != "counted")


def test_a_strict_seat_is_asked_for_less() -> None:
    """It refuses running usage, as OpenAI does; everything else is kept, and the arms ask so too."""
    with in_thread(StubSeat(StubSettings(strict=True))) as seat:
        accepted, told = proved(seat.url)
        assert seat.truth.bodies[-1]["stream_options"] == {"include_usage": True}
    assert accepted == {
        "include_usage": True,
        "running_usage": False,
        "max_tokens_field": "max_tokens",
        "seed": True,
    }
    assert (told.stream_usage, told.running_usage) == (True, None)


@pytest.mark.parametrize(
    ("refused", "accepted"),
    [
        ("stream_options", {"include_usage": False, "seed": True, "max_tokens_field": "max_tokens"}),
        ("seed", {"include_usage": False, "seed": False, "max_tokens_field": "max_tokens"}),
        ("max_tokens", {"include_usage": True, "seed": True, "max_tokens_field": "max_completion_tokens"}),
    ],
)
def test_what_else_a_seat_may_refuse(refused: str, accepted: dict[str, Any]) -> None:
    """Each field that some servers do not know is left out or spelt otherwise."""

    async def picky(asked: Asked, wire: Wire) -> None:
        if refused in asked.body:
            await wire.told({"error": {"message": f"unknown field {refused}"}}, 400)
        else:
            await wire.answer()

    with odd(picky) as server:
        taken, _ = proved(server.url)
    assert taken == {**accepted, "running_usage": False}


def test_a_field_that_is_asked_for_and_refused_ends_the_arm() -> None:
    """Isolation that a seat does not know cannot be left out: the passes would share a cache."""
    with (
        in_thread(StubSeat(StubSettings(strict=True))) as seat,
        pytest.raises(ModelError, match="status 400: unknown field: cache_salt"),
    ):
        proved(seat.url, isolation="cache_salt")


def test_a_sampled_arm_on_a_seat_that_is_silently_greedy_is_refused() -> None:
    """It would give one text for all seeds, and a spread of 0; a greedy arm may go on."""
    with odd(sampler(lambda seed, number: "always this")) as server:
        said = "at temperature 1 three seeds gave one text, so a sampled arm is greedy"
        with pytest.raises(ModelError, match=said):
            proved(server.url, SAMPLED)
        assert proved(server.url, GREEDY)[1].sampling_varies is False


def test_a_seat_that_ignores_the_seed_is_noted() -> None:
    """Every text is another; that is no reason to refuse, and stands with the findings."""
    with odd(sampler(lambda seed, number: f"text {number}")) as server:
        told = proved(server.url, SAMPLED)[1]
    assert (told.sampling_varies, told.seed_honoured) == (True, False)


def test_a_seat_that_heeds_the_seed_is_noted() -> None:
    """One seed gives one text, another another."""
    with odd(sampler(lambda seed, number: f"text {seed}")) as server:
        told = proved(server.url, SAMPLED)[1]
    assert (told.sampling_varies, told.seed_honoured) == (True, True)


def test_running_usage_shows_where_chunks_hold_several_tokens() -> None:
    """Of chunks of one token each nobody can say whether they were counted."""
    assert found(StubSettings(tokens_per_chunk=1), probe="brief").running_usage is None
    assert found(StubSettings(tokens_per_chunk=2, continuous_usage=False), probe="brief").running_usage is None
    assert found(StubSettings(tokens_per_chunk=2), probe="brief").running_usage is True


def test_a_model_that_does_not_exist_is_asked_for() -> None:
    """A seat that answers all the same answers with whatever it has."""

    async def choosy(asked: Asked, wire: Wire) -> None:
        if asked.body["model"] == "odd":
            await wire.answer()
        else:
            await wire.told({"error": {"message": "no such model"}}, 404)

    with odd(choosy) as server:
        assert proved(server.url)[1].unknown_model_refused is True


def test_what_a_marker_costs_is_measured() -> None:
    """In front of a prompt of one word stands one more, in brackets."""
    assert found(StubSettings(), isolation="marker").marker_tokens == 1


def test_a_brief_probe_asks_one_question() -> None:
    """And off asks none."""
    with in_thread(StubSeat(StubSettings())) as seat:
        told = proved(seat.url, probe="brief")[1]
        assert (seat.truth.requests, told.stream_usage, told.sampling_varies) == (1, True, None)
        assert proved(seat.url, probe="off")[1] == Findings()
        assert seat.truth.requests == 1


def test_a_seat_that_is_busy_for_a_moment_is_asked_again() -> None:
    """A probe has the same patience as an arm."""

    async def busy(asked: Asked, wire: Wire) -> None:
        await (wire.told({"error": "busy"}, 429, retry_after="0") if asked.number == 1 else wire.answer())

    with odd(busy) as server:
        assert proved(server.url, probe="brief")[1].streams is True


def test_a_seat_without_usage_is_noted() -> None:
    """Its tokens are then counted by chunks."""
    told = found(StubSettings(usage=False, continuous_usage=False), probe="brief")
    assert (told.stream_usage, told.running_usage) == (False, None)


def test_a_seat_that_answers_nothing_ends_the_arm() -> None:
    """A status that no leaving out can help is told at once."""

    async def refuse(asked: Asked, wire: Wire) -> None:
        await wire.told({"error": {"message": "pay first"}}, 402)

    with odd(refuse) as server:
        with pytest.raises(ModelError, match="status 402: pay first"):
            proved(server.url)
        assert len(server.posts) == 1


TOKENS = ["The", " capital", " of", " France", " is", " Paris", ",", " the", " city"]
SCORES = [-9.0 + i for i in range(9)]


def scorer(shift: int) -> Behaviour:
    """A seat whose echoed scores stand `shift` places from where they belong."""

    async def behave(asked: Asked, wire: Wire) -> None:
        if not asked.body.get("echo"):
            if asked.path.endswith("/chat/completions"):
                await wire.answer()
                return
            logprobs = {"tokens": TOKENS[5:], "token_logprobs": SCORES[5:]}
        else:
            shifted = [SCORES[(i + shift) % 9] for i in range(9)]
            logprobs = {"tokens": [*TOKENS, "."], "token_logprobs": [None, *shifted[1:], -1.0]}
        choice = {"index": 0, "text": "", "finish_reason": "length", "logprobs": logprobs}
        await wire.told({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 4}})

    return behave


def test_prompt_scores_that_are_off_by_one_are_refused() -> None:
    """Each token would carry its neighbour's; aligned ones are taken."""
    with odd(scorer(shift=0)) as server:
        assert proved(server.url, scoring="echo")[1].prompt_scoring == "aligned"
    with odd(scorer(shift=1)) as server, pytest.raises(ModelError, match="its prompt scores are misaligned"):
        proved(server.url, scoring="echo")


def test_a_seat_that_scores_no_prompts_is_refused_where_it_should() -> None:
    """The stub takes `echo`, and returns no score."""
    with in_thread(StubSeat(StubSettings())) as seat, pytest.raises(ModelError, match="prompt scores are absent"):
        proved(seat.url, scoring="echo")
