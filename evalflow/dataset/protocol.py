"""What a dataset is, and the checks every one of them passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from evalflow.errors import DataError
from evalflow.record import Item, fingerprints


class Dataset(Protocol):
    """A fixed, ordered set of items. A dataclass whose fields are its settings in YAML; building one reads nothing."""

    name: str

    def items(self) -> Sequence[Item]:
        """Every item, in order.

        Raises:
            DataError: the source cannot be read or is malformed (the message names file and line).
        """
        ...


@dataclass(frozen=True)
class Shard:
    """Part `index` (from 0) of `of` parts, items dealt round-robin."""

    index: int
    of: int

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.of:
            raise ValueError(f"shard {self.index} of {self.of} does not exist; give an index from 0 below `of`")


@dataclass(frozen=True)
class Selection:
    """The items of a run, and why they are fewer than the dataset's (None when they are all of it).

    `shard` is which shard they are, `unsharded` the fingerprints of what all shards are together.
    """

    items: tuple[Item, ...]
    part: str | None
    shard: Shard | None = None
    unsharded: Mapping[str, str] | None = None


def collect(dataset: Dataset) -> tuple[Item, ...]:
    """The dataset's items, checked.

    Raises:
        DataError: there is none, or an id occurs twice.
    """
    items = tuple(dataset.items())
    if not items:
        raise DataError(f"dataset {dataset.name}: it has no items; give a source with at least one")
    seen: dict[str, int] = {}
    for position, item in enumerate(items, start=1):
        if item.id in seen:
            raise DataError(
                f"dataset {dataset.name}: item id {item.id!r} occurs twice (items {seen[item.id]} and {position}); "
                "make ids unique"
            )
        seen[item.id] = position
    return items


def select(items: Sequence[Item], where: Mapping[str, Any], shard: Shard | None, limit: int | None) -> Selection:
    """The items that match `where`, then the shard of them, then the first `limit`.

    Raises:
        DataError: nothing is left.
    """
    chosen = [item for item in items if matches(item, where)]
    unsharded = None if shard is None else fingerprints(chosen)
    if shard is not None:
        chosen = chosen[shard.index :: shard.of]
    reasons = [f"where {dict(where)}"] if len(chosen) < len(items) and where else []
    if shard is not None and shard.of > 1:
        reasons.append(f"shard {shard.index} of {shard.of}")
    if limit is not None and limit < len(chosen):
        chosen = chosen[:limit]
        reasons.append(f"smoke run: limit {limit}")
    if not chosen:
        said = ", ".join(reasons) or f"limit {limit}"
        raise DataError(f"{'where' if where else 'shard'}: {said} selects none of the {len(items)} items; loosen it")
    return Selection(tuple(chosen), ", ".join(reasons) or None, shard, unsharded)


def matches(item: Item, where: Mapping[str, Any]) -> bool:
    """Whether the item has every value of `where` (a list stands for any of its values)."""
    return all(
        getattr(item, key) in wanted if isinstance(wanted, list | tuple) else getattr(item, key) == wanted
        for key, wanted in where.items()
    )


ITEM_KEYS = ("id", "kind", "cluster", "prefix_group")
"""What `where` may name on an item."""
