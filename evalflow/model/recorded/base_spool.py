"""A base file in the making: chunks as they come, in a file without a name until all are there."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from evalflow.errors import ModelError
from evalflow.model.recorded.about import read_about, write_about
from evalflow.model.recorded.base_file import BaseFileWriter, about_path, chunk_of, tokens_digest
from evalflow.model.recorded.on_disk import writing
from evalflow.model.scorer import Encoded, Tokens, Window
from evalflow.numeric.base_file import Layout, encode


class BaseSpool:
    """llama.cpp's base file of `n_ctx` tokens a chunk, written at the end of a walk.

    Chunks are windows of `windows_of`, one after another of each text; rows of their first halves are left out. They
    stand in the order of texts and places, whatever order they came in. A file that is there is kept where it is of the
    same model, and refused where not, unless `overwrite` replaces it.
    """

    def __init__(self, path: Path, n_ctx: int, overwrite: bool) -> None:
        self._path = path
        self._n_ctx = n_ctx
        self._overwrite = overwrite
        self._about: Mapping[str, Any] = {}
        self._layout = Layout(n_ctx, 1, 1)
        self._spool: IO[bytes] | None = None
        self._texts: dict[str, Tokens | None] = {}
        self._chunks: dict[tuple[str, int], tuple[int, Tokens]] = {}

    def conflict(self, identity: Mapping[str, Any]) -> str | None:
        """Why this model cannot be recorded here, and what to do; None where it can."""
        if self._overwrite or not self._path.exists():
            return None
        about = about_path(self._path)
        if about.is_file() and read_about(about)["model"] == identity:
            return None
        return f"{self._path} is there, and not known to be of this model; give another path, or overwrite=true"

    def begin(self, about: Mapping[str, Any]) -> None:
        """Make ready, unless the file is there.

        Raises:
            ModelError: it is of another model, or cannot be written.
        """
        told = self.conflict(about["model"])
        if told is not None:
            raise ModelError(told, "recorded")
        self._about = about
        self._layout = Layout(self._n_ctx, about["scorer"]["vocabulary"], 1)
        if self._overwrite or not self._path.exists():
            with writing(self._path):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._spool = tempfile.TemporaryFile(dir=self._path.parent)  # noqa: SIM115 - closed by close

    def text(self, item_id: str, text: str, encoded: Encoded) -> None:
        """Keep a text's own tokens: a window may begin with another one."""
        self._texts.setdefault(item_id, encoded.tokens)

    def window(self, window: Window, rows_nv: NDArray[np.floating]) -> None:
        """Keep a chunk's rows.

        Raises:
            ModelError: the window is no chunk, its rows are not of the model's vocabulary, or nothing can be written.
        """
        if self._spool is None:
            return
        place, n = chunk_of(window, self._n_ctx), len(window.tokens)
        if place is None or n != self._n_ctx or window.first > self._layout.first:
            said = f"item {window.item_id!r}: {n} tokens, scored from token {window.position} on"
            raise ModelError(f"{said}, are no chunk of {self._n_ctx}; walk texts as llama.cpp does", "no_chunk")
        if rows_nv.shape[1] != self._layout.n_vocab:
            said = f"rows of {rows_nv.shape[1]} entries, and its vocabulary is {self._layout.n_vocab}"
            raise ModelError(f"item {window.item_id!r}: {said}; mend the model", "bad_rows")
        (chunk, front), own = place, self._texts.setdefault(window.item_id, None)
        if (window.item_id, chunk) in self._chunks:
            return
        begin = chunk * self._n_ctx - front
        # the file holds the text's own tokens, and the window another one in the place of the first
        tokens = window.tokens if own is None or begin < 0 else own[begin : begin + n]
        records = encode(rows_nv[self._layout.first - window.first :])
        with writing(self._path):
            at = self._spool.seek(0, 2)
            self._spool.write(records.tobytes())
        self._chunks[window.item_id, chunk] = at, tokens

    def finish(self) -> None:
        """Write the file, and beside it whose it is.

        Raises:
            ModelError: no chunk came, or it cannot be written.
        """
        if self._spool is None:
            return
        if not self._chunks:
            raise ModelError(f"{self._path}: no chunk of {self._n_ctx} tokens came; give longer texts", "no_chunk")
        order = {item_id: place for place, item_id in enumerate(self._texts)}
        chunks = [self._chunks[key] for key in sorted(self._chunks, key=lambda key: (order[key[0]], key[1]))]
        with writing(self._path):
            about_path(self._path).unlink(missing_ok=True)
            tokens_cn = np.stack([own for _, own in chunks])
            with BaseFileWriter(self._path, tokens_cn, self._layout.n_vocab) as writer:
                for at, _ in chunks:
                    self._spool.seek(at)
                    taken = self._spool.read(self._layout.chunk_bytes)
                    writer.add_records(np.frombuffer(taken, "<u2").reshape(self._layout.rows, -1))
            write_about(about_path(self._path), {**self._about, "tokens_sha256": tokens_digest(tokens_cn)})

    def facts(self) -> Mapping[str, Any]:
        """How many chunks came."""
        if self._spool is None:
            return {"path": str(self._path), "kept": True}
        return {"path": str(self._path), "chunks": len(self._chunks)}

    def close(self) -> None:
        """Leave nothing behind but what was finished."""
        if self._spool is not None:
            self._spool.close()
