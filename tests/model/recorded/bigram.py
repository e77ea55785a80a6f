"""A model that expects by the last token alone, with a table for its weights: what recordings are taken of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalflow.errors import ModelError
from evalflow.model.protocol import Model
from evalflow.model.scorer import Encoded, Rows, Tokens, Window

WIDTH = 12


def table(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((WIDTH, WIDTH)).astype(np.float32)


@dataclass
class Bigram(Model):
    """A digit is a token; `seed` draws the table."""

    seed: int = 0
    said: str = "model"
    asked: list[str] = field(default_factory=list)

    regimes = ("cold", "warm")

    def identity(self) -> Mapping[str, Any]:
        return {"model": "bigram", "seed": self.seed}

    async def start(self) -> None:
        self.asked.append("start")

    async def close(self) -> None:
        self.asked.append("close")

    async def settle(self) -> None:
        self.asked.append("settle")

    def facts(self) -> Mapping[str, Any]:
        return {"said": self.said}

    def scorer_facts(self) -> Mapping[str, Any]:
        return {"vocabulary": WIDTH, "tokenizer": "digits", "bos": 11, "adds_bos": False, "context": 64}

    async def encode(self, text: str, item_id: str) -> Encoded:
        if not text.isdigit():
            raise ModelError("no digits")
        return Encoded(np.array([int(one) for one in text]), np.arange(len(text), dtype=np.int32))

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> list[Rows]:
        return [table(self.seed)[window.tokens[window.first - 1 : -1]] for window in windows]

    async def greedy(self, tokens: Tokens, count: int) -> Sequence[int]:
        return [7] * count
