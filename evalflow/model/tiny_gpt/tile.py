"""The cached forward pass in fixed shapes: a sequence's bits never depend on who else is computed.

A matrix product in float32 differs by about 1e-6 with the number of its rows, and attention with the length
of the cache; near ties then turn into other texts. So every step computes all slots over the whole context,
idle ones too, and every prompt is read alone, in blocks that begin at multiples of `BLOCK`. A block is the same
operations in the same shapes whatever came before it was read or put back, so a copy of its keys and values has the
bits that reading it again would give. Letters of shapes as in `network`; B is always `SLOTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from evalflow.model.tiny_gpt import vocabulary
from evalflow.model.tiny_gpt.network import Weights, norm, project, think
from evalflow.model.tiny_gpt.sampling import Logits
from evalflow.model.tiny_gpt.shape import BLOCK, CONTEXT, HEAD_WIDTH, HEADS, LAYERS, SLOTS, WIDTH

Integers = np.ndarray[Any, np.dtype[np.int64]]
Block: TypeAlias = Tensor
"""The keys and values of a whole block: (layers, 2, H, `BLOCK`, D)."""


class Tile:
    """`SLOTS` sequences with their keys and values. For one thread, inside `torch.inference_mode()`."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        dtype = weights["head"].dtype
        self._rows_b = torch.arange(SLOTS)
        # keys, then values, of each layer; one tensor, for a write costs as much as a product at this size
        self._cache = torch.zeros(LAYERS, 2, SLOTS, HEADS, CONTEXT, HEAD_WIDTH, dtype=dtype)
        seen_tt = torch.ones(CONTEXT, CONTEXT, dtype=torch.bool).tril()
        self._bias_tt = torch.zeros(CONTEXT, CONTEXT, dtype=dtype).masked_fill(~seen_tt, float("-inf"))

    def prefill(self, slot: int, tokens: Sequence[int], cached: int = 0) -> Logits:
        """Read a prompt of 1 to `CONTEXT` tokens into `slot`; the logits (V,) of what follows it.

        The first `cached` of them, whole blocks, were put there before and are not read. What an earlier tenant
        left after the prompt stays: the bias of each position hides it.
        """
        assert cached % BLOCK == 0 and cached < len(tokens), "a prefix is whole blocks, and something is left to read"
        for start in range(cached, len(tokens), BLOCK):
            logits_v = self._read(slot, tokens[start : start + BLOCK], start)
        return logits_v

    def block(self, slot: int, start: int) -> Block:
        """A copy of the keys and values of the whole block at `start`, which was read into `slot`."""
        return self._cache[:, :, slot, :, start : start + BLOCK].clone()

    def put(self, slot: int, start: int, block: Block) -> None:
        """Put a block back as if it were read, into any slot but at the `start` where it was."""
        self._cache[:, :, slot, :, start : start + BLOCK] = block

    def step(self, tokens_b: Integers, positions_b: Integers) -> Logits:
        """Read one token into every slot at its position; the logits (B, V) of what follows.

        An idle slot takes any token at position 0: it costs the same and touches nobody.
        """
        positions = torch.from_numpy(positions_b)
        x_bw = self._embed(tokens_b, self._weights["position"].index_select(0, positions))
        bias_n1t = self._bias_tt.index_select(0, positions).repeat_interleave(HEADS, dim=0)[:, None]  # N = B * H
        for layer in range(LAYERS):
            qkv_b3hd = self._qkv(layer, x_bw)
            cache_2bhtd = self._cache[layer]
            cache_2bhtd[:, self._rows_b, :, positions] = qkv_b3hd[:, 1:]
            k_ntd, v_ntd = cache_2bhtd.view(2, -1, CONTEXT, HEAD_WIDTH)
            mixed_n1d = attend(qkv_b3hd[:, 0].reshape(-1, 1, HEAD_WIDTH), k_ntd, v_ntd, bias_n1t)
            x_bw = self._finish(layer, x_bw, mixed_n1d.view(SLOTS, WIDTH))
        return self._logits(x_bw)

    def slots_agree(self) -> bool:
        """Whether one and the same sequence gets the same bits in every slot, on this machine and build.

        So do its blocks, or a prefix put back into another slot would not be what reading it there gives.
        """
        prompt = vocabulary.encode("### Input:\nabc" * 5)
        first_bv = np.stack([self.prefill(slot, prompt) for slot in range(SLOTS)])
        blocks_equal = all(torch.equal(self.block(slot, 0), self.block(0, 0)) for slot in range(SLOTS))
        next_bv = self.step(first_bv.argmax(1), np.full(SLOTS, len(prompt)))
        return blocks_equal and bool((first_bv == first_bv[0]).all() and (next_bv == next_bv[0]).all())

    def _read(self, slot: int, tokens: Sequence[int], start: int) -> Logits:
        """Read one block, whole or the last of its prompt; the logits (V,) of what follows it."""
        part = slice(start, start + len(tokens))
        x_tw = self._embed(np.array(tokens), self._weights["position"][part])
        bias_tt = self._bias_tt[part]
        for layer in range(LAYERS):
            qkv_t3hd = self._qkv(layer, x_tw)
            cache_2htd = self._cache[layer, :, slot]
            cache_2htd[:, :, part] = qkv_t3hd[:, 1:].permute(1, 2, 0, 3)
            q_htd = qkv_t3hd[:, 0].transpose(0, 1)
            if layer == LAYERS - 1:  # nobody reads its output but at the last position
                q_htd, bias_tt, x_tw = q_htd[:, -1:], bias_tt[-1:], x_tw[-1:]
            mixed_htd = attend(q_htd, cache_2htd[0], cache_2htd[1], bias_tt)
            x_tw = self._finish(layer, x_tw, mixed_htd.transpose(0, 1).reshape(-1, WIDTH))
        return self._logits(x_tw)[0]

    def _embed(self, tokens_n: Integers, position_nw: Tensor) -> Tensor:
        return self._weights["token"].index_select(0, torch.from_numpy(tokens_n)).add_(position_nw)

    def _qkv(self, layer: int, x_nw: Tensor) -> Tensor:
        """Queries, keys and values (N, 3, H, D) of N rows, whether positions or slots."""
        normed_nw = norm(self._weights, f"{layer}.attend.norm", x_nw)
        return project(self._weights, f"{layer}.attend.qkv", normed_nw).view(-1, 3, HEADS, HEAD_WIDTH)

    def _finish(self, layer: int, x_nw: Tensor, mixed_nw: Tensor) -> Tensor:
        """The rest of a layer once attention has mixed values (N, W)."""
        x_nw = x_nw + project(self._weights, f"{layer}.attend.out", mixed_nw)
        return x_nw + think(self._weights, layer, x_nw)

    def _logits(self, x_nw: Tensor) -> Logits:
        logits: Logits = (norm(self._weights, "norm", x_nw) @ self._weights["head"]).numpy()
        return logits


def attend(q_nqd: Tensor, k_ntd: Tensor, v_ntd: Tensor, bias: Tensor) -> Tensor:
    """Values (N, Q, D) mixed for the Q queries of each of N heads: two batched products over the whole context."""
    scores_nqt = torch.baddbmm(bias, q_nqd, k_ntd.transpose(1, 2), alpha=HEAD_WIDTH**-0.5)
    return torch.bmm(scores_nqt.softmax(-1), v_ntd)
