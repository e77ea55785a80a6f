"""What a seat can do, asked before an arm by small requests. What cannot be told is None, never no."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalflow.model.seat.body import Accepted, Shape
from evalflow.model.seat.client import Client
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.scoring import Alignment, Scoring, alignment
from evalflow.record import Completion, Decoding, Request

QUESTION = "Name a colour, an animal and a town, and say one sentence about each of them."
STEPS = (1, 16, 32, 64, 128, 256)
"""Block sizes that a prefix cache may go by (tokens)."""
TRIED = 505
"""The length of the prompt that the cache is tried with (tokens): each of the steps leaves another part of it out."""
Ask = Callable[[str, Mapping[str, Any], str], Awaitable[Completion]]
"""Sends a body to a path, and again where that may help; the chance in the waits is drawn from the last."""
REFUSED = (400, 404, 405, 415, 422, 500)
"""What a strict server answers to a field that it does not know."""


@dataclass(frozen=True)
class Findings:
    """What was found out. None: not asked, or it could not be told.

    `cached_tokens` is `reported`, `null` or `absent`; `cache_step` the block size that the cache goes by, where a
    repeated prompt hit it: `repeat_cached` of its `repeat_prompt` tokens. `sampling_varies` says whether three seeds
    at temperature 1 gave more than one text, `seed_honoured` whether one seed gave one text twice.
    """

    streams: bool | None = None
    stream_usage: bool | None = None
    running_usage: bool | None = None
    cached_tokens: str | None = None
    cached_source: str | None = None
    repeat_cached: int | None = None
    repeat_prompt: int | None = None
    cache_step: int | None = None
    marker_tokens: int | None = None
    logprobs: bool | None = None
    seed_honoured: bool | None = None
    sampling_varies: bool | None = None
    unknown_model_refused: bool | None = None
    prompt_scoring: Alignment = "not asked"
    prompt_scoring_note: str | None = None


async def probe(
    ask: Ask, client: Client, shape: Shape, full: bool, sampled: bool, scoring: Scoring
) -> tuple[Accepted, Findings]:
    """Find out which optional fields a seat takes, and, in full, how it caches, samples, counts and scores.

    That it samples is asked for a `sampled` arm in any case.

    Raises:
        SeatError: it does not answer the plainest request.
    """
    accepted, first = await _accepted(ask, shape)
    findings = Findings(
        streams=first.times.first_token is not None if shape.stream else None,
        stream_usage=first.tokens_source == "usage" if shape.stream else None,
        running_usage=_counted(first) if shape.stream and accepted.running_usage else None,
        cached_tokens=_spoken(first),
        cached_source=first.cached_source,
        logprobs=bool(first.tokens) if shape.logprobs is not None else None,
    )
    asks = _Asks(ask, shape, accepted)
    if full or sampled:
        findings = await _sampling(asks, findings)
    if full:
        findings = await _cache(asks, findings)
        findings = replace(findings, unknown_model_refused=await _refuses_unknown(asks))
        findings = replace(findings, marker_tokens=await _marker(asks))
    if scoring != "off":
        aligned, note = await alignment(client, shape, scoring)
        findings = replace(findings, prompt_scoring=aligned, prompt_scoring_note=note)
    return accepted, findings


@dataclass(frozen=True)
class _Asks:
    """Asks small questions of a seat as an arm would."""

    ask: Ask
    shape: Shape
    accepted: Accepted

    async def __call__(self, prompt: str, decoding: Decoding, seed: int = 0) -> Completion | None:
        """The answer; None where there is none."""
        request = Request("probe", prompt, decoding, seed, cache_salt="", cache="warm")
        try:
            return await self.ask(self.shape.path, self.shape.body(request, self.accepted), "probe")
        except SeatError:
            return None


async def _accepted(ask: Ask, shape: Shape) -> tuple[Accepted, Completion]:
    """The most that a seat takes without complaint, and its first answer."""
    accepted = Accepted()
    request = Request("probe", QUESTION, Decoding(max_tokens=4), 0, cache_salt=uuid.uuid4().hex[:16])
    refused: SeatError | None = None
    for tried in (accepted, *accepted.without()):
        try:
            return tried, await ask(shape.path, shape.body(request, tried), "probe")
        except SeatError as fault:
            if fault.status not in REFUSED:
                raise
            refused = refused or fault
    assert refused is not None, "every attempt was refused"
    raise refused


async def _cache(asks: _Asks, findings: Findings) -> Findings:
    """The same long prompt twice: what the second read from the cache."""
    own, once = uuid.uuid4().hex, Decoding(max_tokens=1)
    short = await asks(f"{own} a", once)
    if short is None:
        return findings
    words = TRIED - (short.tokens_in or 0) + 1  # a word that short is one token to most tokenizers
    prompt = " ".join((own, *["a"] * max(words, 1)))
    await asks(prompt, once)
    again = await asks(prompt, once)
    if again is None:
        return findings
    findings = replace(findings, cached_tokens=_spoken(again), cached_source=again.cached_source)
    if again.cached_tokens is None or again.tokens_in is None:
        return findings
    step = _step(again.tokens_in, again.cached_tokens)
    return replace(findings, repeat_cached=again.cached_tokens, repeat_prompt=again.tokens_in, cache_step=step)


async def _sampling(asks: _Asks, findings: Findings) -> Findings:
    """One seed twice, and two others, at temperature 1."""
    sampled = Decoding(temperature=1.0, max_tokens=16)
    answers = [await asks(QUESTION, sampled, seed) for seed in (1, 1, 2, 3)]
    texts = [None if answer is None else answer.text for answer in answers]
    if None in texts:
        return findings
    varies = len(set(texts[1:])) > 1 or texts[0] != texts[1]
    # where nothing varies, one seed giving one text says nothing of seeds
    honoured = texts[0] == texts[1] if varies else None
    return replace(findings, sampling_varies=varies, seed_honoured=honoured)


async def _refuses_unknown(asks: _Asks) -> bool | None:
    body = asks.shape.body(Request("probe", "Hi", Decoding(max_tokens=1), 0), asks.accepted)
    try:
        await asks.ask(asks.shape.path, {**body, "model": f"no-such-model-{uuid.uuid4().hex[:8]}"}, "probe")
    except SeatError as fault:
        return True if fault.status is not None else None
    return False


async def _marker(asks: _Asks) -> int | None:
    """What the marker before a prompt costs (tokens)."""
    if asks.shape.isolation != "marker":
        return None
    request = Request("probe", "Hi", Decoding(max_tokens=1), 0, cache_salt=uuid.uuid4().hex[:16])
    marked, bare = await asks(asks.shape.prompt(request), request.decoding), await asks("Hi", request.decoding)
    if marked is None or bare is None or marked.tokens_in is None or bare.tokens_in is None:
        return None
    return marked.tokens_in - bare.tokens_in


def _spoken(answer: Completion) -> str:
    if answer.cached_tokens is not None:
        return "reported"
    return "absent" if answer.cached_source is None else "null"


def _counted(answer: Completion) -> bool | None:
    """Whether the seat counted its tokens as they came; chunks of one token each cannot tell."""
    return True if answer.chunk_tokens is not None and max(answer.chunk_tokens) > 1 else None


def _step(n_prompt: int, n_cached: int) -> int | None:
    """The block size by which so many are cached of a repeated prompt: whole blocks of all but its last token.

    None where nothing was, or where several sizes would give the same.
    """
    possible = [step for step in STEPS if n_cached and (n_prompt - 1) // step * step == n_cached]
    return possible[0] if len(possible) == 1 else None
