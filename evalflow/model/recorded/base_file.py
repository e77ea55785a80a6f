"""llama.cpp's base file on disk: read a chunk at a time, written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evalflow.errors import ModelError
from evalflow.model.recorded.about import read_about
from evalflow.model.recorded.on_disk import part_of, writing
from evalflow.model.scorer import Tokens, Window
from evalflow.numeric.base_file import (
    Layout,
    Records,
    check_tokens,
    chunk_id,
    encode,
    log_probabilities,
    read_head,
    read_layout,
)


class BaseFile:
    """A base file, checked and mapped: opening one reads its header and tokens, and a chunk's rows are read when asked.

    `about` is what a `Recorder` wrote beside it of the model, and else empty.

    Raises:
        ModelError: it cannot be read, is no base file, is cut off or longer than it says, or holds an unknown token.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.layout, self.tokens_cn = read_head_of(path)
        self.about = self._read_about(about_path(path))
        shape = (self.layout.n_chunk, self.layout.rows, self.layout.record_units)
        self._records: NDArray[np.uint16] = np.memmap(path, "<u2", "r", self.layout.records_at, shape)

    def records(self, chunk: int, start: int, stop: int) -> Records:
        """The rows `start` to `stop` of a chunk (all from 0) as they lie in the file."""
        return np.asarray(self._records[chunk, start:stop])

    def rows(self, chunk: int, start: int, stop: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """The log-probabilities (N, V) of the same rows, and the mass (N,) of each row's tail; see `log_probabilities`.

        Raises:
            ModelError: a row is damaged.
        """
        try:
            return log_probabilities(self.records(chunk, start, stop), self.layout.n_vocab)
        except ValueError as fault:
            raise ModelError(f"{self.path}: {chunk_id(chunk)} from row {start}: {fault}", "unreadable") from None

    def _read_about(self, beside: Path) -> Mapping[str, Any]:
        if not beside.is_file():
            return {}
        about = read_about(beside)
        if about.get("tokens_sha256") != tokens_digest(self.tokens_cn):
            raise ModelError(f"{beside}: it is of other tokens than {self.path.name}; remove it", "unreadable")
        return about


class BaseFileWriter:
    """Writes a base file: the tokens first, then every chunk's logits in order, then `close` gives it its name.

    Used as a context, an exception leaves nothing behind. A process that is killed leaves `.NAME.part` alone.

    Raises:
        ModelError: it cannot be written.
        ValueError: the tokens (chunks, n_ctx) are not of this vocabulary, or are too few for a row.
    """

    def __init__(self, path: Path, tokens_cn: NDArray[np.integer], n_vocab: int) -> None:
        n_chunk, n_ctx = tokens_cn.shape
        self.path = path
        self.layout = Layout(n_ctx, n_vocab, n_chunk)
        read_layout(self.layout.header(), self.layout.size)
        check_tokens(tokens_cn, n_vocab)
        self._part = part_of(path)
        self._written = 0
        with writing(path):
            self._file = self._part.open("wb")
            self._file.write(self.layout.header())
            self._file.write(tokens_cn.astype("<i4").tobytes())

    def add(self, logits_nv: NDArray[np.floating]) -> None:
        """Write the next chunk's rows (N, V), one for each of its tokens from `layout.first` on.

        Raises:
            ModelError: it cannot be written.
            ValueError: they are not of this shape.
        """
        if logits_nv.shape != (self.layout.rows, self.layout.n_vocab):
            said = f"logits of shape {logits_nv.shape} for a chunk"
            raise ValueError(f"{said}; give ({self.layout.rows}, {self.layout.n_vocab})")
        self.add_records(encode(logits_nv))

    def add_records(self, records_nu: Records) -> None:
        """Write the next chunk's rows as `encode` gives them.

        Raises:
            ModelError: it cannot be written.
        """
        with writing(self.path):
            self._file.write(records_nu.astype("<u2", copy=False).tobytes())
        self._written += 1

    def close(self) -> None:
        """Give the file its name.

        Raises:
            ModelError: it cannot be written.
            ValueError: chunks are missing; nothing is left behind.
        """
        if self._written != self.layout.n_chunk:
            self.discard()
            raise ValueError(f"{self._written} chunks of logits for {self.layout.n_chunk} chunks of tokens; add all")
        with writing(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._part.replace(self.path)

    def discard(self) -> None:
        """Leave nothing behind."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._part.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def read_head_of(path: Path) -> tuple[Layout, NDArray[np.int32]]:
    """The layout of a base file, and its tokens (chunks, n_ctx).

    Raises:
        ModelError: it cannot be read, is no base file, is cut off or longer than it says, or holds an unknown token.
    """
    try:
        with path.open("rb") as file:
            return read_head(file)
    except (OSError, ValueError) as fault:
        raise _unreadable(path, fault) from None


def tokens_digest(tokens: NDArray[np.integer]) -> str:
    """SHA-256 of tokens, of a text (T,) or of chunks (chunks, n_ctx), as a base file holds them."""
    return hashlib.sha256(tokens.astype("<i4").tobytes()).hexdigest()


def about_path(path: Path) -> Path:
    """Where a `Recorder` says whose base file it is."""
    return path.with_name(f"{path.name}.json")


def windows_of(
    item_id: str, tokens: Tokens, n_ctx: int, bos: int | None = None, in_front: bool = False
) -> tuple[Window, ...]:
    """llama.cpp's walk of a text (T,): whole chunks of `n_ctx` tokens, each scored in its second half alone.

    `bos`, which `llama-perplexity` uses where the model's vocabulary asks for it, takes the place of each chunk's first
    token. With `in_front` it stands before the text too, as llama.cpp's tokeniser has it then, and the first chunk
    keeps all of its tokens. What is left after the last whole chunk is not scored.
    """
    stream = np.concatenate([[bos], tokens]) if bos is not None and in_front else tokens
    first, front = Layout(n_ctx, 1, 1).first, len(stream) - len(tokens)
    windows = []
    for start in range(0, len(stream) - n_ctx + 1, n_ctx):
        seen = stream[start : start + n_ctx].copy()
        if bos is not None:
            seen[0] = bos
        windows.append(Window(item_id, seen, first, start + first - front, bos is not None))
    return tuple(windows)


def chunk_of(window: Window, n_ctx: int) -> tuple[int, int] | None:
    """Which chunk (from 0) of its text a window of `windows_of` is, and how many tokens stand before the text (0, 1).

    None of a window that begins elsewhere.
    """
    for front in (0, 1) if window.bos else (0,):
        chunk, over = divmod(window.position - window.first + front, n_ctx)
        if chunk >= 0 and not over:
            return chunk, front
    return None


def _unreadable(path: Path, fault: OSError | ValueError) -> ModelError:
    said = f"cannot be read ({fault.strerror}); give a base file" if isinstance(fault, OSError) else str(fault)
    return ModelError(f"{path}: {said}", "unreadable")
