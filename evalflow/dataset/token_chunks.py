"""The chunks of one of llama.cpp's base files: what its text was cut into, as tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalflow.errors import DataError
from evalflow.numeric.base_file import chunk_id, read_head
from evalflow.record import Item


@dataclass(frozen=True)
class TokenChunks:
    """A base file's chunks, of `n_ctx` tokens each: `chunk 0001` and so on, each a cluster of its own.

    The file does not hold the text. A prompt is its tokens' ids, decimal, with a blank between them; the field
    `tokens` has them as numbers.
    """

    path: str
    """The base file."""
    name: str = "base_file"

    def items(self) -> tuple[Item, ...]:
        """Chunk by chunk; see `Dataset.items`."""
        try:
            with Path(self.path).open("rb") as file:
                _, tokens_cn = read_head(file)
        except OSError as fault:
            raise DataError(f"{self.path}: cannot be read ({fault.strerror}); give a base file") from None
        except ValueError as fault:
            raise DataError(f"{self.path}: {fault}") from None
        return tuple(
            Item(chunk_id(place), " ".join(map(str, ids)), cluster=chunk_id(place), fields={"tokens": ids})
            for place, ids in enumerate(tokens_cn.tolist())
        )
