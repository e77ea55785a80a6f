"""Prompts scored by the seat itself, and the proof that its scores belong to the tokens that they stand at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from evalflow.model.scorer import Encoded, TextScores
from evalflow.model.seat.body import Shape
from evalflow.model.seat.client import Client
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.reply import is_number, tokens_of, words_of

Scoring = Literal["off", "echo", "prompt_logprobs"]
Alignment = Literal["aligned", "misaligned", "absent", "not asked"]
TRIAL = "The capital of France is"
CONTINUED = 4
"""Greedy tokens that the trial compares."""
RULED_OUT = -9999.0
"""What vLLM writes for the logarithm of 0, since JSON has no infinity; anything below is that too."""
TOLERANCE_NATS = 0.2
"""Two passes of one model in 16-bit floats differ by up to about 0.1; a neighbour's score by far more."""


@dataclass(frozen=True)
class PromptScores:
    """The tokens of a prompt (N,) and their log-probabilities given what stands before (nats); None of the first."""

    tokens: tuple[str, ...]
    logprobs: tuple[float | None, ...]


async def score_prompt(client: Client, shape: Shape, scoring: Scoring, text: str) -> PromptScores:
    """What a seat gives as the log-probabilities of a text's tokens, on its completions route.

    Raises:
        SeatError: it gives none, or not one per token.
    """
    asked = {"echo": True, "logprobs": 1} if scoring == "echo" else {"prompt_logprobs": 1}
    body = {"model": shape.model, "prompt": text, "max_tokens": 1, "temperature": 0.0, **asked}
    status, told = await client.post("/completions", body)
    if status != 200 or not isinstance(told, Mapping):
        said = words_of(told) if isinstance(told, Mapping) else "no JSON"
        raise SeatError(f"http_{status}", f"status {status}: {said}", status)
    choice = _first(told.get("choices"))
    usage = told.get("usage")
    n_prompt = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    scores = _echoed(choice, n_prompt) if scoring == "echo" else _prompt_logprobs(choice or told)
    if scores is None:
        raise SeatError("bad_reply", f"it takes {scoring} and returns no score of the prompt")
    if isinstance(n_prompt, int) and len(scores.tokens) != n_prompt:
        raise SeatError("bad_reply", f"{len(scores.tokens)} scores for a prompt of {n_prompt} tokens")
    return scores


def text_scores(text: str, scores: PromptScores) -> TextScores:
    """Scores beside where each token begins in the text; -1 where the tokens' texts are not the text's own."""
    rest = "".join(scores.tokens[1:])
    starts = np.full(len(scores.tokens), -1, dtype=np.int32)
    if text.endswith(rest):  # the first may be a token that no text holds, or one whose text the seat does not tell
        ends = len(text) - len(rest) + np.cumsum([0, *(len(token) for token in scores.tokens[1:])])
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int32)
    logprobs = np.array([np.nan if score is None else score for score in scores.logprobs])
    logprobs[logprobs <= RULED_OUT] = -np.inf
    return TextScores(Encoded(np.full(len(starts), -1, dtype=np.int64), starts), logprobs)


async def alignment(client: Client, shape: Shape, scoring: Scoring) -> tuple[Alignment, str | None]:
    """Whether prompt scores agree with what the seat says of the same tokens as it generates them; and why not.

    Raises:
        SeatError: the seat cannot be reached.
    """
    greedy = {"model": shape.model, "prompt": TRIAL, "max_tokens": CONTINUED, "temperature": 0.0, "logprobs": 1}
    status, told = await client.post("/completions", greedy)
    written = tokens_of(_first(told.get("choices")).get("logprobs")) if isinstance(told, Mapping) else []
    if status != 200 or not written:
        return "absent", f"status {status} and no log-probabilities for generated tokens"
    continuation = "".join(token.text for token in written)
    try:
        scores = await score_prompt(client, shape, scoring, TRIAL + continuation)
    except SeatError as fault:
        if fault.kind not in ("bad_reply",) and fault.status is None:
            raise
        return "absent", str(fault)
    begins = next((i for i in range(len(scores.tokens)) if "".join(scores.tokens[i:]) == continuation), None)
    if begins is None or scores.tokens[begins] != written[0].text:
        return "misaligned", f"the tokens that it scores do not end in {continuation!r}, which it wrote"
    for text, score, token in zip(scores.tokens[begins:], scores.logprobs[begins:], written, strict=False):
        if text != token.text:
            break  # read as a prompt, a text may be cut otherwise: two line ends are one token then
        if score is None or abs(score - token.logprob) > TOLERANCE_NATS:
            said = "nothing" if score is None else f"{score:.2f}"
            return "misaligned", f"it wrote {token.text!r} at {token.logprob:.2f} nats and scores it {said}"
    return "aligned", None


def _echoed(choice: Mapping[str, Any], n_prompt: int | None) -> PromptScores | None:
    """Scores of an echoed prompt; the generated token stands after them, and some seats leave it out."""
    logprobs = choice.get("logprobs")
    if not isinstance(logprobs, Mapping):
        return None
    texts, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not isinstance(texts, list) or not isinstance(values, list) or len(texts) != len(values) or len(texts) < 2:
        return None
    n = len(texts) - 1 if n_prompt is None else min(n_prompt, len(texts))
    return PromptScores(tuple(map(str, texts[:n])), (None, *(_number(value) for value in values[1:n])))


def _prompt_logprobs(choice: Mapping[str, Any]) -> PromptScores | None:
    """Scores of vLLM's `prompt_logprobs`: per token a mapping of ids, the prompt's own token first."""
    listed = choice.get("prompt_logprobs")
    if not isinstance(listed, list) or len(listed) < 2:
        return None
    own: list[Mapping[str, Any]] = [
        next(iter(entry.values()), {}) if isinstance(entry, Mapping) else {} for entry in listed[1:]
    ]
    texts = ("", *(str(one.get("decoded_token", "")) for one in own))
    return PromptScores(texts, (None, *(_number(one.get("logprob")) for one in own)))


def _number(value: Any) -> float | None:
    return float(value) if is_number(value) else None


def _first(choices: Any) -> Mapping[str, Any]:
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
