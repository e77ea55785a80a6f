"""Recordings opened: a file of one text or of several, a folder of such files, a folder of windows. See the package."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from evalflow.errors import ModelError
from evalflow.model.recorded.about import read_about
from evalflow.model.recorded.archive import ENDINGS, Archive, open_archive, unreadable
from evalflow.model.recorded.text import Meaning, RecordedText, Text, TextOfWindows, read_meaning

ABOUT, TEXTS, TEXT = "recording.json", "texts", "text.npz"


class Recording(Protocol):
    """A recording, opened.

    `about` is what it says of the model that it was taken of, `width` the vocabulary, `own_tokens` whether it has
    tokens of its own.
    """

    about: Mapping[str, Any]
    width: int
    own_tokens: bool

    def text(self, item_id: str) -> RecordedText:
        """The text of an item.

        Raises:
            ModelError: it was not recorded, or is damaged.
        """
        ...


class OneFile:
    """A file of one text, which stands for whichever item is asked for first, or of several by their ids."""

    about: Mapping[str, Any]

    def __init__(self, path: Path) -> None:
        self._archive = open_archive(path)
        self.about = {}
        self.width = self._archive.logits.width
        self.own_tokens = "tokens" in self._archive.arrays
        self._places = _places(self._archive)
        self._only: str | None = None

    def text(self, item_id: str) -> Text:
        """See `Recording`."""
        archive = self._archive
        where = f"{archive.path}, item {item_id!r}"
        if self._places is None:
            if self._only not in (None, item_id):
                said = f"{archive.path}: it holds one text, and is asked for {item_id!r} after {self._only!r}"
                raise ModelError(f"{said}; give it items and offsets, or a folder", "not_recorded")
            self._only = item_id
            return one_text(archive, where)
        if item_id not in self._places:
            raise _not_recorded(where)
        place = self._places[item_id]
        start, stop = _part(archive.arrays["offsets"], place)
        own: dict[str, NDArray[Any]] = {}
        if "token_offsets" in archive.arrays:
            of_text = slice(*_part(archive.arrays["token_offsets"], place))
            own = {name: archive.arrays[name][of_text] for name in ("tokens", "starts") if name in archive.arrays}
        first = _firsts(archive, len(self._places))[place]
        return Text(where, archive.logits, start, stop, first, Meaning.of(own, {}))


class FolderOfFiles:
    """A folder with a file per text, called after its id."""

    about: Mapping[str, Any]

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        found = sorted(path for path in folder.iterdir() if path.suffix in ENDINGS)
        if not found:
            raise unreadable(folder, f"it has no recording; give a folder of files that end in {', '.join(ENDINGS)}")
        some = open_archive(found[0])
        self.about = {}
        self.width = some.logits.width
        self.own_tokens = "tokens" in some.arrays

    def text(self, item_id: str) -> Text:
        """See `Recording`."""
        names = [self._folder / f"{file_name(item_id)}{ending}" for ending in ENDINGS]
        there = [path for path in names if path.is_file()]
        if not there:
            raise _not_recorded(f"{self._folder}, item {item_id!r}")
        if len(there) > 1:
            raise unreadable(self._folder, f"both {there[0].name} and {there[1].name} are there; keep one")
        archive = open_archive(there[0])
        if archive.logits.width != self.width:
            said = f"its rows have {archive.logits.width} entries, and other texts' {self.width}"
            raise unreadable(archive.path, f"{said}; record all with one model")
        return one_text(archive, str(archive.path))


class FolderOfWindows:
    """What a `Recorder` wrote."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.about: Mapping[str, Any] = read_about(folder / ABOUT)
        self.width = int(self.about["scorer"]["vocabulary"])
        self.own_tokens = bool(self.about["own_tokens"])

    def text(self, item_id: str) -> TextOfWindows:
        """See `Recording`."""
        folder = self._folder / TEXTS / file_name(item_id)
        if not folder.is_dir():
            raise _not_recorded(f"{self._folder}, item {item_id!r}")
        return TextOfWindows(folder, read_meaning(folder / TEXT) if self.own_tokens else Meaning(None, None, None))


def open_recording(path: Path) -> Recording:
    """What a file or folder of logits holds.

    Raises:
        ModelError: there is none, or it cannot be read.
    """
    if (path / ABOUT).is_file():
        return FolderOfWindows(path)
    return FolderOfFiles(path) if path.is_dir() else OneFile(path)


def file_name(item_id: str) -> str:
    """An item's id as the name of a file: percent-escaped, and a dot at its beginning too."""
    name = quote(item_id, safe=" ", errors="surrogatepass")
    return f"%2E{name[1:]}" if name.startswith(".") else name


def one_text(archive: Archive, where: str) -> Text:
    """The text of a file that holds one."""
    (first,) = _firsts(archive, 1)
    return Text(where, archive.logits, 0, len(archive.logits), first, Meaning.of(archive.arrays, archive.texts))


def _places(archive: Archive) -> Mapping[str, int] | None:
    """Where each of several texts stands in a file; None of a file of one."""
    told = archive.arrays.get("items")
    ids: Sequence[str] | None = None if told is None else [str(one) for one in told.tolist()]
    if "items" in archive.texts:
        try:
            ids = [str(one) for one in json.loads(archive.texts["items"])]
        except (ValueError, TypeError):
            raise unreadable(archive.path, "its items are no JSON list; write one") from None
    if ids is None:
        return None
    for name in ("offsets", "token_offsets") if "tokens" in archive.arrays else ("offsets",):
        if name not in archive.arrays or archive.arrays[name].shape != (len(ids) + 1,):
            raise unreadable(archive.path, f"it has {len(ids)} items; give it {len(ids) + 1} {name}")
    if len(set(ids)) != len(ids):
        raise unreadable(archive.path, "one of its items is there twice; make ids unique")
    return {one: place for place, one in enumerate(ids)}


def _part(offsets: NDArray[Any], place: int) -> tuple[int, int]:
    return int(offsets[place]), int(offsets[place + 1])


def _firsts(archive: Archive, n_texts: int) -> list[int]:
    """For each text the token that its first row expects."""
    given: list[int] = np.ravel(archive.arrays.get("first", np.int64(1))).tolist()
    if len(given) not in (1, n_texts):
        raise unreadable(archive.path, f"it has {n_texts} texts and {len(given)} of first; give one, or one for each")
    return given if len(given) == n_texts else given * n_texts


def _not_recorded(where: str) -> ModelError:
    return ModelError(f"{where}: it was not recorded; record it, or leave it out", "not_recorded")
