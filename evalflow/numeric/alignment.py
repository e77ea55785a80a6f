"""Two readings of one text side by side: which units pair up, which are confused, and where they part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from evalflow.numeric.undefined import Undefined
from evalflow.numeric.units import Unit, joined

Edit = tuple[str, int, int]
"""An edit: its kind ("replace", "delete" or "insert"), the place in a, the place in b."""
GAP = ""
"""What stands in a confusion for the unit that one reading lacks; no unit is empty."""


@dataclass(frozen=True)
class Alignment:
    """A minimal alignment of the units `a` with the units `b`.

    `edits` are its edits in order: a delete is of a unit of a, an insert of a unit of b. Of several minimal
    alignments it is always the same one.
    """

    a: Sequence[str]
    b: Sequence[str]
    edits: tuple[Edit, ...]

    def pairs_p2(self) -> NDArray[np.int64]:
        """The places (P, 2) in a and b of the units that face each other, equal or substituted, in order.

        Units that only one reading has are in no pair: no label can be compared with a missing one.
        """
        deleted = [i for kind, i, _ in self.edits if kind == "delete"]
        inserted = [j for kind, _, j in self.edits if kind == "insert"]
        kept = (np.delete(np.arange(len(self.a)), deleted), np.delete(np.arange(len(self.b)), inserted))
        return np.stack(kept, axis=1).astype(np.int64, copy=False)

    def paired(self) -> tuple[list[str], list[str]]:
        """The labels that both readings gave to the paired units: what a kappa of characters is of."""
        places_p2 = self.pairs_p2()
        return [self.a[i] for i in places_p2[:, 0].tolist()], [self.b[j] for j in places_p2[:, 1].tolist()]

    @property
    def n_paired(self) -> int:
        """How many units face another."""
        return len(self.a) - sum(kind == "delete" for kind, _, _ in self.edits)

    @property
    def n_longer(self) -> int:
        """How many units the longer reading has: what coverage is out of. Documents add up."""
        return max(len(self.a), len(self.b))

    @property
    def coverage(self) -> float:
        """The share of the longer reading that is paired. A kappa says nothing about the rest.

        Raises:
            Undefined: "no units", of two empty readings.
        """
        if not self.n_longer:
            raise Undefined("no units")
        return self.n_paired / self.n_longer

    def confusions(self) -> Counter[tuple[str, str]]:
        """How often (unit of a, unit of b) stood for each other; `GAP` where one reading has nothing."""
        return Counter(
            (GAP if kind == "insert" else self.a[i], GAP if kind == "delete" else self.b[j])
            for kind, i, j in self.edits
        )


@dataclass(frozen=True)
class Disagreement:
    """One place where two readings part: units start..end - 1 of each, counted from 0, and what is around.

    A reading that has nothing there has start = end and an empty text. `left` and `right` are a's.
    """

    start_a: int
    end_a: int
    start_b: int
    end_b: int
    left: str
    reading_a: str
    reading_b: str
    right: str


def align(a: Sequence[str], b: Sequence[str]) -> Alignment:
    """A minimal alignment of two lists of units (Levenshtein 1966, each kind of edit at cost 1)."""
    from rapidfuzz.distance import Levenshtein

    return Alignment(a, b, tuple(cast(list[Edit], Levenshtein.editops(a, b).as_list())))


def disagreements(alignment: Alignment, unit: Unit, context: int = 20, apart: int = 0) -> Iterator[Disagreement]:
    """Every place where the readings part, in order, with `context` units of a on each side.

    Neighbouring edits are one disagreement: those with at most `apart` equal units between them.

    Raises:
        ValueError: context or apart below 0.
    """
    if context < 0 or apart < 0:
        raise ValueError(f"context is {context} and apart {apart}; give numbers of units, 0 or more")
    a, b = alignment.a, alignment.b
    for start_a, end_a, start_b, end_b in _merged(alignment.edits, apart):
        yield Disagreement(
            start_a,
            end_a,
            start_b,
            end_b,
            left=joined(a[max(0, start_a - context) : start_a], unit),
            reading_a=joined(a[start_a:end_a], unit),
            reading_b=joined(b[start_b:end_b], unit),
            right=joined(a[end_a : end_a + context], unit),
        )


def _merged(edits: Sequence[Edit], apart: int) -> Iterator[tuple[int, int, int, int]]:
    """Spans (start in a, end in a, start in b, end in b) of edits that are close together."""
    span: tuple[int, int, int, int] | None = None
    for kind, i, j in edits:
        end_a, end_b = i + (kind != "insert"), j + (kind != "delete")
        # as many units lie between two edits in a as in b
        if span is not None and i - span[1] <= apart:
            span = (span[0], end_a, span[2], end_b)
            continue
        if span is not None:
            yield span
        span = (i, end_a, j, end_b)
    if span is not None:
        yield span
