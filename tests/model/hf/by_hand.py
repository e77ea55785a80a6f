"""A model used while it is started, and what plain transformers says of the same tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from evalflow.model.hf.model import HF
from evalflow.model.scorer import Rows, Window

T = TypeVar("T")


def started(model: HF, use: Callable[[HF], Awaitable[T]]) -> T:
    """What `use` gives with the model started, closed afterwards."""

    async def run() -> T:
        try:
            await model.start()
            return await use(model)
        finally:
            await model.close()

    return asyncio.run(run())


def logits_of(model: HF, windows: Sequence[Window], chunk: int | None = None) -> list[Rows]:
    """The logits of windows."""
    return list(started(model, lambda each: each.logits(windows, chunk)))


def window(tokens: Sequence[int], first: int = 1) -> Window:
    """A window that scores its tokens from `first` on."""
    return Window("a", np.array(tokens, dtype=np.int64), first, first)


def plain(folder: Path, tokens: Sequence[int], dtype: str = "float32") -> np.ndarray[Any, Any]:
    """Logits (T, V) of every position, by a forward pass of transformers' own."""
    import torch
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype), local_files_only=True)
    with torch.no_grad():
        logits_tv = network(torch.tensor([list(tokens)])).logits[0]
    return np.asarray(logits_tv.double().numpy())
