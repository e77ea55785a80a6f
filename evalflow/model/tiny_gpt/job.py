"""One request inside the engine: what it has drawn so far, and when it is done."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from evalflow.errors import ModelError
from evalflow.model.tiny_gpt import vocabulary
from evalflow.model.tiny_gpt.sampling import Logits, choose
from evalflow.model.tiny_gpt.shape import CONTEXT
from evalflow.record import Completion, Decoding, FinishReason, Times

MAX_NEW = 24
"""No answer is longer (tokens): more than twice the longest right one."""


@dataclass(eq=False)
class Job:
    """A generation. It ends at END or a stop string ("stop"), else at its limit ("length").

    The limit is the least of `max_tokens`, `MAX_NEW` and what the context leaves. Every token that is drawn
    counts, and so does END.
    """

    prompt: Sequence[int]
    decoding: Decoding
    salt: str
    rng: np.random.Generator
    sent: float
    future: Future[Completion] = field(default_factory=Future)
    cached: int = 0
    text: str = ""
    drawn_at: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, prompt: str, decoding: Decoding, seed: int, salt: str = "") -> Job:
        """A job for a prompt that this model can read.

        Raises:
            ModelError: the prompt is empty, too long or holds an unknown character; a stop string is empty.
        """
        tokens = vocabulary.encode(prompt)
        if not 1 <= len(tokens) < CONTEXT:
            raise ModelError(
                f"tiny_gpt: the prompt has {len(tokens)} characters, but its context of {CONTEXT} takes 1 to "
                f"{CONTEXT - 1}; give another prompt"
            )
        if "" in decoding.stop:
            raise ModelError("tiny_gpt: a stop string is empty, which would end every text; remove it")
        return cls(tokens, decoding, salt, np.random.default_rng(seed), sent=time.monotonic())

    @property
    def limit(self) -> int:
        """How many tokens may be drawn."""
        return min(self.decoding.max_tokens, MAX_NEW, CONTEXT - len(self.prompt))

    def draw(self, logits_v: Logits) -> tuple[int, FinishReason | None]:
        """Take the next token from its logits (V,); with it why the text ends here, None where it goes on.

        Raises:
            ModelError: the logits are not finite.
        """
        token = choose(logits_v, self.decoding, self.rng)
        self.drawn_at.append(time.monotonic())
        if token == vocabulary.END:
            return token, "stop"
        self.text += vocabulary.decode([token])
        for stop in self.decoding.stop:
            if self.text.endswith(stop):
                self.text = self.text.removesuffix(stop)
                return token, "stop"
        return token, "length" if len(self.drawn_at) == self.limit else None

    def completion(self, reason: FinishReason) -> Completion:
        """What the job answers."""
        first, last = self.drawn_at[0], self.drawn_at[-1]
        return Completion(
            text=self.text,
            finish_reason=reason,
            tokens_in=len(self.prompt),
            tokens_out=len(self.drawn_at),
            tokens_source="local",
            cached_tokens=self.cached,
            cached_source="local",
            times=Times(
                sent=self.sent,
                first_token=first,
                first_visible=first if self.text else None,
                last_token=last,
                end=time.monotonic(),
            ),
            gaps=tuple(later - earlier for earlier, later in pairwise(self.drawn_at)),
        )
