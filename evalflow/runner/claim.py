"""Whether an arm's cache was what its regime claims, by what the model itself reported, and what it had to hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalflow.metric.cache_hit_share import is_hit
from evalflow.record import Cache, Item, Row
from evalflow.runner.parts import PlannedArm


@dataclass(frozen=True)
class CacheClaim:
    """What came of the claim, and in words why."""

    outcome: Literal["held", "broken", "cannot_say"]
    why: str


def cache_claim(planned: PlannedArm, items: Sequence[Item], rows: Iterable[Row]) -> CacheClaim:
    """Hold the share of rows that hit the cache against the arm's claim.

    A hit is a row whose cached tokens reach half of its input tokens. Of a warm arm the rows count that were warmed (a
    group of one shares nothing), of a cold one the first reads of each group (a later one may hit what they left), of
    an isolated one all. Rows that do not say whether they hit are taken for either, so that an outcome is given only
    where they cannot change it.
    """
    claimed = _claimed(planned.arm.cache, items)
    counted = [row for row in rows if row.status != "error" and row.item_id in claimed]
    if not counted:
        return CacheClaim("cannot_say", "no row could tell" if planned.arm.cache == "warm" else "no row was answered")
    told = [hit for row in counted if (hit := is_hit(row)) is not None]
    hits, unknown, n = sum(told), len(counted) - len(told), len(counted)
    if not told:
        return CacheClaim("cannot_say", f"none of {n} rows reports cached tokens")
    least, most = planned.arm.hits_between
    of = {"warm": "warmed rows", "cold": "first reads of a group", "isolated": "rows"}[planned.arm.cache]
    said = f"{hits} of {n} {of} hit the cache" + (f", {unknown} do not say" if unknown else "")
    wanted = f"at least {least:g}" if planned.arm.cache == "warm" else f"at most {most:g}"
    why = f"{said}; {'an' if planned.arm.cache == 'isolated' else 'a'} {planned.arm.cache} arm claims {wanted} of them"
    possible = (hits / n, (hits + unknown) / n)
    if possible[0] >= least - 1e-12 and possible[1] <= most + 1e-12:
        return CacheClaim("held", why)
    if possible[1] < least - 1e-12 or possible[0] > most + 1e-12:
        return CacheClaim("broken", why)
    return CacheClaim("cannot_say", why)


def _claimed(cache: Cache, items: Sequence[Item]) -> set[str]:
    """The items that a regime says something of."""
    if cache == "warm":
        members = Counter(item.prefix_group for item in items if item.prefix_group)
        return {item.id for item in items if members[item.prefix_group] > 1}
    if cache == "cold":
        first: dict[str, str] = {}
        for item in items:
            first.setdefault(item.prefix_group or f"\0{item.id}", item.id)
        return set(first.values())
    return {item.id for item in items}


@dataclass(frozen=True)
class Corpus:
    """The tokens of an arm's prompts, each prefix group counted by its longest alone, and what the cache holds."""

    prompt_tokens: int | None
    cache_tokens: int | None

    @property
    def share(self) -> float | None:
        """Prompts per cache, at least: above 1 not all of them fit at once, whatever the order."""
        if self.prompt_tokens is None or not self.cache_tokens:
            return None
        return self.prompt_tokens / self.cache_tokens


def corpus(items: Sequence[Item], rows: Iterable[Row], facts: Mapping[str, Any]) -> Corpus:
    """How an arm's prompts stand to its seat's cache, where the seat or its settings say how much that holds."""
    longest: dict[str, int] = {}
    groups = {item.id: item.prefix_group or f"\0{item.id}" for item in items}
    for row in rows:
        if row.tokens_in is not None:
            group = groups[row.item_id]
            longest[group] = max(longest.get(group, 0), row.tokens_in)
    held = facts.get("cache_tokens")
    known = bool(longest) and set(longest) == set(groups.values())
    return Corpus(sum(longest.values()) if known else None, held if isinstance(held, int) else None)
