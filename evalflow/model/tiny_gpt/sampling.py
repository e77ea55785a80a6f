"""One token from one row of logits: a function of that row and the request's own generator alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evalflow.errors import ModelError
from evalflow.record import Decoding

Logits = np.ndarray[Any, np.dtype[np.floating[Any]]]


def choose(logits_v: Logits, decoding: Decoding, rng: np.random.Generator) -> int:
    """The next token: the best one (the lowest of equals) where decoding is greedy, else one draw.

    A draw inverts the cumulative distribution, float64, likeliest token first, at one uniform number of
    `rng`; top_p keeps the fewest likeliest tokens whose mass reaches it.

    Raises:
        ModelError: the logits hold a NaN or an infinity where the best one should be.
    """
    best = int(logits_v.argmax())  # numpy promises the first of equals, and a NaN before any number
    if not math.isfinite(logits_v[best]):
        raise ModelError("the model's logits are not finite; its weights are damaged, or its dtype is too narrow")
    if decoding.greedy:
        return best
    with np.errstate(over="ignore", under="ignore"):  # a tiny temperature: all but the best go to mass 0
        mass_v = np.exp((logits_v.astype(np.float64) - float(logits_v[best])) / decoding.temperature)
    order_v = np.argsort(-mass_v, kind="stable")
    reached_v = np.cumsum(mass_v[order_v])
    kept = int(np.searchsorted(reached_v, decoding.top_p * reached_v[-1], side="left")) + 1
    drawn = int(np.searchsorted(reached_v[:kept], rng.random() * reached_v[kept - 1], side="right"))
    return int(order_v[min(drawn, kept - 1)])  # a product that rounds up to the whole mass lands one too far
