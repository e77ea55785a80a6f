"""Any number of readings of one text side by side: columns of what each of them has at one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from evalflow.numeric.alignment import align

Reading: TypeAlias = Sequence[str]
Column: TypeAlias = tuple[str | None, ...]
"""What each of R readings has at one place; None where it has nothing there."""


def columns(readings: Sequence[Reading | None]) -> list[Column]:
    """The columns of R readings, in order; one that is None is missing, and None throughout. No column is all None.

    The reading with the fewest edits to the others in all (of equals the first) is the one that each other is aligned
    with, minimally. What others have between two of its units is put in columns among themselves in the same way.
    Two readings come out as `alignment.align` pairs them.

    Source: the center star (Gusfield 1993), whose edits over all pairs are less than twice the fewest possible.
    """
    given = [place for place, reading in enumerate(readings) if reading]
    if not given:
        return []
    centre = min(given, key=lambda place: _edits_to_others(readings, place))
    spine = readings[centre] or ()
    facing = {place: _facing(spine, readings[place] or ()) for place in given}
    nothing: tuple[list[str | None], list[list[str]]] = ([None] * len(spine), [[]] * (len(spine) + 1))
    units, between = zip(*(facing.get(place, nothing) for place in range(len(readings))), strict=True)
    rows = list(zip(*units, strict=True))
    found: list[Column] = []
    for at, gap in enumerate(zip(*between, strict=True)):
        found += columns(gap) if any(gap) else []
        found += rows[at : at + 1]
    return found


def _edits_to_others(readings: Sequence[Reading | None], place: int) -> int:
    from rapidfuzz.distance import Levenshtein

    own = readings[place] or ()
    return sum(Levenshtein.distance(own, other) for other in readings if other)


def _facing(spine: Reading, reading: Reading) -> tuple[list[str | None], list[list[str]]]:
    """What a reading has facing each of the spine's units (P,), and what before each and at the end (P + 1,)."""
    alignment = align(spine, reading)
    units: list[str | None] = [None] * len(spine)
    between: list[list[str]] = [[] for _ in range(len(spine) + 1)]
    for i, j in alignment.pairs_p2().tolist():
        units[i] = reading[j]
    for kind, i, j in alignment.edits:
        if kind == "insert":
            between[i].append(reading[j])
    return units, between
