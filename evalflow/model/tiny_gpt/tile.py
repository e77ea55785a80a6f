"""The cached forward pass in fixed shapes: a sequence's bits never depend on who else is computed.

A matrix product in float32 differs by about 1e-6 with the number of its rows, and attention with the length
of the cache; near ties then turn into other texts. So every step computes all slots over the whole context,
idle ones too, and every prompt is read alone. Letters of shapes as in `network`; B is always `SLOTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from evalflow.model.tiny_gpt import vocabulary
from evalflow.model.tiny_gpt.network import Weights, norm, project, think
from evalflow.model.tiny_gpt.sampling import Logits
from evalflow.model.tiny_gpt.shape import CONTEXT, HEAD_WIDTH, HEADS, LAYERS, SLOTS, WIDTH

Integers = np.ndarray[Any, np.dtype[np.int64]]


class Tile:
    """`SLOTS` sequences with their keys and values. For one thread, inside `torch.inference_mode()`."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        dtype = weights["head"].dtype
        self._rows_b = torch.arange(SLOTS)
        # keys lie across positions and values along them, so that a step's two products read both in order
        self._keys = [torch.zeros(SLOTS, HEADS, HEAD_WIDTH, CONTEXT, dtype=dtype) for _ in range(LAYERS)]
        self._values = [torch.zeros(SLOTS, HEADS, CONTEXT, HEAD_WIDTH, dtype=dtype) for _ in range(LAYERS)]
        seen_tt = torch.ones(CONTEXT, CONTEXT, dtype=torch.bool).tril()
        self._bias_tt = torch.zeros(CONTEXT, CONTEXT, dtype=dtype).masked_fill(~seen_tt, float("-inf"))

    def prefill(self, slot: int, tokens: Sequence[int]) -> Logits:
        """Read a prompt of 1 to `CONTEXT` tokens into `slot`; the logits (V,) of what follows it.

        What an earlier tenant left after the prompt stays there: the length mask of each step hides it.
        """
        x_tw = self._weights["token"][torch.tensor(tokens)] + self._weights["position"][: len(tokens)]
        for layer in range(LAYERS):
            q_htd = self._remember(layer, slot, x_tw)
            # nobody reads the last layer's output but at the last position
            first = len(tokens) - 1 if layer == LAYERS - 1 else 0
            bias_tt = self._bias_tt[first : len(tokens)]
            mixed_htd = self._attend(layer, slice(slot, slot + 1), q_htd[:, first:], bias_tt)
            x_tw = self._block(layer, x_tw[first:], mixed_htd.transpose(0, 1).reshape(-1, WIDTH))
        return self._logits(x_tw)[0]

    def step(self, tokens_b: Integers, positions_b: Integers) -> Logits:
        """Read one token into every slot at its position; the logits (B, V) of what follows.

        An idle slot takes any token at position 0: it costs the same and touches nobody.
        """
        positions = torch.from_numpy(positions_b)
        x_bw = self._weights["token"][torch.from_numpy(tokens_b)] + self._weights["position"][positions]
        bias_n1t = self._bias_tt[positions].repeat_interleave(HEADS, dim=0)[:, None]  # N = B * H
        for layer in range(LAYERS):
            q_bhd, k_bhd, v_bhd = self._qkv(layer, x_bw).view(SLOTS, 3, HEADS, HEAD_WIDTH).unbind(1)
            self._keys[layer][self._rows_b, :, :, positions] = k_bhd
            self._values[layer][self._rows_b, :, positions] = v_bhd
            mixed_n1d = self._attend(layer, slice(None), q_bhd.reshape(-1, 1, HEAD_WIDTH), bias_n1t)
            x_bw = self._block(layer, x_bw, mixed_n1d.view(SLOTS, WIDTH))
        return self._logits(x_bw)

    def slots_agree(self) -> bool:
        """Whether one and the same sequence gets the same bits in every slot, on this machine and build."""
        prompt = vocabulary.encode("### Input:\nabc")
        first_bv = np.stack([self.prefill(slot, prompt) for slot in range(SLOTS)])
        next_bv = self.step(first_bv.argmax(1), np.full(SLOTS, len(prompt)))
        return bool((first_bv == first_bv[0]).all() and (next_bv == next_bv[0]).all())

    def _remember(self, layer: int, slot: int, x_tw: Tensor) -> Tensor:
        """Put the keys and values of a whole prompt into the cache; its queries (H, T, D)."""
        length = len(x_tw)
        q_htd, k_htd, v_htd = self._qkv(layer, x_tw).view(length, 3, HEADS, HEAD_WIDTH).permute(1, 2, 0, 3).unbind()
        self._keys[layer][slot, :, :, :length] = k_htd.transpose(1, 2)
        self._values[layer][slot, :, :length] = v_htd
        return q_htd

    def _attend(self, layer: int, slots: slice, q_nqd: Tensor, bias: Tensor) -> Tensor:
        """Values (N, Q, D) mixed for Q queries of each slot and head: two batched products over the cache."""
        k_ndt = self._keys[layer][slots].view(-1, HEAD_WIDTH, CONTEXT)
        v_ntd = self._values[layer][slots].view(-1, CONTEXT, HEAD_WIDTH)
        scores_nqt = torch.baddbmm(bias, q_nqd, k_ndt, alpha=HEAD_WIDTH**-0.5)
        return torch.bmm(scores_nqt.softmax(-1), v_ntd)

    def _qkv(self, layer: int, x_nw: Tensor) -> Tensor:
        normed_nw = norm(self._weights, f"{layer}.attend.norm", x_nw)
        return project(self._weights, f"{layer}.attend.qkv", normed_nw)

    def _block(self, layer: int, x_nw: Tensor, mixed_nw: Tensor) -> Tensor:
        """The rest of a block once attention has mixed values: N rows, whether positions or slots."""
        x_nw = x_nw + project(self._weights, f"{layer}.attend.out", mixed_nw)
        return x_nw + think(self._weights, layer, x_nw)

    def _logits(self, x_nw: Tensor) -> Logits:
        logits: Logits = (norm(self._weights, "norm", x_nw) @ self._weights["head"]).numpy()
        return logits
