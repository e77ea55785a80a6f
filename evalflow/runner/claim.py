"""Whether an arm's cache was what its regime claims, by what the model itself reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

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
