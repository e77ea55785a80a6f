"""Prompts scored by real servers, rightly, wrongly and not at all."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from evalflow.model.seat.body import Shape
from evalflow.model.seat.client import Client
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.scoring import PromptScores, Scoring, alignment, score_prompt, text_scores
from tests.model.seat.replay import Answer, Asked, Replay, recorded, whole_of, with_client

SHAPE = Shape("completions", "smollm2", None, True, "none", None)
PROMPT = "The capital of France is Paris."
"""What the recorded servers were asked to score."""
TOKENS = ("The", " capital", " of", " France", " is", " Paris", ".")
TRUE = (None, -11.5498, -0.3397, -2.4214, -0.4495, -0.2606, -0.3880)
"""Its log-probabilities by a reference in 32-bit floats on the same weights (nats)."""


def greedy(*written: tuple[str, float]) -> Answer:
    """What a server says of the tokens that it writes after the trial."""
    texts, values = [text for text, _ in written], [value for _, value in written]
    logprobs = {"tokens": texts, "token_logprobs": values, "top_logprobs": None}
    return whole_of({"choices": [{"text": "".join(texts), "logprobs": logprobs, "finish_reason": "stop"}]})


PARIS = greedy((" Paris", -0.2606), (".", -0.3880))


def scored(answer: Answer, scoring: Scoring) -> PromptScores:
    async def act(client: Client) -> PromptScores:
        return await score_prompt(client, SHAPE, scoring, PROMPT)

    return with_client(Replay(answer), act)


def refused(answer: Answer, scoring: Scoring) -> tuple[str | None, str]:
    with pytest.raises(SeatError) as fault:
        scored(answer, scoring)
    return fault.value.kind, str(fault.value)


def tried(writes: Answer, scores: Answer, scoring: Scoring = "echo") -> tuple[str, str | None]:
    """The alignment of a server that writes and scores so; it must have been asked to score what it wrote."""
    asked: list[dict[str, Any]] = []

    def answer(one: Asked) -> Answer:
        asked.append(one.body)
        return scores if "echo" in one.body or "prompt_logprobs" in one.body else writes

    async def act(client: Client) -> tuple[str, str | None]:
        return await alignment(client, SHAPE, scoring)

    found = with_client(Replay(answer), act)
    assert len(asked) == 1 or asked[1]["prompt"].startswith("The capital of France is Paris.")
    return found


@pytest.mark.parametrize(("name", "scoring"), [("echo_logprobs", "echo"), ("prompt_logprobs", "prompt_logprobs")])
def test_scores_that_are_right(name: str, scoring: Scoring) -> None:
    """vLLM's, in both of its shapes: one per token of the prompt, none of the first nor of the token written after."""
    scores = scored(recorded("vllm-cpu", f"completions_{name}"), scoring)
    assert scores.tokens[1:] == TOKENS[1:]
    assert scores.logprobs[0] is None
    assert scores.logprobs[1:] == pytest.approx(TRUE[1:], abs=1e-4)


@pytest.mark.parametrize(
    ("server", "name", "scoring", "kind", "said"),
    [
        ("llama-server-xllamacpp", "echo_logprobs", "echo", "bad_reply", "returns no score"),
        ("transformers-serve", "echo_logprobs", "echo", "bad_reply", "returns no score"),
        ("llama-server-xllamacpp", "prompt_logprobs", "prompt_logprobs", "bad_reply", "returns no score"),
        ("llama-cpp-python", "prompt_logprobs", "prompt_logprobs", "bad_reply", "returns no score"),
        ("transformers-serve", "prompt_logprobs", "prompt_logprobs", "http_422", "Unexpected fields in the request"),
    ],
)
def test_scores_that_are_not_there(server: str, name: str, scoring: Scoring, kind: str, said: str) -> None:
    """Ignored in silence by most, whatever else the reply holds; refused by one."""
    told = refused(recorded(server, f"completions_{name}"), scoring)
    assert told[0] == kind
    assert said in told[1]


def test_as_many_scores_as_tokens() -> None:
    """A prompt of nine tokens has no seven scores."""
    echoed = recorded("vllm-cpu", "completions_prompt_logprobs").told
    short = {**echoed, "usage": {"prompt_tokens": 9}}
    assert refused(whole_of(short), "prompt_logprobs") == ("bad_reply", "7 scores for a prompt of 9 tokens")


@pytest.mark.parametrize(("name", "scoring"), [("echo_logprobs", "echo"), ("prompt_logprobs", "prompt_logprobs")])
def test_a_seat_that_scores_rightly_is_aligned(name: str, scoring: Scoring) -> None:
    """vLLM scores its own tokens as it wrote them."""
    assert tried(PARIS, recorded("vllm-cpu", f"completions_{name}"), scoring) == ("aligned", None)


def test_scores_that_are_off_by_one_are_misaligned() -> None:
    """llama-cpp-python gives each token the score of what follows it: it wrote Paris at -0.26 and scores it -8.69."""
    writes = greedy((" Paris", -0.2644), (".", -0.3869))  # as it lists them itself, one place too early
    found = tried(writes, recorded("llama-cpp-python", "completions_echo_logprobs"))
    assert found == ("misaligned", "it wrote ' Paris' at -0.26 nats and scores it -8.69")


def test_the_second_token_is_compared_too() -> None:
    """The first may agree by chance."""
    writes = greedy((" Paris", -0.2606), (".", -1.5))
    found = tried(writes, recorded("vllm-cpu", "completions_echo_logprobs"))
    assert found == ("misaligned", "it wrote '.' at -1.50 nats and scores it -0.39")


def test_an_echo_that_is_ignored_is_absent() -> None:
    """llama-server gives the written token alone, in the shape of a chat."""
    found = tried(PARIS, recorded("llama-server-xllamacpp", "completions_echo_logprobs"))
    assert found == ("absent", "it takes echo and returns no score of the prompt")


def test_log_probabilities_that_are_ignored_leave_nothing_to_compare() -> None:
    """transformers serve says nothing of the tokens that it writes."""
    silent = recorded("transformers-serve", "completions_nonstream")
    assert tried(silent, silent) == ("absent", "status 200 and no log-probabilities for generated tokens")


def test_a_field_that_is_refused_is_absent() -> None:
    """The server's own words say why."""
    found, note = tried(PARIS, recorded("transformers-serve", "completions_prompt_logprobs"), "prompt_logprobs")
    assert found == "absent"
    assert note is not None
    assert note.startswith("status 422: Unexpected fields")


@pytest.mark.parametrize("odd", ["NaN", "Infinity", "null", '"-0.26"', "true"])
def test_what_is_no_number_agrees_with_nothing(odd: str) -> None:
    """NaN differs from every number by NaN, which is within no tolerance."""
    told = json.dumps(recorded("vllm-cpu", "completions_echo_logprobs").told)
    assert told.count("-0.2606096565723419") == 3
    broken = Answer(200, "application/json", told.replace("-0.2606096565723419", odd).encode())
    assert tried(PARIS, broken) == ("misaligned", "it wrote ' Paris' at -0.26 nats and scores it nothing")


def starts(text: str, *tokens: str) -> list[int]:
    """Where tokens begin in a text, as what is kept of their scores has it."""
    scores = PromptScores(tokens, (None, *[-1.0] * (len(tokens) - 1)))
    return text_scores(text, scores).encoded.starts.tolist()


def test_where_scored_tokens_begin() -> None:
    """One after another; the last of them ends the text."""
    assert starts("Grüße, alle", "Gr", "üße", ",", " alle") == [0, 2, 5, 6]


def test_the_first_token_may_be_none_of_the_texts() -> None:
    """A beginning of text, whether it is told or not: what follows then begins at 0."""
    assert starts("abc", "<s>", "ab", "c") == [0, 0, 2]
    assert starts("abc", "", "ab", "c") == [0, 0, 2]
    assert starts("abc", "", "c") == [0, 2], "vLLM tells no text of the first, which may be the text's own"


@pytest.mark.parametrize("tokens", [("a", "B", "c"), ("a", "\ufffd", "\ufffd"), ("a", "b", "c", "d")])
def test_tokens_that_are_not_the_texts_lie_nowhere(tokens: tuple[str, ...]) -> None:
    """Of another case, of half a character each, or more than there is: nobody knows where they are."""
    assert set(starts("abc", *tokens)) == {-1}


def test_what_is_kept_of_scores() -> None:
    """Nothing of the first, no ids, and NaN where the seat said nothing."""
    kept = text_scores("abc", PromptScores(("a", "b", "c"), (None, -0.5, None)))
    assert kept.encoded.tokens.tolist() == [-1, -1, -1]
    assert kept.logprobs.tolist() == pytest.approx([float("nan"), -0.5, float("nan")], nan_ok=True)
    assert kept.encoded.starts.dtype == "int32"


def test_a_probability_of_0_that_json_cannot_say() -> None:
    """vLLM writes -9999 for a log-probability of minus infinity: no NLL of 9,999 nats is averaged with others."""
    kept = text_scores("abcd", PromptScores(("a", "b", "c", "d"), (None, -9999.0, -20_000.0, -9998.0)))
    assert kept.logprobs[1:].tolist() == [-math.inf, -math.inf, -9998.0]
