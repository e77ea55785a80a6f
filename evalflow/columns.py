"""Columns of numbers: what is kept of every position of a text that was scored, in a form that JSON can carry."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS = ("<f8", "<f4", "<i4", "|b1")
"""Types of entries, little-endian on every machine."""


@dataclass(frozen=True)
class Columns:
    """Named columns of `n` entries each, and `facts` of the whole: numbers by name, None where there is none.

    `packed` is name -> type and base64 of the bytes, so that NaN and the last digit survive.
    """

    n: int
    packed: Mapping[str, str]
    facts: Mapping[str, float | None] = field(default_factory=dict)

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, float | None] | None = None) -> Columns:
        """Columns of arrays (N,), all of one length.

        Raises:
            ValueError: they are not, or one is of a type that is not kept.
        """
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) != 1:
            raise ValueError(f"columns have lengths {sorted(lengths)}; give one length")
        return cls(lengths.pop(), {name: _packed(name, array) for name, array in arrays.items()}, facts or {})

    def __contains__(self, name: str) -> bool:
        return name in self.packed

    def __getitem__(self, name: str) -> NDArray[Any]:
        """One column (N,), read-only.

        Raises:
            KeyError: there is none of this name.
            ValueError: it is damaged.
        """
        import numpy as np  # records are read where numpy is not needed, and it takes its time

        kind, _, text = self.packed[name].partition(":")
        if kind not in KINDS:
            raise ValueError(f"column {name} is damaged (its type is {kind!r:.20}, none of {', '.join(KINDS)})")
        try:
            column = np.frombuffer(base64.b64decode(text, validate=True), dtype=kind)
        except ValueError as fault:  # no base64, or half an entry
            raise ValueError(f"column {name} is damaged ({fault})") from None
        if len(column) != self.n:
            raise ValueError(f"column {name} is damaged ({len(column)} entries, not {self.n})")
        return column


def _packed(name: str, array: NDArray[Any]) -> str:
    kind = array.dtype.newbyteorder("<").str
    if kind not in KINDS:
        raise ValueError(f"column {name} is of {array.dtype}; give one of {', '.join(KINDS)}")
    return f"{kind}:{base64.b64encode(array.astype(kind, copy=False).tobytes()).decode('ascii')}"
