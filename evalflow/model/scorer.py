"""What a model that scores texts can do, beside answering: read tokens, and say what it expected at each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalflow.model.protocol import Model

Tokens = NDArray[np.int64]
Rows: TypeAlias = Any
"""Logits (N, V): an array of float16, float32 or float64, or a torch tensor that may lie on a device."""


@dataclass(frozen=True)
class Encoded:
    """A text as a model reads it: its `tokens` (T,), no beginning-of-text token among them.

    `starts` (T,) is where each begins in the text (characters), -1 where the model cannot say.
    """

    tokens: Tokens
    starts: NDArray[np.int32]


@dataclass(frozen=True)
class Window:
    """A stretch of a text's tokens that a model sees at once, with a beginning-of-text token before them or without.

    `tokens` (T,) are seen. Those from `first` (at least 1) on are scored, each by the logits of the one before it; the
    first of them is the text's own token `position`.
    """

    item_id: str
    tokens: Tokens
    first: int
    position: int
    bos: bool = False
    """Whether the first of `tokens` is a beginning-of-text token, which is none of the text's own."""

    @property
    def targets(self) -> Tokens:
        """The tokens (N,) that are scored."""
        return self.tokens[self.first :]


@dataclass(frozen=True)
class TextScores:
    """What a model that gives no logits says of a text: each of its tokens, and its log-probability (nats).

    `logprobs` (T,) is NaN where it says nothing, as of a first token.
    """

    encoded: Encoded
    logprobs: NDArray[np.float64]


class Scorer(Model, Protocol):
    """A model that gives logits for every position of a text. All of it after `start`."""

    def scorer_facts(self) -> Mapping[str, Any]:
        """What two arms must share to be held against each other, and how it computes.

        `vocabulary` (size), `tokenizer` (a digest of what turns texts into tokens), `bos` (the token, or None),
        `adds_bos` (whether its tokeniser puts it there by itself), `context` (the longest window, or None).
        """
        ...

    async def encode(self, text: str, item_id: str) -> Encoded:
        """The tokens of a text.

        Raises:
            ModelError: the text cannot be read.
        """
        ...

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> Sequence[Rows]:
        """For each window the logits (N, V) that predict its `targets`, all windows computed together.

        With `chunk` each window is computed so many tokens at a time, with the cache of those before. What is given
        must stay as it is: the logits of several windows are held at once, and no two may lie in one memory.

        Raises:
            ModelError: they cannot be computed.
        """
        ...

    async def greedy(self, tokens: Tokens, count: int) -> Sequence[int]:
        """The `count` likeliest tokens after these, each given those before it; of equals the lowest.

        Raises:
            ModelError: they cannot be computed.
        """
        ...


class TextScorer(Model, Protocol):
    """A model that scores a whole text and gives no logits: a seat.

    One that scores only where its settings say so has `scores_texts`, which is False where they do not.
    """

    async def score_text(self, text: str) -> TextScores:
        """Every token of the text and its log-probability.

        Raises:
            ModelError: it was not scored.
        """
        ...


def same_length(windows: Sequence[Window]) -> list[list[int]]:
    """The places of windows by how many tokens they see, so that no batch is padded."""
    found: dict[int, list[int]] = {}
    for place, window in enumerate(windows):
        found.setdefault(len(window.tokens), []).append(place)
    return list(found.values())


SCORES = ("encode", "logits", "scorer_facts", "greedy")
"""What a model that gives logits has."""
SCORES_TEXT = ("score_text",)
"""What one has that scores whole texts and gives none."""
