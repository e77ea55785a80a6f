"""One answer, token by token."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from evalflow.errors import ModelError
from evalflow.model.hf.network import Network
from evalflow.model.hf.tokeniser import Tokeniser
from evalflow.model.tiny_gpt.sampling import choose
from evalflow.record import Completion, Decoding, FinishReason, Request, Times


@dataclass(frozen=True)
class Asked:
    """A request as tokens: its `prompt`, the tokens that `end` a text, when it was `sent` (s, monotonic), and what
    becomes set when nobody waits for it any more."""

    prompt: Sequence[int]
    end: frozenset[int]
    request: Request
    sent: float
    stops: Sequence[threading.Event]

    @property
    def stopped(self) -> bool:
        """Whether nobody waits any more."""
        return any(stop.is_set() for stop in self.stops)


def answer(network: Network, tokeniser: Tokeniser, asked: Asked) -> Completion:
    """Read the prompt and write until an ending token or a stop string ("stop"), or until there is no room ("length").

    The room is `max_tokens` and what the context leaves. Each draw is from the request's own generator, so that
    neither order nor neighbours can change it. Every token that is drawn counts, and so does the one that ends.

    Raises:
        ModelError: the prompt is too long, a stop string is empty, or the logits are not finite.
    """
    decoding = asked.request.decoding
    if "" in decoding.stop:
        raise ModelError(f"{network.name}: a stop string is empty, which would end every text; remove it")
    room = _room(network, len(asked.prompt), decoding)
    reading, rng = network.read(asked.prompt), np.random.default_rng(asked.request.seed)
    given, written, drawn_at = list(asked.prompt), [], []
    text, first_visible = "", None
    reason: FinishReason | None = None
    while reason is None:
        if asked.stopped:
            raise ModelError(f"{network.name}: the answer was given up, since nobody waits for it; ask again")
        token = choose(reading.feed(given), decoding, rng)
        drawn_at.append(time.monotonic())
        given = [token]
        if token in asked.end:
            reason = "stop"
            continue
        written.append(token)
        text, ended = cut(tokeniser.text(written), decoding.stop)
        if text and first_visible is None:
            first_visible = drawn_at[-1]
        reason = "stop" if ended else "length" if len(drawn_at) == room else None
    return Completion(
        text=text,
        finish_reason=reason,
        tokens_in=len(asked.prompt),
        tokens_out=len(drawn_at),
        tokens_source="local",
        cached_tokens=0,
        cached_source="local",
        times=Times(
            sent=asked.sent,
            first_token=drawn_at[0],
            first_visible=first_visible,
            last_token=drawn_at[-1],
            end=time.monotonic(),
        ),
        gaps=tuple(later - earlier for earlier, later in pairwise(drawn_at)),
    )


def cut(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """The text before the first stop string in it, and whether there was one."""
    found = [place for stop in stops if (place := text.find(stop)) >= 0]
    return (text[: min(found)], True) if found else (text, False)


def _room(network: Network, n_prompt: int, decoding: Decoding) -> int:
    left = decoding.max_tokens if network.context is None else network.context - n_prompt
    if left < 1:
        said = f"the prompt has {n_prompt} tokens, which leaves nothing of its context of {network.context}"
        raise ModelError(f"{network.name}: {said}; give a shorter one")
    return min(decoding.max_tokens, left)
