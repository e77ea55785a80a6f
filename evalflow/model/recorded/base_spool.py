"""A base file in the making: a folder beside it holds each chunk as it comes, until its text is in the file."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalflow.errors import ModelError
from evalflow.model.recorded.about import read_about, write_about
from evalflow.model.recorded.base_file import (
    BaseFile,
    BaseFileWriter,
    about_path,
    chunk_of,
    read_head_of,
    tokens_digest,
)
from evalflow.model.recorded.chunk_folder import ChunkFolder
from evalflow.model.recorded.held_text import Chunk, HeldText, texts_told
from evalflow.model.recorded.on_disk import writing
from evalflow.model.recorded.text import NAMED, check_tokens
from evalflow.model.scorer import Encoded, Tokens, Window
from evalflow.numeric.base_file import MAGIC, Layout, encode

ELSE = "give another path, or overwrite=true"
BEGINS = ("a beginning-of-text token in place of each chunk's first", "a beginning-of-text token before the text")
"""Where one stood, by how many tokens stand before the text."""


class BaseSpool:
    """llama.cpp's base file of `n_ctx` tokens a chunk, put together of whole texts at the end of a session.

    Chunks are windows of `windows_of`; rows of their first halves are left out. Texts stand in the order they first
    came in, chunks in that of their text. A process may be killed: `NAME.spool` keeps every chunk that is not in the
    file yet, and of a text whose walk was cut short for as long as it is. No recorder knows how many texts are still
    to come, so the note beside the file names those that are in it, and those that are `unfinished`.

    A file of the same model is gone on with: what it has is held against what comes and kept, what it lacks is added.
    With `overwrite`, what comes is written anew in its place, and a file of another model is replaced.
    """

    def __init__(self, path: Path, n_ctx: int, overwrite: bool) -> None:
        self._path = path
        self._n_ctx = n_ctx
        self._overwrite = overwrite
        self._folder = ChunkFolder(path.with_name(f"{path.name}.spool"))
        self._about: dict[str, Any] = {}
        self._layout = Layout(n_ctx, 1, 1)
        self._base: BaseFile | None = None
        self._texts: dict[str, HeldText] = {}
        self._own: dict[str, Tokens] = {}
        self._counts = {"chunks_written": 0, "chunks_kept": 0}
        self._alone = threading.Lock()  # a run that is stopped does not wait for a chunk that is being written

    def conflict(self, identity: Mapping[str, Any]) -> str | None:
        """Why this model cannot be recorded here, and what to do; None where it can."""
        told = self._folder.conflict(identity, self._overwrite)
        if told is not None:
            return told
        beside = about_path(self._path)
        try:
            known = read_about(beside) if beside.exists() else self._folder.pending()
        except ModelError:
            return f"{beside} would be written, and is there and no recording's; give another path"
        if self._path.exists():
            if not _is_base_file(self._path):
                return f"{self._path} is there and no base file; give another path"
            if not self._overwrite and (known is None or known["model"] != identity):
                return f"{self._path} is there, and not known to be of this model; {ELSE}"
        return None

    def begin(self, about: Mapping[str, Any]) -> None:
        """Find what earlier sessions left, and go on with it.

        Raises:
            ModelError: it is of another model or of other chunks, is damaged, or cannot be written.
        """
        told = self.conflict(about["model"])
        if told is not None:
            raise ModelError(told, "recorded")
        self._about = {**about, "n_ctx": self._n_ctx}
        self._layout = Layout(self._n_ctx, about["scorer"]["vocabulary"], 1)
        self._texts, self._own, self._base = {}, {}, None
        with writing(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            spooled = self._folder.begin(self._about, self._overwrite)
            self._mend()
            self._go_on()
        for item_id, text in spooled.items():
            self._texts[item_id] = text.over(self._texts.get(item_id))

    def text(self, item_id: str, text: str, encoded: Encoded) -> None:
        """Keep a text's own tokens: a window may begin with another one.

        Raises:
            ModelError: another text was recorded of this item.
        """
        with self._alone:
            self._own[item_id] = encoded.tokens
            held = self._texts.get(item_id)
            if held is not None and held.sha256 not in (None, tokens_digest(encoded.tokens)):
                self._replace(item_id, "was recorded of another text")

    def window(self, window: Window, rows_nv: NDArray[np.floating]) -> None:
        """Keep a chunk's rows.

        Raises:
            ModelError: the window is no chunk, its rows are not of the model's vocabulary, another was recorded in its
                place, or nothing can be written.
        """
        place, n = chunk_of(window, self._n_ctx), len(window.tokens)
        if place is None or n != self._n_ctx or window.first > self._layout.first:
            said = f"item {window.item_id!r}: {n} tokens, scored from token {window.position} on"
            raise ModelError(f"{said}, are no chunk of {self._n_ctx}; walk texts as llama.cpp does", "no_chunk")
        if rows_nv.shape[1] != self._layout.n_vocab:
            said = f"rows of {rows_nv.shape[1]} entries, and its vocabulary is {self._layout.n_vocab}"
            raise ModelError(f"item {window.item_id!r}: {said}; mend the model", "bad_rows")
        with self._alone:
            self._keep(window, rows_nv, *place)

    def finish(self) -> None:
        """Write the file, and beside it whose it is and which texts it holds.

        Raises:
            ModelError: no chunk came, or it cannot be written.
        """
        with self._alone:
            if not self._texts:
                raise ModelError(f"{self._path}: no chunk of {self._n_ctx} tokens came; give longer texts", "no_chunk")
            whole = {item_id: held for item_id, held in self._texts.items() if held.is_whole}
            n_before = 0 if self._base is None else self._base.layout.n_chunk
            n_now = sum(len(held.chunks) for held in whole.values())
            if whole and (n_now != n_before or any(held.spooled for held in whole.values())):
                with writing(self._path):
                    self._put_together(whole)

    def facts(self) -> Mapping[str, Any]:
        """How many texts and chunks are kept, how many chunks came anew, and the texts that are not in the file."""
        n_chunks = sum(len(held.chunks) for held in self._texts.values())
        told = {"path": str(self._path), "texts": len(self._texts), "chunks": n_chunks, **self._counts}
        lacking = [item_id for item_id, held in self._texts.items() if held.spooled or not held.is_whole]
        if not lacking:
            return told
        names = lacking[:NAMED] + (["..."] if len(lacking) > NAMED else [])
        return {**told, "unfinished": len(lacking), "unfinished_texts": names, "spool": str(self._folder.path)}

    def close(self) -> None:
        """Nothing: no file is open."""

    def _mend(self) -> None:
        """Write the note that a process was killed before writing: the file is of its tokens already."""
        pending = self._folder.pending()
        if pending is not None and self._path.exists():
            _, tokens_cn = read_head_of(self._path)
            if tokens_digest(tokens_cn) == pending.get("tokens_sha256"):
                write_about(about_path(self._path), pending)

    def _go_on(self) -> None:
        """Take what the file holds, unless it is to be replaced."""
        if not self._path.exists():
            return
        beside = about_path(self._path)
        known = read_about(beside) if beside.exists() else {}
        if {name: known.get(name) for name in self._about} != self._about or "texts" not in known:
            if not self._overwrite:
                why = "is of this model under other settings" if "texts" in known else "does not say whose texts it has"
                raise ModelError(f"{self._path} {why}; {ELSE}", "recorded")
            return
        self._base = BaseFile(self._path)
        try:
            self._texts = texts_told(known["texts"], self._base.tokens_cn)
        except (KeyError, TypeError, ValueError, IndexError):
            raise ModelError(f"{beside}: its texts are not those of {self._path.name}; {ELSE}", "unreadable") from None

    def _keep(self, window: Window, rows_nv: NDArray[np.floating], chunk: int, front: int) -> None:
        item_id, own = window.item_id, self._own.get(window.item_id)
        begins = BEGINS[front] if window.bos else "no beginning-of-text token"
        held = self._texts.get(item_id)
        if held is not None and held.begins != begins:
            self._replace(item_id, f"was recorded with {held.begins}, not {begins}")
            held = None
        begin = chunk * self._n_ctx - front
        # the file holds the text's own tokens, and the window another one in the place of the first
        tokens = window.tokens if own is None or begin < 0 else own[begin : begin + self._n_ctx]
        was = None if held is None else held.chunks.get(chunk)
        if was is not None and not self._overwrite:
            check_tokens(tokens, was.tokens, begin, f"{self._path}, item {item_id!r}")
            self._counts["chunks_kept"] += 1
            return
        if held is None:
            of = None if own is None else (len(own) + front) // self._n_ctx
            held = HeldText(of, None if own is None else tokens_digest(own), begins, {})
        records = encode(rows_nv[self._layout.first - window.first :])
        held.chunks[chunk] = self._folder.add(self._about, held, item_id, chunk, tokens, records)
        self._texts[item_id] = held
        self._counts["chunks_written"] += 1
        if was is not None:
            self._folder.forget([was])

    def _replace(self, item_id: str, why: str) -> None:
        """Forget a text that another one takes the place of, or refuse that."""
        if not self._overwrite:
            raise ModelError(f"{self._path}, item {item_id!r}: it {why}; {ELSE}", "recorded")
        self._folder.forget(self._texts.pop(item_id).chunks.values())

    def _put_together(self, whole: Mapping[str, HeldText]) -> None:
        """Write the file of texts, old ones and new; it is safe to be killed anywhere in here."""
        chunks = [held.chunks[number] for held in whole.values() for number in range(len(held.chunks))]
        tokens_cn = np.stack([chunk.tokens for chunk in chunks])
        beside = about_path(self._path)
        texts = [held.told(item_id) for item_id, held in whole.items()]
        about = {**self._about, "texts": texts, "tokens_sha256": tokens_digest(tokens_cn)}
        unfinished = [item_id for item_id in self._texts if item_id not in whole]
        if unfinished:  # that there are none would not say that no text is still to come
            about["unfinished"] = unfinished
        if self._base is None:  # what is there is of another model, and was told to be replaced
            beside.unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)
        self._folder.promise(about)
        with BaseFileWriter(self._path, tokens_cn, self._layout.n_vocab) as writer:
            for chunk in chunks:
                at = chunk.at
                if isinstance(at, Path):
                    writer.add_records(self._folder.records(at))
                else:
                    assert self._base is not None, "it has this chunk"
                    writer.add_records(self._base.records(at, 0, self._layout.rows))
        write_about(beside, about)
        self._base = BaseFile(self._path)
        places = iter(range(len(chunks)))
        for item_id, held in whole.items():
            now = {number: Chunk(held.chunks[number].tokens, next(places)) for number in range(len(held.chunks))}
            self._texts[item_id] = HeldText(held.of, held.sha256, held.begins, now)
        self._folder.kept_in_file(chunks)


def _is_base_file(path: Path) -> bool:
    if not path.is_file():
        return False
    with writing(path), path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
