"""A text longer than a model's window, cut into windows that overlap: which tokens each one scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import index
from typing import Literal, get_args

Bos = Literal["none", "first", "each"]


@dataclass(frozen=True)
class StridedWindow:
    """Tokens `start` to `stop` - 1 of a text, seen at once; those from `first` on are scored here and nowhere else."""

    start: int
    stop: int
    first: int
    bos: bool
    """Whether a beginning-of-text token stands before them, which the model sees beside the window's own tokens."""

    def contexts(self) -> Iterator[tuple[int, int]]:
        """Each scored token's position in the text, and how many tokens the model sees before it, a BOS among them."""
        for position in range(self.first, self.stop):
            yield position, position - self.start + self.bos


def strided_plan(n_tokens: int, window: int, stride: int, bos: Bos = "none") -> list[StridedWindow]:
    """The windows of a text of `n_tokens`: of `window` tokens, each beginning `stride` tokens after the one before.

    Each scores what no window before it did; the first scores all that it can, and the last, where it is short, only
    what is new. So every token is scored exactly once, but for tokens that nothing stands before: the first of the
    text, and where windows do not overlap (stride = window) the first of each of them; a BOS before the window stands
    before those too. It stands before no window ("none"), the "first" or "each", and is not counted in `window`.

    A token beyond the first window has window - stride tokens of the text before it, or more.

    Raises:
        ValueError: window below 2, stride outside 1..window, n_tokens below 0, or another bos.
        TypeError: a number that is no integer.
    """
    n, size, step = index(n_tokens), index(window), index(stride)
    if bos not in get_args(Bos):
        raise ValueError(f"bos is {bos!r}; give one of {', '.join(get_args(Bos))}")
    if size < 2:
        raise ValueError(f"window is {size}; give at least 2 tokens: one to see, one to score")
    if not 1 <= step <= size:
        raise ValueError(f"stride is {step}; give 1 to the window's {size} tokens, or some would be in no window")
    if n < 0:
        raise ValueError(f"n_tokens is {n}; give 0 or more")
    plan: list[StridedWindow] = []
    for start in range(0, n, step):
        begun = bos == "each" or (bos == "first" and start == 0)
        done = plan[-1].stop if plan else 0
        stop = min(start + size, n)
        plan.append(StridedWindow(start, stop, max(done, start + (not begun)), begun))
        if stop == n:
            break
    return [part for part in plan if part.first < part.stop]
