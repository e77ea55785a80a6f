"""A system's recorded output for each document, where a model would stand."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from evalflow.errors import ModelError
from evalflow.model.protocol import Model
from evalflow.record import Completion, Request, digest
from evalflow.shipped import resolved


@dataclass(frozen=True)
class Transcript(Model):
    """Answers an item with the file `ITEM.sys.SYSTEM.txt` of the folder `path`, an empty one too.

    It is what `dataset.transcriptions` lays beside the annotators' files. A document that the system left out is an
    error row. Neither decoding nor the seed changes an answer, and no times are known.
    """

    concurrency_free: ClassVar[bool] = True
    recorded: ClassVar[bool] = True

    path: str
    system: str
    """Which system's files; each is an arm."""

    def __post_init__(self) -> None:
        if not self.system or any(mark in self.system for mark in "./\\"):
            raise ValueError(f"system is {self.system!r}; give SYSTEM as it stands in DOCUMENT.sys.SYSTEM.txt")
        resolved(self.path)

    def identity(self) -> Mapping[str, Any]:
        """The system's name and a digest of all its output."""
        outputs = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in self._files()}
        return {"model": "transcript", "system": self.system, "outputs": digest(outputs)}

    def missing(self) -> str | None:
        """Where the folder has nothing of this system at all."""
        if self._files():
            return None
        return f"{self.path} has no file DOCUMENT.sys.{self.system}.txt; name a system whose outputs lie there"

    async def complete(self, request: Request) -> Completion:
        """The recorded output, without a byte order mark.

        Raises:
            ModelError: there is none for this item, or it is not UTF-8.
        """
        name = f"{request.item_id}.sys.{self.system}.txt"
        shown = f"{self.path}/{name}"
        try:
            if Path(name).name != name:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            text = (resolved(self.path) / name).read_bytes().decode("utf-8")
        except OSError as fault:
            said = f"{shown}: cannot be read ({fault.strerror}); add the system's output, or leave the document out"
            raise ModelError(said, kind="no_output") from None
        except UnicodeDecodeError as fault:
            said = f"{shown}: not UTF-8 ({fault.reason} at byte {fault.start}); save the file as UTF-8"
            raise ModelError(said, kind="unreadable") from None
        return Completion(text.removeprefix("\ufeff"), "stop")

    def _files(self) -> list[Path]:
        """All of the system's files, by name; none where the folder cannot be read."""
        ending = f".sys.{self.system}.txt"
        try:
            return sorted(file for file in resolved(self.path).iterdir() if file.name.endswith(ending))
        except OSError:
            return []
