"""A folder of plain texts, whose prompts are the texts themselves: something to score, token by token."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Literal

from evalflow.dataset.text_file import read_text
from evalflow.errors import DataError
from evalflow.record import Item
from evalflow.shipped import resolved

_PARAGRAPH = re.compile(r"(?:^[^\n]*\S[^\n]*(?:\n|\Z))+", re.MULTILINE)
"""Lines one after another that are not blank."""


@dataclass(frozen=True)
class TextFolder:
    """The UTF-8 files of a folder (a path, or `package:NAME`) whose names match `glob`, by their relative path.

    `recursive` takes those of its sub-folders too, or of those that `folders` names; links to folders are not followed,
    and what is hidden (a name that begins with a dot) is left alone. An item is a file, its id the relative path; or,
    with `split: paragraph`, the lines between blank ones, its id `path#1`, `path#2`, and so on. Its prompt is the text
    exactly, without a byte order mark at the file's start and without the line end that a paragraph ends in. Its
    cluster is the file, its kind the sub-folder. A file of blanks alone is refused, unless `empty` is `skip`.
    """

    path: str
    """The folder."""
    name: str = "text_folder"
    glob: str = "*.txt"
    recursive: bool = False
    split: Literal["file", "paragraph"] = "file"
    empty: Literal["refuse", "skip"] = "refuse"
    folders: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for key, known in (("split", ("file", "paragraph")), ("empty", ("refuse", "skip"))):
            if getattr(self, key) not in known:
                raise ValueError(f"{key} is {getattr(self, key)!r}; choose from {', '.join(known)}")
        if not self.glob or "/" in self.glob:
            raise ValueError(f"glob is {self.glob!r}; give a pattern of file names, such as *.txt, and recursive")
        if self.folders is not None and not self.recursive:
            raise ValueError("folders are named, and recursive is false; set it to true")
        resolved(self.path)

    def items(self) -> tuple[Item, ...]:
        """File by file, paragraph by paragraph; see `Dataset.items`."""
        folder = resolved(self.path)
        files = self._files(folder)
        if not files:
            where = "it or its sub-folders" if self.recursive else "it"
            raise DataError(f"{self.path}: no file of {where} matches {self.glob}; change glob or recursive")
        items = tuple(item for file in files for item in self._of_file(folder, file))
        if not items:
            raise DataError(f"{self.path}: every file of it that matches {self.glob} is empty; give a text")
        return items

    def _files(self, folder: Path) -> list[str]:
        """The relative paths, sorted part by part."""

        def refuse(fault: OSError) -> None:
            raise DataError(f"{fault.filename}: cannot be read ({fault.strerror}); give a readable folder") from None

        found = []
        absent = [name for name in self.folders or () if not (folder / name).is_dir()]
        if absent:
            raise DataError(f"{self.path}: it has no folder {absent[0]}; change folders")
        for at, folders, names in os.walk(folder, onerror=refuse):
            folders[:] = [one for one in folders if self.recursive and not one.startswith(".")]
            if self.folders is not None and Path(at) == folder:
                folders[:], names = [one for one in folders if one in self.folders], []
            inside = Path(at).relative_to(folder)
            matching = (name for name in names if not name.startswith(".") and fnmatchcase(name, self.glob))
            found += [(inside / name).as_posix() for name in matching]
        return sorted(found, key=lambda file: PurePosixPath(file).parts)

    def _of_file(self, folder: Path, file: str) -> Iterator[Item]:
        if (folder / file).exists() and not (folder / file).is_file():
            raise DataError(f"{self.path}/{file}: it is no regular file; move it, or change glob")
        text = read_text(folder / file, f"{self.path}/{file}")
        if not text.strip():
            if self.empty == "refuse":
                raise DataError(f"{self.path}/{file}: it has no text; give it one, or set empty to skip")
            return
        kind = str(PurePosixPath(file).parent)
        for end, part in self._parts(text):
            # the prompt is no part of an item's content, so the text is a field too
            yield Item(
                id=f"{file}{end}",
                prompt=part,
                kind="" if kind == "." else kind,
                cluster=file,
                fields={"text": part},
            )

    def _parts(self, text: str) -> Iterator[tuple[str, str]]:
        """`(end of the id, text)` of what becomes an item of its own."""
        if self.split == "file":
            yield "", text
            return
        for number, found in enumerate(_PARAGRAPH.finditer(text), start=1):
            yield f"#{number}", found[0].rstrip("\r\n")
