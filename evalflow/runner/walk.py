"""In which order an arm asks its items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalflow.numeric.seed import derive_seed
from evalflow.record import Item, Request
from evalflow.runner.plan import PlannedArm


@dataclass(frozen=True)
class Step:
    """One request of an arm, and the row that its answer becomes."""

    item: Item
    seed: int
    request: Request


def walk(planned: PlannedArm, items: Sequence[Item], root_seed: int) -> Iterator[Step]:
    """Every request of an arm: one full pass per seed, each in the dataset's order.

    The sampling seed depends on the root seed, the item and the arm's seed alone, so no order can change a row.
    """
    for seed in planned.arm.seeds:
        for item in items:
            sampling = derive_seed(root_seed, item.id, seed)
            yield Step(item, seed, Request(item.id, item.prompt, planned.decoding, sampling))
