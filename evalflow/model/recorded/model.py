"""Recordings as an arm's model: they give the logits of texts, and answer nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from evalflow.errors import ModelError
from evalflow.model.protocol import Model
from evalflow.model.recorded.base_file import BaseFile, chunk_of
from evalflow.model.recorded.digests import digest_of
from evalflow.model.recorded.pipe import RowStream
from evalflow.model.recorded.rows_file import Recording, open_recording
from evalflow.model.recorded.text import check_ids, check_tokens
from evalflow.model.scorer import Encoded, Rows, Tokens, Window
from evalflow.numeric.base_file import KL_FLOOR, LEAST_LOGP, STEP, chunk_id
from evalflow.record import Cache, Completion, Decoding, Request

TOLD = ("tokenizer", "bos", "adds_bos", "context")
"""What a recording may say of the model that it was taken of."""


class Recorded(Model):
    """What all recordings share. `own_tokens` is whether it has tokens; of one without, the other arm's are taken.

    `tokenizer` (any name or digest), `bos` and `adds_bos` say of whose model they are, where the recording does not.
    """

    own_tokens: bool = True

    tokenizer: str | None
    bos: int | None
    adds_bos: bool

    def told(self) -> dict[str, Any]:
        """What the settings say of the model."""
        return {"tokenizer": self.tokenizer, "bos": self.bos, "adds_bos": self.adds_bos}

    def of_model(self, about: Mapping[str, Any], context: int | None) -> dict[str, Any]:
        """What `scorer_facts` say of the model: what was recorded of it, or else the settings."""
        said = about.get("scorer", {})
        return {**self.told(), "context": context, **{name: said[name] for name in TOLD if name in said}}

    async def prove(self, decoding: Decoding, cache: Cache) -> None:
        """Refuse to be asked for answers.

        Raises:
            ModelError: always.
        """
        raise ModelError("a recording of logits answers nothing; compose +scoring=teacher_forced")

    async def complete(self, request: Request) -> Completion:
        """Refuse to answer.

        Raises:
            ModelError: always.
        """
        raise ModelError("a recording of logits answers nothing; compose +scoring=teacher_forced")

    async def greedy(self, tokens: Tokens, count: int) -> Sequence[int]:
        """Refuse to write.

        Raises:
            ModelError: always.
        """
        raise ModelError("a recording cannot write on; set scoring.free_run=0")


@dataclass
class RecordedLogits(Recorded):
    """Logits of a `.npy`, `.npz` or `.safetensors` file, or of a folder; layouts: see `evalflow.model.recorded`."""

    concurrency_free: ClassVar[bool] = True

    path: str
    """The file or folder."""
    tokenizer: str | None = None
    bos: int | None = None
    adds_bos: bool = False

    def __post_init__(self) -> None:
        self._recording: Recording | None = None

    @property
    def own_tokens(self) -> bool:  # type: ignore[override]
        """Whether it has tokens; known once started."""
        return self._open.own_tokens

    def identity(self) -> Mapping[str, Any]:
        """The digest of all that is recorded, None where nothing is there."""
        return {"model": "recorded logits", "sha256": digest_of(Path(self.path)), **self.told()}

    def missing(self) -> str | None:
        """The recording, where there is none."""
        return _absent(self.path)

    async def start(self) -> None:
        """Open the recording.

        Raises:
            ModelError: it cannot be read.
        """
        self._recording = await asyncio.to_thread(open_recording, Path(self.path))

    def scorer_facts(self) -> Mapping[str, Any]:
        """See `Scorer`."""
        return {"vocabulary": self._open.width, **self.of_model(self._open.about, None)}

    async def encode(self, text: str, item_id: str) -> Encoded:
        """The tokens that were recorded of a text.

        Raises:
            ModelError: none were, or of another text.
        """
        return (await asyncio.to_thread(self._open.text, item_id)).encoded(text)

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> list[Rows]:
        """The rows that were recorded of windows; see `Scorer`."""
        return await asyncio.to_thread(self._rows, windows)

    def facts(self) -> Mapping[str, Any]:
        """Whose logits they are, where the recording says so."""
        about = {} if self._recording is None else self._recording.about
        return {"recorded_of": about["model"]} if "model" in about else {}

    async def close(self) -> None:
        """Forget the recording."""
        self._recording = None

    @property
    def _open(self) -> Recording:
        assert self._recording is not None, "not started"
        return self._recording

    def _rows(self, windows: Sequence[Window]) -> list[Rows]:
        return [self._open.text(window.item_id).rows(window) for window in windows]


@dataclass
class BaseFileModel(Recorded):
    """llama.cpp's base file, walked as llama.cpp does (`windows_of`): a row for each token of a chunk's second half.

    `items` are its chunks, as the dataset `base_file` has them, whose tokens are the file's; or the text itself that it
    was made of, whose tokens are the other arm's and are held against the file's.

    Rows are log-probabilities in steps of at most 2.44e-4 nats; those beyond 16 nats from the likeliest are known
    together alone (see `numeric.base_file.log_probabilities`). So a KL over the whole vocabulary is off by about the
    mass of that tail (2e-4 nats on average of SmolLM2-135M), one by `head_kl` by about 1e-5 a position, either way. The
    NLL of a text's token that lies in the tail is that of the tail's average, and may be nats away from what it was.

    The file does not say whose it is: what a `Recorder` wrote beside it does (`NAME.json`), or the settings.
    """

    concurrency_free: ClassVar[bool] = True

    path: str
    """The base file."""
    items: Literal["chunks", "text"] = "chunks"
    tokenizer: str | None = None
    bos: int | None = None
    adds_bos: bool = False

    def __post_init__(self) -> None:
        self._file: BaseFile | None = None
        self._chunks: dict[str, int] = {}
        self._tails: list[float] = []
        self._tail_targets = 0

    def identity(self) -> Mapping[str, Any]:
        """The digest of the file, None where there is none."""
        return {"model": "base file", "sha256": digest_of(Path(self.path)), "items": self.items, **self.told()}

    @property
    def own_tokens(self) -> bool:  # type: ignore[override]
        """Whether the tokens are the file's."""
        return self.items == "chunks"

    @property
    def gives_tokens(self) -> bool:
        """Whether the other arm must take them: the text that a chunk is of is not known."""
        return self.items == "chunks"

    def missing(self) -> str | None:
        """The file, where there is none."""
        return _absent(self.path)

    async def start(self) -> None:
        """Open the file.

        Raises:
            ModelError: it cannot be read, is none of llama.cpp's, or is cut off.
        """
        self._file = await asyncio.to_thread(BaseFile, Path(self.path))
        self._chunks = {chunk_id(place): place for place in range(self._file.layout.n_chunk)}

    def scorer_facts(self) -> Mapping[str, Any]:
        """See `Scorer`; also the widest step between log-probabilities, the floor of a KL, and the least one in it."""
        layout = self._open.layout
        limits = {"step_nats": STEP, "kl_floor_nats": KL_FLOOR, "kl_least_logp": LEAST_LOGP}
        return {"vocabulary": layout.n_vocab, **self.of_model(self._open.about, layout.n_ctx), **limits}

    async def encode(self, text: str, item_id: str) -> Encoded:
        """The tokens of a chunk; `text` is their ids.

        Raises:
            ModelError: the file has no such chunk, or another one; or items are no chunks.
        """
        if not self.own_tokens:
            said = f"{self.path}: how it reads a text is not known"
            raise ModelError(f"{said}; let the other arm be a model that reads texts", "no_tokens")
        tokens = self._open.tokens_cn[self._chunk(item_id)].astype(np.int64)
        own = " ".join(map(str, tokens.tolist()))
        if text != own:
            raise ModelError(f"{self.path}, {item_id}: its tokens are not the item's; walk the dataset base_file of it")
        return Encoded(tokens, np.full(len(tokens), -1, dtype=np.int32))

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> list[Rows]:
        """The log-probabilities that were recorded of windows; see `Scorer`."""
        return await asyncio.to_thread(lambda: [self._rows(window) for window in windows])

    def facts(self) -> Mapping[str, Any]:
        """Whose logits they are and of how many texts, where that is known, and how many texts were cut short.

        Of the rows read so far the tail's mean and largest mass. `tail_targets` is how many of the text's own tokens
        lie there, whose NLL is therefore not known.
        """
        about = {} if self._file is None else self._file.about
        told = {"recorded_of": about["model"]} if "model" in about else {}
        for name in ("texts", "unfinished"):
            if about.get(name):
                told[f"recorded_{name}"] = len(about[name])
        if not self._tails:
            return told
        mass = {"tail_mass_mean": float(np.mean(self._tails)), "tail_mass_max": max(self._tails)}
        return {**told, "rows": len(self._tails), **mass, "tail_targets": self._tail_targets}

    async def close(self) -> None:
        """Forget the file."""
        self._file = None

    @property
    def _open(self) -> BaseFile:
        assert self._file is not None, "not started"
        return self._file

    def _chunk(self, item_id: str) -> int:
        if item_id not in self._chunks:
            said = f"{self.path}: it has no {item_id!r}, but {chunk_id(0)} to {chunk_id(len(self._chunks) - 1)}"
            raise ModelError(f"{said}; walk the dataset base_file of it", "not_recorded")
        return self._chunks[item_id]

    def _rows(self, window: Window) -> Rows:
        layout, place = self._open.layout, chunk_of(window, self._open.layout.n_ctx)
        where = f"{self.path}, {window.item_id}"
        end = len(window.tokens)
        beyond = place is not None and place[0] >= (1 if self.own_tokens else layout.n_chunk)
        if place is None or beyond or window.first < layout.first or end > layout.n_ctx:
            said = f"{end} tokens, scored from token {window.position} on, are asked for"
            there = f"it holds {layout.n_chunk} chunks of {layout.n_ctx}, scored from their token {layout.first} on"
            raise ModelError(f"{where}: {said}, and {there}; walk it as llama.cpp does", "not_recorded")
        chunk = self._chunk(window.item_id) if self.own_tokens else place[0]
        skip = int(window.bos)  # which stood in the place of the chunk's first token
        begin = place[0] * layout.n_ctx - place[1] + skip
        check_tokens(window.tokens[skip:], self._open.tokens_cn[chunk][skip:end], begin, where)
        check_ids(window, layout.n_vocab, where)
        rows = slice(window.first - layout.first, end - layout.first)
        rows_nv, tail_n = self._open.rows(chunk, rows.start, rows.stop)
        units_n = self._open.records(chunk, rows.start, rows.stop)[np.arange(len(rows_nv)), 4 + window.targets]
        self._tails += tail_n.tolist()
        self._tail_targets += int(((units_n == 0) & (tail_n > 0)).sum())
        return rows_nv


@dataclass
class PipedLogits(Recorded):
    """Rows of `width` float32 (little-endian) in the walk's order, from a program's standard output or from a path.

    `command` is a program and its words, started without a shell; `path` a file or named pipe; give one of the two.
    With `send_tokens` the program is told each window on its standard input, as a line of JSON: `item`, `tokens`,
    `first` (the first token that a row is wanted for, by the one before it). Without, it must know the walk by itself,
    and a run that was cut short cannot be resumed. No row is waited for longer than `row_timeout_s`.
    """

    own_tokens: ClassVar[bool] = False  # type: ignore[misc]

    width: int
    command: tuple[str, ...] | None = None
    path: str | None = None
    send_tokens: bool = False
    row_timeout_s: float = 60.0
    tokenizer: str | None = None
    bos: int | None = None
    adds_bos: bool = False

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ValueError(f"width is {self.width}; give the size of the vocabulary")
        if (self.command is None) == (self.path is None) or self.command == ():
            raise ValueError("command or path must be given, and not both")
        if self.send_tokens and self.command is None:
            raise ValueError("send_tokens is true, and a path cannot be sent any; give a command")
        if self.row_timeout_s <= 0:
            raise ValueError(f"row_timeout_s is {self.row_timeout_s:g}; give a time above 0")
        self._stream: RowStream | None = None
        self._turn = asyncio.Lock()
        self._fault: str | None = None

    def identity(self) -> Mapping[str, Any]:
        """The program's words, or the digest of the file (a named pipe has none), and what is asked of it."""
        source = list(self.command) if self.command is not None else digest_of(Path(str(self.path)))
        asked = {"width": self.width, "send_tokens": self.send_tokens}
        return {"model": "piped logits", "source": source, **asked, **self.told()}

    def missing(self) -> str | None:
        """The file or pipe, where there is none."""
        return None if self.path is None else _absent(self.path)

    async def start(self) -> None:
        """Start the program, or open the path.

        Raises:
            ModelError: that cannot be done.
        """
        source = list(self.command) if self.command is not None else Path(str(self.path))
        self._stream = RowStream(source, self.width, self.row_timeout_s)
        await asyncio.to_thread(self._stream.open)

    def scorer_facts(self) -> Mapping[str, Any]:
        """See `Scorer`."""
        return {"vocabulary": self.width, **self.of_model({}, None)}

    async def encode(self, text: str, item_id: str) -> Encoded:
        """Refuse: a stream has no tokens.

        Raises:
            ModelError: always.
        """
        raise ModelError("a stream of rows has no tokens; let the other arm be a model that reads texts", "no_tokens")

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> list[Rows]:
        """The next rows of the stream, a row for each target of each window; see `Scorer`."""
        assert self._stream is not None, "not started"
        async with self._turn:
            try:
                return await asyncio.to_thread(self._read, self._stream, windows)
            except asyncio.CancelledError:
                self._stream.stop()  # nobody knows any more whose row is next
                raise

    async def settle(self) -> None:
        """Look whether the stream ends where the walk did, and the program well."""
        if self._stream is not None:
            try:
                await asyncio.to_thread(self._stream.finish)
            except ModelError as fault:
                self._fault = str(fault)

    def facts(self) -> Mapping[str, Any]:
        """Where the stream did not end as the walk did, that no figure of it can be read."""
        return {} if self._fault is None else {"instrument_fault": self._fault}

    async def close(self) -> None:
        """End the program."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await asyncio.to_thread(stream.close)

    def _read(self, stream: RowStream, windows: Sequence[Window]) -> list[Rows]:
        rows: list[Rows] = []
        for window in windows:
            where = f"item {window.item_id!r} from token {window.position} on"
            check_ids(window, self.width, where)
            told = {"item": window.item_id, "tokens": window.tokens.tolist(), "first": window.first}
            sent = (json.dumps(told) + "\n").encode() if self.send_tokens else b""
            rows.append(stream.read(len(window.targets), where, sent))
        return rows


def _absent(path: str) -> str | None:
    return None if Path(path).exists() else f"{path} is not there; record it, or give another path"
