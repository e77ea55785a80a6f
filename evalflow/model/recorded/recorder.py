"""A model whose logits are written down as they are computed, so that a later run can do without it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from evalflow.model.recorded.about import about_model
from evalflow.model.recorded.base_spool import BaseSpool
from evalflow.model.recorded.window_folder import WindowFolder
from evalflow.model.reduction import here
from evalflow.model.scorer import SCORES, Encoded, Rows, Window


class Sink(Protocol):
    """Where what a model says is written; see `WindowFolder` and `BaseSpool`."""

    def conflict(self, identity: Mapping[str, Any]) -> str | None: ...
    def begin(self, about: Mapping[str, Any]) -> None: ...
    def text(self, item_id: str, text: str, encoded: Encoded) -> None: ...
    def window(self, window: Window, rows_nv: NDArray[np.floating]) -> None: ...
    def finish(self) -> None: ...
    def facts(self) -> Mapping[str, Any]: ...
    def close(self) -> None: ...


@dataclass
class Recorder:
    """The `model` that it is given, and nothing else; what it says of texts is written to `path` on the way.

    `format` says how. As `rows`, a folder that `RecordedLogits` reads: every window as it is computed, in the model's
    own precision (bfloat16 as float32, which loses nothing). A run that is cut short leaves whole windows, and is gone
    on with.
    As `base`, a file that `BaseFileModel` and llama.cpp read: chunks of `n_ctx` tokens, put together of whole texts at
    the end of a session; a later one adds the texts that it lacks (see `BaseSpool`).
    Of the same model nothing is written twice, and of another nothing is replaced, unless `overwrite` says so.
    """

    model: object
    path: str
    format: Literal["rows", "base"] = "rows"
    n_ctx: int | None = None
    overwrite: bool = False

    def __post_init__(self) -> None:
        absent = [name for name in SCORES if not hasattr(self.model, name)]
        if absent:
            raise ValueError(
                f"model is {type(self.model).__name__}, which has no {absent[0]}; give one that gives logits"
            )
        if (self.format == "base") != (self.n_ctx is not None):
            raise ValueError(f"n_ctx is {self.n_ctx}; give the tokens of a chunk with format=base, and only then")
        if self.n_ctx is not None and self.n_ctx < 3:
            raise ValueError(f"n_ctx is {self.n_ctx}; give at least 3 tokens")
        self._model: Any = self.model
        self._turn = asyncio.Lock()
        where = Path(self.path)
        self._sink: Sink = (
            WindowFolder(where, self.overwrite) if self.n_ctx is None else BaseSpool(where, self.n_ctx, self.overwrite)
        )

    def __getattr__(self, name: str) -> Any:
        """Whatever is not said here is the model's own."""
        if name.startswith("__") or "_model" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._model, name)

    def missing(self) -> str | None:
        """What the model lacks, or what stands where it is to be recorded."""
        told: str | None = self._model.missing()
        return told or self._sink.conflict(self._about()["model"])

    async def start(self) -> None:
        """Start the model, and make ready to write.

        Raises:
            ModelError: either cannot be done.
        """
        await self._model.start()
        await asyncio.to_thread(self._sink.begin, self._about(self._model.scorer_facts()))

    async def encode(self, text: str, item_id: str) -> Encoded:
        """The model's own tokens, written down."""
        encoded: Encoded = await self._model.encode(text, item_id)
        async with self._turn:
            await asyncio.to_thread(self._sink.text, item_id, text, encoded)
        return encoded

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> Sequence[Rows]:
        """The model's own rows, written down."""
        rows: Sequence[Rows] = await self._model.logits(windows, chunk)
        async with self._turn:
            for window, one in zip(windows, rows, strict=True):
                await asyncio.to_thread(self._write, window, one)
        return rows

    async def settle(self) -> None:
        """Let the model look at itself, and finish the recording.

        Raises:
            ModelError: it cannot be written.
        """
        await self._model.settle()
        await asyncio.to_thread(self._sink.finish)

    def facts(self) -> Mapping[str, Any]:
        """The model's own, and what was recorded."""
        return {**self._model.facts(), "recording": self._sink.facts()}

    async def close(self) -> None:
        """Close both."""
        try:
            await self._model.close()
        finally:
            self._sink.close()

    def _write(self, window: Window, rows: Rows) -> None:
        self._sink.window(window, here(rows))

    def _about(self, scorer: Mapping[str, Any] | None = None) -> dict[str, Any]:
        own_tokens = bool(getattr(self._model, "own_tokens", True)) if scorer is not None else True
        return about_model(self._model.identity(), scorer or {}, own_tokens)
