"""The embedded model with a kernel broken on purpose, each in one way that a parity experiment is there to find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from evalflow.model.scorer import Window
from evalflow.model.tiny_gpt.model import TinyGPT
from evalflow.model.tiny_gpt.network import Weights
from evalflow.model.tiny_gpt.scorer import Cache, TextScorer
from evalflow.model.tiny_gpt.shape import CONTEXT, HEAD_WIDTH

BAD_PLACE = 70
"""The position whose row of logits is NaN."""


@dataclass
class ZeroedHead(TinyGPT):
    """The second head of the first layer adds nothing."""

    def weights(self) -> Weights:
        weights = dict(super().weights())
        out = weights["0.attend.out.matrix"].clone()
        out[HEAD_WIDTH : 2 * HEAD_WIDTH] = 0
        return {**weights, "0.attend.out.matrix": out}


@dataclass
class PositionsOffByOne(TinyGPT):
    """Every token stands one position further than it does."""

    def scorer(self, weights: Weights) -> TextScorer:
        return _Shifted(weights, self.dtype)


@dataclass
class StaleCache(TinyGPT):
    """The second chunk of a window reads keys and values that nobody wrote."""

    def scorer(self, weights: Weights) -> TextScorer:
        return _Stale(weights, self.dtype)


@dataclass
class OneNaNRow(TinyGPT):
    """One row of logits of one text is NaN."""

    bad_item: str = ""

    def _logits(self, windows: Sequence[Window], chunk: int | None) -> list[Any]:
        rows = super()._logits(windows, chunk)
        for window, logits_tv in zip(windows, rows, strict=True):
            if window.item_id == self.bad_item:
                logits_tv[BAD_PLACE - window.position] = float("nan")
        return rows


class _Shifted(TextScorer):
    def positions(self, seen: int, length: int) -> torch.Tensor:
        places = torch.arange(seen + 1, seen + length + 1).clamp(max=CONTEXT - 1)
        return self._weights["position"][places]


class _Stale(TextScorer):
    def remember(
        self, layer: int, cache: Cache, k_bhtd: torch.Tensor, v_bhtd: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = super().remember(layer, cache, k_bhtd, v_bhtd)
        seen, now = keys.shape[2] - k_bhtd.shape[2], k_bhtd.shape[2]
        if not 0 < seen <= now:  # the second chunk alone
            return keys, values
        stale = torch.zeros_like(keys[:, :, :seen])
        return torch.cat([stale, k_bhtd], 2), torch.cat([stale, v_bhtd], 2)
