"""The chunks that are in no base file yet: a folder with a file each, there whole or not at all."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evalflow.errors import ModelError
from evalflow.model.recorded.about import read_about, write_about
from evalflow.model.recorded.archive import read_arrays, unreadable
from evalflow.model.recorded.held_text import Chunk, HeldText
from evalflow.model.recorded.on_disk import foreign, remove_known, save_arrays, writing
from evalflow.model.scorer import Tokens
from evalflow.numeric.base_file import Records
from evalflow.whole_file import PART

ABOUT, PENDING = "recording.json", "pending.json"
FILES = r"(?:recording\.json|pending\.json|\d{8}\.npz)"
KNOWN = re.compile(rf"{FILES}|\.{FILES}{PART}")
"""The files that are written here."""
TOLD = ("item", "chunk", "of", "sha256", "begins", "tokens")


class ChunkFolder:
    """A folder of chunks, numbered as they came; `recording.json` says whose they are.

    While a base file is put together, `pending.json` is the note that belongs beside it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._next = 0

    def conflict(self, identity: Mapping[str, Any], overwrite: bool) -> str | None:
        """Why this model's chunks cannot be kept here, and what to do; None where they can."""
        if not self.path.exists():
            return None
        stranger = foreign(self.path, KNOWN) if self.path.is_dir() else self.path.name
        if stranger is not None:
            return f"{self.path} holds {stranger}, which no recorder wrote; move it away, or give another path"
        about = self.path / ABOUT
        if about.is_file() and not overwrite and read_about(about)["model"] != identity:
            return f"{self.path} holds chunks of another model; give another path, or overwrite=true"
        return None

    def begin(self, about: Mapping[str, Any], overwrite: bool) -> dict[str, HeldText]:
        """What is held, by items in the order they came; where it is of other settings, nothing, and it is removed.

        Raises:
            ModelError: it may not be removed, or cannot be read.
            OSError: it cannot be removed.
        """
        self._next = 0
        if not self.path.exists():
            return {}
        known = self.path / ABOUT
        if not known.is_file() or read_about(known) != about:
            if known.is_file() and not overwrite:
                said = f"{self.path} holds chunks of this model under other settings"
                raise ModelError(f"{said}; give another path, or overwrite=true", "recorded")
            remove_known(self.path, KNOWN)
            return {}
        texts: dict[str, HeldText] = {}
        for path in sorted(self.path.glob("[0-9]*.npz")):
            item_id, number, held = _read(path)
            before = texts.get(item_id)
            texts[item_id] = held if before is None else held.over(before)
            self._next = number + 1
        return texts

    def pending(self) -> dict[str, Any] | None:
        """The note of a base file that was being put together when the process ended; None where none was."""
        return read_about(self.path / PENDING) if (self.path / PENDING).is_file() else None

    def promise(self, about: Mapping[str, Any]) -> None:
        """Keep the note of the base file that is about to be put together."""
        write_about(self.path / PENDING, about)

    def add(
        self, about: Mapping[str, Any], held: HeldText, item_id: str, chunk: int, tokens: Tokens, records: Records
    ) -> Chunk:
        """Keep a chunk of a text.

        Raises:
            ModelError: it cannot be written.
        """
        path = self.path / f"{self._next:08d}.npz"
        with writing(path):
            if not (self.path / ABOUT).is_file():
                self.path.mkdir(exist_ok=True)
                write_about(self.path / ABOUT, about)
        said = {"of": np.int64(-1 if held.of is None else held.of), "sha256": np.array(held.sha256 or "")}
        named = {"item": np.frombuffer(item_id.encode("utf-8", "surrogatepass"), np.uint8), "chunk": np.int64(chunk)}
        save_arrays(path, {**named, **said, "begins": np.array(held.begins), "tokens": tokens, "records": records})
        self._next += 1
        return Chunk(tokens, path)

    def records(self, path: Path) -> Records:
        """A chunk's rows.

        Raises:
            ModelError: it cannot be read.
        """
        return read_arrays(path, ("records",))["records"]

    def forget(self, chunks: Iterable[Chunk]) -> None:
        """Remove those of these chunks that lie here."""
        for chunk in chunks:
            if isinstance(chunk.at, Path):
                with writing(chunk.at):
                    chunk.at.unlink(missing_ok=True)

    def kept_in_file(self, chunks: Iterable[Chunk]) -> None:
        """Remove chunks that a base file has now, and the folder where no other is left."""
        with writing(self.path):
            (self.path / PENDING).unlink(missing_ok=True)
        self.forget(chunks)
        if not any(self.path.glob("[0-9]*.npz")):
            with writing(self.path):
                remove_known(self.path, KNOWN)


def _read(path: Path) -> tuple[str, int, HeldText]:
    """Whose chunk a file holds, its number among the files, and the chunk as a text of its own."""
    read = read_arrays(path, TOLD)
    with contextlib.suppress(KeyError, ValueError, TypeError):
        of, chunk = int(read["of"]), int(read["chunk"])
        said = (None if of < 0 else of, str(read["sha256"]) or None, str(read["begins"]))
        item_id = read["item"].tobytes().decode("utf-8", "surrogatepass")
        return item_id, int(path.stem), HeldText(*said, {chunk: Chunk(read["tokens"], path)})
    raise unreadable(path, "is no recorded chunk; remove it")
