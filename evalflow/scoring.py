"""How a text is scored: which windows of it a model sees, and by which path it computes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Bos = Literal["auto", "none", "first", "each"]


@dataclass(frozen=True)
class Scoring:
    """Teacher forcing: the model sees the text as it is, and every token is scored given those before it.

    Windows of `window` tokens advance by `stride`; each scores what no window before it did, so that a token has at
    least `window - stride` tokens of context, but for the first of the text, which is scored after a beginning-of-text
    token alone. Where `stride` is null they overlap no more than it takes to score every token once. `bos` says
    where the model's beginning-of-text token stands: before `each` window, before the `first`, nowhere, or (`auto`)
    before each where the model's tokeniser puts one and nowhere else.

    A `walk` as `llama_cpp` has it is one of whole chunks of `window` tokens, each scored in its second half alone, a
    beginning-of-text token in place of its first; what is left over is not scored. Its base files hold no other.

    `path` is how a window is computed: `whole`, in `chunks` of `chunk` tokens, or token by token (`tokens`), the last
    two with the key-value cache of what came before. `batch` windows are computed at once, `backwards` in reverse
    order: neither can move a sound model by more than rounding.

    `free_run` tokens are written greedily after the first `free_from` of each text, to see where two arms part.
    """

    window: int = 512
    stride: int | None = None
    bos: Bos = "auto"
    walk: Literal["strided", "llama_cpp"] = "strided"
    path: Literal["whole", "chunks", "tokens"] = "whole"
    chunk: int = 32
    batch: int = 1
    backwards: bool = False
    free_run: int = 0
    free_from: int = 32

    def __post_init__(self) -> None:
        if self.window < 2:
            raise ValueError(f"window is {self.window}; give at least 2 tokens: one to see, one to score")
        if self.stride is not None and not 1 <= self.stride <= self.window:
            raise ValueError(f"stride is {self.stride}; give 1 to the window's {self.window} tokens")
        if self.walk == "llama_cpp" and (self.stride is not None or self.bos == "first"):
            raise ValueError("walk is llama_cpp, whose chunks do not overlap; leave stride out, and bos=first")
        if self.stride == self.window and self.bos in ("none", "first"):
            said = f"stride is {self.stride}, the whole window: nothing would stand before the first token of each"
            raise ValueError(f"{said}; give at most {self.window - 1}, or bos=each")
        for name in ("chunk", "batch", "free_from"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give at least 1")
        if self.free_run < 0:
            raise ValueError(f"free_run is {self.free_run}; give at least 0")

    @property
    def chunk_tokens(self) -> int | None:
        """Tokens computed at once; None for all of a window."""
        return {"whole": None, "chunks": self.chunk, "tokens": 1}[self.path]
