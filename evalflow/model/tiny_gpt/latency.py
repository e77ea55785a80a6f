"""The fixed-length protocol: how long a prompt and a fixed number of tokens take, whatever the answer.

It asks the tile itself, so that the whole prompt is read every time: no prefix is looked up or kept.
"""

from __future__ import annotations

import time

import numpy as np

from evalflow.model.tiny_gpt import vocabulary
from evalflow.model.tiny_gpt.shape import SLOTS
from evalflow.model.tiny_gpt.tile import Tile

PROMPT = "### Instruction:\nsay the word\n\n### Input:\nabcde\n\n### Response:\n"
TOKENS = 16
WARM_UPS = 2
REPEATS = 20


def fixed_length(tile: Tile) -> list[dict[str, float]]:
    """`REPEATS` times after the warm-ups: s to the first token, s for `TOKENS` further ones, END ignored."""
    return [_once(tile) for _ in range(WARM_UPS + REPEATS)][WARM_UPS:]


def _once(tile: Tile) -> dict[str, float]:
    prompt = vocabulary.encode(PROMPT)
    tokens_b = np.full(SLOTS, vocabulary.END)
    positions_b = np.zeros(SLOTS, dtype=np.int64)
    start = time.perf_counter()
    tokens_b[0] = tile.prefill(0, prompt).argmax()
    first = time.perf_counter()
    for position in range(len(prompt), len(prompt) + TOKENS):
        positions_b[0] = position
        tokens_b[0] = tile.step(tokens_b, positions_b)[0].argmax()
    return {"ttft_s": first - start, "decode_s": time.perf_counter() - first, "tokens": TOKENS}
