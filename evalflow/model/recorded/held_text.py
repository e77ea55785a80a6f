"""A text of a base file in the making: its chunks, and whether all are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalflow.model.scorer import Tokens


@dataclass(frozen=True)
class Chunk:
    """A chunk's tokens (n_ctx,), and where its rows lie: a file of their own, or a place in the base file."""

    tokens: Tokens
    at: Path | int


@dataclass(frozen=True)
class HeldText:
    """What is held of a text: how many chunks it has (`of`) and the digest of its tokens, None where nobody said so.

    `begins` says in words where a beginning-of-text token stood; `chunks` go by their numbers from 0.
    """

    of: int | None
    sha256: str | None
    begins: str
    chunks: dict[int, Chunk]

    @property
    def is_whole(self) -> bool:
        """Whether it has all its chunks, or, where nobody said how many, no gap."""
        n = len(self.chunks)
        return self.of in (None, n) and all(number in self.chunks for number in range(n))

    @property
    def spooled(self) -> bool:
        """Whether a chunk is in no base file yet."""
        return any(isinstance(chunk.at, Path) for chunk in self.chunks.values())

    def over(self, before: HeldText | None) -> HeldText:
        """This text, its other chunks as they were before; an earlier one of another text counts for nothing."""
        if before is None or (before.of, before.sha256, before.begins) != (self.of, self.sha256, self.begins):
            return self
        return HeldText(self.of, self.sha256, self.begins, {**before.chunks, **self.chunks})

    def told(self, item_id: str) -> dict[str, Any]:
        """What a note beside a base file says of it."""
        said = {"of": self.of, "tokens_sha256": self.sha256, "begins": self.begins}
        return {"id": item_id, "chunks": len(self.chunks), **said}


def texts_told(told: Sequence[Mapping[str, Any]], tokens_cn: NDArray[np.int32]) -> dict[str, HeldText]:
    """The texts of a base file, by what the note beside it says (`HeldText.told`) and its tokens (chunks, n_ctx).

    Raises:
        KeyError, TypeError, ValueError, IndexError: it says something else.
    """
    texts: dict[str, HeldText] = {}
    place = 0
    for one in told:
        chunks = {number: Chunk(tokens_cn[place + number], place + number) for number in range(one["chunks"])}
        texts[str(one["id"])] = HeldText(one["of"], one["tokens_sha256"], one["begins"], chunks)
        place += len(chunks)
    if place != len(tokens_cn) or len(texts) != len(told):
        raise ValueError(f"{place} chunks of {len(tokens_cn)}")
    return texts
