"""How large the network and its tile are: numbers only, so that they are known without torch."""

from __future__ import annotations

import math

from evalflow.model.tiny_gpt import vocabulary

CONTEXT = 96
WIDTH = 64
HEADS = 4
HEAD_WIDTH = WIDTH // HEADS
LAYERS = 2

SLOTS = 32
"""How many sequences are computed at once, always: idle ones too."""

BLOCK = 48
"""A prompt is read in blocks of so many tokens, the last one shorter; prefixes are kept in whole blocks.

The string tasks' prompts share 48 tokens, and one more block costs as much as about 50 tokens in one.
"""


def shapes() -> dict[str, tuple[int, ...]]:
    """Name -> shape of every weight; matrices are (in, out)."""
    table: dict[str, tuple[int, ...]] = {"token": (vocabulary.SIZE, WIDTH), "position": (CONTEXT, WIDTH)}
    for layer in range(LAYERS):
        table |= {
            f"{layer}.attend.norm.scale": (WIDTH,),
            f"{layer}.attend.norm.shift": (WIDTH,),
            f"{layer}.attend.qkv.matrix": (WIDTH, 3 * WIDTH),
            f"{layer}.attend.qkv.bias": (3 * WIDTH,),
            f"{layer}.attend.out.matrix": (WIDTH, WIDTH),
            f"{layer}.attend.out.bias": (WIDTH,),
            f"{layer}.think.norm.scale": (WIDTH,),
            f"{layer}.think.norm.shift": (WIDTH,),
            f"{layer}.think.up.matrix": (WIDTH, 4 * WIDTH),
            f"{layer}.think.up.bias": (4 * WIDTH,),
            f"{layer}.think.out.matrix": (4 * WIDTH, WIDTH),
            f"{layer}.think.out.bias": (WIDTH,),
        }
    return table | {"norm.scale": (WIDTH,), "norm.shift": (WIDTH,), "head": (WIDTH, vocabulary.SIZE)}


def parameter_count() -> int:
    """How many numbers the network holds."""
    return sum(math.prod(shape) for shape in shapes().values())
