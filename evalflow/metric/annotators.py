"""What an item's annotators read: its field `annotators`, names to texts or labels, None for one that is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Literal, TypeAlias

from evalflow.numeric.alignment import Alignment, align
from evalflow.numeric.text_profile import TextProfile
from evalflow.numeric.units import Unit, cut
from evalflow.record import Item

Labelled: TypeAlias = Literal["grapheme", "codepoint", "word", "label"]
"""What annotators are compared in: a unit of their texts, or the whole text as one label."""


def read_by(item: Item) -> dict[str, str | None]:
    """Every annotator's reading, by name in order; empty where the item has none."""
    given = item.fields.get("annotators")
    if not isinstance(given, Mapping):
        return {}
    return {name: None if given[name] is None else str(given[name]) for name in sorted(given)}


def present(item: Item) -> dict[str, str]:
    """The readings that are there."""
    return {name: text for name, text in read_by(item).items() if text is not None}


def labels(text: str, unit: Labelled, profile: TextProfile) -> list[str]:
    """A reading brought to the profile, as the units or the one label that it is compared in."""
    even = profile.apply(text)
    return [even] if unit == "label" else cut(even, unit)


def pairings(item: Item, unit: Labelled, profile: TextProfile) -> Iterator[tuple[tuple[str, str], Alignment]]:
    """`(names, alignment)` of every two annotators who read the item, each two once."""
    read = {name: labels(text, unit, profile) for name, text in present(item).items()}
    for one, other in combinations(read, 2):
        yield (one, other), align(read[one], read[other])


def known_unit(unit: Unit) -> Unit:
    """The unit, if it is one.

    Raises:
        ValueError: no such unit.
    """
    cut("", unit)
    return unit
