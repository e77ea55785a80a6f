"""Scoring with the embedded model: logits at every position of a text, whole or with the cache of what came before.

The tile that answers computes in fixed shapes so that no neighbour can move a bit; here shapes are as they come, which
is what an A/A arm of another batch is there to measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from evalflow.model.int8 import Int8Matrix
from evalflow.model.tiny_gpt.network import Weights, norm
from evalflow.model.tiny_gpt.shape import CONTEXT, HEAD_WIDTH, HEADS, LAYERS, WIDTH

Dtype = Literal["float32", "float64", "bfloat16", "int8"]
Cache: TypeAlias = list[tuple[Tensor, Tensor]]
"""Per layer the keys and values (B, H, T, D) of the positions so far."""


class TextScorer:
    """The network over named weights of one dtype; int8 quantises every matrix but the embeddings, over float32."""

    def __init__(self, weights: Weights, dtype: Dtype) -> None:
        kept = torch.float32 if dtype == "int8" else getattr(torch, dtype)
        self._weights: Weights = {name: weight.to(kept) for name, weight in weights.items()}
        matrices = [name for name in weights if name == "head" or name.endswith(".matrix")] if dtype == "int8" else []
        self._int8 = {name: Int8Matrix.of(weights[name]) for name in matrices}

    def logits(self, ids_bt: Tensor, chunk: int | None = None) -> Tensor:
        """Logits (B, T, V) of every position of `ids_bt` (int64, T at most 96), bfloat16 ones read as float32.

        With `chunk` it computes so many positions at a time, from the keys and values of those before.
        """
        cache = self.empty_cache(len(ids_bt))
        parts = ids_bt.split(chunk or ids_bt.shape[1], dim=1)
        logits_btv = torch.cat([self.advance(part, cache) for part in parts], dim=1)
        return logits_btv.float() if logits_btv.dtype == torch.bfloat16 else logits_btv

    def greedy(self, tokens: Sequence[int], count: int) -> list[int]:
        """The `count` likeliest tokens after these, as far as the context reaches; of equals the lowest."""
        cache = self.empty_cache(1)
        written: list[int] = []
        given = list(tokens)
        for _ in range(min(count, CONTEXT - len(tokens) + 1)):
            logits_v = self.advance(torch.tensor([given]), cache)[0, -1]
            given = [int(logits_v.argmax())]
            written += given
        return written

    def empty_cache(self, batch: int) -> Cache:
        """The keys and values of nothing."""
        nothing = self._weights["head"].new_empty(batch, HEADS, 0, HEAD_WIDTH)
        return [(nothing, nothing) for _ in range(LAYERS)]

    def advance(self, ids_bt: Tensor, cache: Cache) -> Tensor:
        """Logits (B, T, V) of the next positions; their keys and values join the `cache`."""
        batch, length = ids_bt.shape
        seen = cache[0][0].shape[2]
        place_tw = self.positions(seen, length)
        x_nw = (self._weights["token"][ids_bt] + place_tw).view(-1, WIDTH)  # N = B * T
        hidden_ts = torch.ones(length, seen + length, dtype=torch.bool).tril(seen).logical_not()
        for layer in range(LAYERS):
            qkv_nw = self._project(f"{layer}.attend.qkv", norm(self._weights, f"{layer}.attend.norm", x_nw))
            q_bhtd, k_bhtd, v_bhtd = qkv_nw.view(batch, length, 3, HEADS, HEAD_WIDTH).permute(2, 0, 3, 1, 4)
            k_bhsd, v_bhsd = self.remember(layer, cache, k_bhtd, v_bhtd)
            scores_bhts = q_bhtd @ k_bhsd.transpose(2, 3) * HEAD_WIDTH**-0.5
            weights_bhts = scores_bhts.masked_fill(hidden_ts, float("-inf")).softmax(-1)
            mixed_nw = (weights_bhts @ v_bhsd).transpose(1, 2).reshape(-1, WIDTH)
            x_nw = x_nw + self._project(f"{layer}.attend.out", mixed_nw)
            up_nw = self._project(f"{layer}.think.up", norm(self._weights, f"{layer}.think.norm", x_nw))
            x_nw = x_nw + self._project(f"{layer}.think.out", torch.nn.functional.gelu(up_nw))
        return self._times("head", norm(self._weights, "norm", x_nw)).view(batch, length, -1)

    def positions(self, seen: int, length: int) -> Tensor:
        """The embeddings (T, W) of the next `length` positions."""
        return self._weights["position"][seen : seen + length]

    def remember(self, layer: int, cache: Cache, k_bhtd: Tensor, v_bhtd: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values (B, H, S, D) of all positions so far, these among them, which the cache then holds."""
        before_k, before_v = cache[layer]
        cache[layer] = (torch.cat([before_k, k_bhtd], 2), torch.cat([before_v, v_bhtd], 2))
        return cache[layer]

    def _project(self, name: str, x_ni: Tensor) -> Tensor:
        return self._times(f"{name}.matrix", x_ni) + self._weights[f"{name}.bias"]

    def _times(self, name: str, x_ni: Tensor) -> Tensor:
        quantised = self._int8.get(name)
        return x_ni @ self._weights[name] if quantised is None else quantised.product(x_ni)
