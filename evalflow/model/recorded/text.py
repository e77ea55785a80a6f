"""A recorded text: its tokens, and the rows of logits that expect them. Refuses whatever it was not recorded of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evalflow.errors import ModelError
from evalflow.model.recorded.archive import Archive, MappedRows, open_archive, read_arrays, unreadable
from evalflow.model.scorer import Encoded, Tokens, Window

NAMED = 6
"""How many recorded windows an error names."""


class RecordedText(Protocol):
    """The rows of one text."""

    def encoded(self, text: str) -> Encoded:
        """The text's tokens.

        Raises:
            ModelError: it was recorded of another text, or without tokens.
        """
        ...

    def rows(self, window: Window) -> NDArray[np.floating]:
        """The logits (N, V) of a window's targets.

        Raises:
            ModelError: they were not recorded, or of other tokens.
        """
        ...


@dataclass(frozen=True)
class Meaning:
    """What is known of a text beside its rows: its tokens, where they start, its digest; all may be missing."""

    tokens: Tokens | None
    starts: NDArray[np.int32] | None
    text_sha256: str | None

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], texts: Mapping[str, str]) -> Meaning:
        """What a file of one text says."""
        tokens, starts = arrays.get("tokens"), arrays.get("starts")
        return cls(
            None if tokens is None else tokens.astype(np.int64),
            None if starts is None else starts.astype(np.int32),
            texts.get("text_sha256"),
        )

    def encoded(self, text: str, where: str) -> Encoded:
        """See `RecordedText.encoded`."""
        if self.tokens is None:
            raise ModelError(f"{where}: it has no tokens; let the other arm be a model that reads texts", "no_tokens")
        if self.text_sha256 not in (None, text_digest(text)):
            raise ModelError(f"{where}: it was recorded of another text; record this one", "other_text")
        unknown = np.full(len(self.tokens), -1, dtype=np.int32)
        return Encoded(self.tokens, unknown if self.starts is None else self.starts)

    def check(self, window: Window, where: str) -> None:
        """Refuse a window that sees other tokens than the text's.

        Raises:
            ModelError: names the first that differs.
        """
        if self.tokens is not None:
            begin = window.position - window.first + window.bos  # the text's first token that the window sees
            seen = window.tokens[int(window.bos) :]
            check_tokens(seen, self.tokens[begin : begin + len(seen)], begin, where)


@dataclass(frozen=True)
class Text:
    """A text whose rows lie together, `start` to `stop` of `mapped`; the first of them expects its token `first`."""

    where: str
    mapped: MappedRows
    start: int
    stop: int
    first: int
    meaning: Meaning

    def __post_init__(self) -> None:
        n, tokens = self.stop - self.start, self.meaning.tokens
        if not 0 <= self.start <= self.stop <= len(self.mapped):
            said = f"it has rows {self.start} to {self.stop} of {len(self.mapped)}"
            raise ModelError(f"{self.where}: {said}; mend its offsets", "unreadable")
        if self.first < 0 or (tokens is not None and not 0 <= n - (len(tokens) - self.first) <= 1):
            n_tokens = "unknown" if tokens is None else len(tokens)
            said = f"{n} rows, the first for token {self.first}, of {n_tokens} tokens"
            raise ModelError(f"{self.where}: {said}; give a row for each, and one more or none", "unreadable")

    def encoded(self, text: str) -> Encoded:
        """See `RecordedText`."""
        return self.meaning.encoded(text, self.where)

    def rows(self, window: Window) -> NDArray[np.floating]:
        """See `RecordedText`."""
        self.meaning.check(window, self.where)
        low, high = window.position, window.position + len(window.targets)
        end = self.first + self.stop - self.start
        if low < self.first or high > end:
            there = f"{self.first} to {end - 1}" if end > self.first else "none"
            said = f"rows for tokens {low} to {high - 1} are asked for, and those for {there} are there"
            raise ModelError(f"{self.where}: {said}; score as it was recorded", "not_recorded")
        check_ids(window, self.mapped.width, self.where)
        begin = self.start - self.first
        return self.mapped[slice(begin + low, begin + high)]


@dataclass(frozen=True)
class TextOfWindows:
    """A text recorded a window at a time, which gives rows for those very windows alone."""

    folder: Path
    meaning: Meaning

    def encoded(self, text: str) -> Encoded:
        """See `RecordedText`."""
        return self.meaning.encoded(text, str(self.folder))

    def rows(self, window: Window) -> NDArray[np.floating]:
        """See `RecordedText`."""
        path = self.folder / window_name(window)
        if not path.is_file():
            kept = sorted(int(found.stem) for found in self.folder.glob("*.npz") if found.stem.isdigit())
            there = ", ".join(map(str, kept[:NAMED])) + (", ..." if len(kept) > NAMED else "")
            said = f"a window that scores from token {window.position} on is asked for, and recorded are those from"
            raise ModelError(f"{self.folder}: {said} {there or 'none'}; score as it was recorded", "not_recorded")
        held = open_archive(path)
        check_same_window(held, window)
        check_ids(window, held.logits.width, str(path))
        return held.logits[:]


def read_meaning(path: Path) -> Meaning:
    """What a `Recorder` wrote of a text.

    Raises:
        ModelError: it cannot be read.
    """
    read = read_arrays(path, ("tokens", "starts", "text_sha256"))
    return Meaning.of(read, {"text_sha256": str(read["text_sha256"])})


def window_name(window: Window) -> str:
    """The name of a window's file."""
    return f"{window.position}.npz"


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def check_same_window(held: Archive, window: Window) -> None:
    """Refuse a recorded window that is not the one that is asked for.

    Raises:
        ModelError: it saw other tokens, or scored from another one on.
    """
    tokens, first, bos = (held.arrays.get(name) for name in ("tokens", "first", "bos"))
    if tokens is None or first is None or bos is None or len(held.logits) != len(tokens) - int(first):
        raise unreadable(held.path, "is no recorded window; record it again")
    was, now = (len(tokens), int(first), bool(bos)), (len(window.tokens), window.first, window.bos)
    if was != now:
        told, asked = (
            f"{n} tokens, {'one of them' if mark else 'none'} to begin the text, scored from its own {at} on"
            for n, at, mark in (was, now)
        )
        raise ModelError(f"{held.path}: recorded is a window of {told}; asked for is one of {asked}", "not_recorded")
    check_tokens(window.tokens, tokens, window.position - window.first, str(held.path))


def check_tokens(seen: Tokens, own: NDArray[np.integer], begin: int, where: str) -> None:
    """Refuse tokens, those of a text from its `begin` on, that are not the recording's `own`.

    Raises:
        ModelError: names the first that differs.
    """
    shared = min(len(seen), len(own))
    differ = np.flatnonzero(own[:shared] != seen[:shared])
    if differ.size or len(own) < len(seen):
        at = int(differ[0]) if differ.size else shared
        said = f"token {begin + at} is {seen[at]}, and {own[at] if at < len(own) else 'its end'} in the recording"
        raise ModelError(f"{where}: {said}; score the tokens that were recorded", "other_tokens")


def check_ids(window: Window, width: int, where: str) -> None:
    """Refuse a target that rows of this width say nothing of.

    Raises:
        ModelError: names the first.
    """
    targets = window.targets
    beyond = np.flatnonzero((targets < 0) | (targets >= width))
    if beyond.size:
        at = int(beyond[0])
        said = f"token {window.position + at} is {targets[at]}, and a row has {width} entries"
        raise ModelError(f"{where}: {said}; hold models of one vocabulary against each other", "other_tokens")
