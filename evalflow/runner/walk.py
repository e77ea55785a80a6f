"""In which order an arm asks its items, and what it warms before."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from evalflow.numeric.seed import derive_seed
from evalflow.record import Item, Request, content_of, digest
from evalflow.runner.parts import PlannedArm


@dataclass(frozen=True)
class Step:
    """One request of an arm, and the item and seed of the row that its answer becomes."""

    item: Item
    seed: int
    request: Request


@dataclass(frozen=True)
class Block:
    """Steps that may be in flight together, after `warm` has been answered where there is one."""

    warm: Request | None
    steps: Iterable[Step]


def walk(
    planned: PlannedArm, items: Sequence[Item], root_seed: int, salt: str, answered: Container[tuple[int, str]] = ()
) -> Iterator[Block]:
    """Every request of an arm, a full pass per seed, but for those `answered` before: (seed, item id).

    A cold or isolated arm takes the dataset in its order. A warm one goes group by group, in order of first
    appearance: one call with the group's exact shared prefix, then that group's own items, so that no other group's
    call comes between; a group of which some are answered is warmed again before the others. A group of one shares
    nothing, and to warm it with its own question would flatter it.
    The sampling seed depends on the root seed, the item and the arm's seed alone, so no order can change a row.
    `salt` is the session's own: what was cached before is nothing to it.
    """
    for seed in planned.arm.seeds:
        if planned.arm.cache != "warm":
            missing_items = [item for item in items if (seed, item.id) not in answered] if answered else items
            yield Block(None, _steps(planned, missing_items, seed, root_seed, salt))
            continue
        for members in groups(items):
            steps = [_step(planned, item, seed, root_seed, salt) for item in members]
            missing = [step for step in steps if (seed, step.item.id) not in answered]
            if not missing:
                continue
            prefix = _shared_prefix([step.request.prompt for step in steps]) if len(steps) > 1 else ""
            once = replace(steps[0].request.decoding, max_tokens=1)
            yield Block(replace(steps[0].request, prompt=prefix, decoding=once) if prefix else None, missing)


def reachable(planned: PlannedArm, items: Sequence[Item]) -> int | None:
    """How many requests of an arm the walk can really have in flight; None for an open loop, which has no such end.

    A warm arm cannot have more than its largest group has items.
    """
    if planned.arm.rate is not None:
        return None
    most = len(items) if planned.arm.cache != "warm" else max(len(members) for members in groups(items))
    return min(planned.arm.concurrency, most)


def _steps(planned: PlannedArm, items: Iterable[Item], seed: int, root_seed: int, salt: str) -> Iterator[Step]:
    return (_step(planned, item, seed, root_seed, salt) for item in items)


def _step(planned: PlannedArm, item: Item, seed: int, root_seed: int, salt: str) -> Step:
    own = (salt, planned.name, seed, item.id) if planned.arm.cache == "isolated" else (salt, planned.name, seed)
    request = Request(
        item_id=item.id,
        prompt=item.prompt,
        decoding=planned.decoding,
        seed=derive_seed(root_seed, item.id, seed),
        cache_salt=digest(own)[:16],
        cache=planned.arm.cache,
        repeat=seed,
        content=content_of(item) if getattr(planned.model, "recorded", False) else "",
    )
    return Step(item, seed, request)


def _shared_prefix(prompts: Sequence[str]) -> str:
    """The longest text that all prompts begin with."""
    first, last = min(prompts), max(prompts)  # what these two share, everything between them shares
    return first[: next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def groups(items: Sequence[Item]) -> list[list[Item]]:
    """The items by prefix group, in order of first appearance; one without a group is a group of its own."""
    found: dict[str, list[Item]] = {}
    for item in items:
        found.setdefault(item.prefix_group or f"\0{item.id}", []).append(item)
    return list(found.values())
