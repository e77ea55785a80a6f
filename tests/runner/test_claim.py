"""What a cache regime claims, held against what the rows say."""

from __future__ import annotations

import pytest

from evalflow.arm import Arm
from evalflow.metric.cache_hit_share import is_hit
from evalflow.model.scripted import Scripted
from evalflow.record import Cache, Decoding, Item, Row, RowError
from evalflow.runner.claim import cache_claim, corpus
from evalflow.runner.parts import PlannedArm

ROWS = {"h": 60, "m": 10, "?": None}
"""Cached tokens, of a hundred, of a row that hits, one that misses, and one that does not say."""


def row(item_id: str, cached: int | None, tokens_in: int | None = 100, group: str = "") -> Row:
    settings = {"run_id": "r", "session": "s", "arm": "one", "seed": 0, "item_id": item_id, "status": "ok"}
    return Row(**settings, draft="x", served="x", prefix_group=group, tokens_in=tokens_in, cached_tokens=cached)


def failed(item_id: str) -> Row:
    settings = {"run_id": "r", "session": "s", "arm": "one", "seed": 0, "item_id": item_id, "status": "error"}
    return Row(**settings, draft=None, served=None, error=RowError("x", "y"))


def planned(arm: Arm) -> PlannedArm:
    return PlannedArm("one", arm, Scripted(otherwise="x"), Decoding())


def claimed(arm: Arm, letters: str, group: str = "g") -> tuple[str, str]:
    """Outcome and words of an arm with a row per letter, all of one group where it is a warm one."""
    own = group if arm.cache == "warm" else ""
    items = [Item(f"i{place}", "p", prefix_group=own) for place in range(len(letters))]
    rows = [
        failed(item.id) if letter == "e" else row(item.id, ROWS[letter], group=own)
        for item, letter in zip(items, letters, strict=True)
    ]
    claim = cache_claim(planned(arm), items, rows)
    return claim.outcome, claim.why


@pytest.mark.parametrize(
    ("cached", "tokens_in", "hit"),
    [
        (50, 100, True),
        (49, 100, False),
        (0, 100, False),
        (1, 1, True),
        (None, 100, None),
        (50, None, None),
        (0, 0, None),
    ],
)
def test_a_hit_is_half_of_the_input_cached(cached: int | None, tokens_in: int | None, hit: bool | None) -> None:
    """Exactly half counts; a row without either number does not say, which is no miss."""
    assert is_hit(row("a", cached, tokens_in)) is hit


@pytest.mark.parametrize(
    ("cache", "letters", "outcome"),
    [
        ("cold", "m" * 10, "held"),
        ("cold", "m" * 9 + "h", "held"),  # one of ten is the 0.1 that is allowed
        ("cold", "m" * 8 + "hh", "broken"),
        ("cold", "m" * 9 + "?", "held"),  # at worst one of ten
        ("cold", "m" * 8 + "??", "cannot_say"),  # none or two of ten
        ("cold", "m" * 7 + "h??", "cannot_say"),  # one or three
        ("cold", "m" * 7 + "hh?", "broken"),  # two already, whatever the last one is
        ("cold", "?" * 10, "cannot_say"),
        ("isolated", "m" * 10, "held"),
        ("isolated", "m" * 99 + "h", "broken"),
        ("isolated", "m" * 9 + "?", "cannot_say"),
        ("warm", "h" * 10, "held"),
        ("warm", "h" * 9 + "m", "held"),  # nine of ten are the 0.9 that is asked
        ("warm", "h" * 8 + "mm", "broken"),
        ("warm", "h" * 9 + "?", "held"),  # at worst nine of ten
        ("warm", "h" * 8 + "??", "cannot_say"),  # eight or ten
        ("warm", "h" * 7 + "mm?", "broken"),  # at best eight
        ("warm", "?" * 10, "cannot_say"),
    ],
)
def test_a_claim_by_hand(cache: Cache, letters: str, outcome: str) -> None:
    """Rows that do not say are taken for hits and for misses; an outcome stands only where both give it."""
    assert claimed(Arm(cache=cache), letters)[0] == outcome


def test_an_arms_own_bound_is_what_it_claims() -> None:
    """Half of the rows hit: enough for a floor of one half, and too many for a ceiling just under it."""
    assert claimed(Arm(cache="warm", hit_floor=0.5), "hm")[0] == "held"
    assert claimed(Arm(cache="warm", hit_floor=0.51), "hm")[0] == "broken"
    assert claimed(Arm(hit_ceiling=0.5), "hm")[0] == "held"
    assert claimed(Arm(hit_ceiling=0.49), "hm")[0] == "broken"
    assert claimed(Arm(cache="isolated", hit_ceiling=0.5), "hm")[0] == "held"


def test_the_words_have_the_counts_and_the_claim() -> None:
    """What was seen, how much is not known, and what was claimed of it."""
    cold, isolated = claimed(Arm(), "mmh?")[1], claimed(Arm(cache="isolated"), "hm")[1]
    assert cold == "1 of 4 first reads of a group hit the cache, 1 do not say; a cold arm claims at most 0.1 of them"
    assert isolated == "1 of 2 rows hit the cache; an isolated arm claims at most 0 of them"
    warm = claimed(Arm(cache="warm"), "hm")[1]
    assert warm == "1 of 2 warmed rows hit the cache; a warm arm claims at least 0.9 of them"
    assert claimed(Arm(), "??")[1] == "none of 2 rows reports cached tokens"


def test_an_error_row_is_no_miss() -> None:
    """Two of two answered rows hit; the third was never answered."""
    assert claimed(Arm(cache="warm"), "hhe") == (
        "held",
        "2 of 2 warmed rows hit the cache; a warm arm claims at least 0.9 of them",
    )
    assert claimed(Arm(), "ee") == ("cannot_say", "no row was answered")


def test_of_a_warm_arm_only_what_was_warmed_counts() -> None:
    """A group of one and an item without a group are asked cold, and their misses break no claim."""
    items = [
        Item("a", "p", prefix_group="g"),
        Item("b", "p", prefix_group="g"),
        Item("c", "p", prefix_group="alone"),
        Item("d", "p"),
    ]
    rows = [row("a", 60, group="g"), row("b", 60, group="g"), row("c", 0, group="alone"), row("d", 0)]
    assert cache_claim(planned(Arm(cache="warm")), items, rows).outcome == "held"


def test_of_a_cold_arm_only_first_reads_count() -> None:
    """What a later item of a group finds, the first one left; by the dataset's order, whatever the rows' is."""
    items = [Item(name, "p", prefix_group=group) for name, group in (("z", "g"), ("a", "g"), ("b", ""), ("c", ""))]
    rows = [row("a", 60, group="g"), row("z", 0, group="g"), row("b", 0), row("c", 0)]
    assert cache_claim(planned(Arm()), items, rows).outcome == "held"
    assert cache_claim(planned(Arm()), items[1:], rows).outcome == "broken"
    assert cache_claim(planned(Arm(cache="isolated")), items, rows).outcome == "broken"  # there all count


def test_a_warm_arm_of_single_items_cannot_say() -> None:
    """Nothing was warmed, so that no row could tell."""
    assert claimed(Arm(cache="warm"), "hh", group="") == ("cannot_say", "no row could tell")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cache": "warm", "hit_ceiling": 0.5}, "hit_ceiling is given to a warm arm"),
        ({"hit_floor": 0.5}, "hit_floor is given to a cold arm"),
        ({"cache": "isolated", "hit_floor": 0.5}, "hit_floor is given to a isolated arm"),
        ({"hit_ceiling": 1.5}, "hit_ceiling is 1.5; give a share from 0 to 1"),
        ({"cache": "warm", "rate": 1.0}, "rate is given to a warm arm"),
        ({"rate": 0.0}, "rate is 0.0; give requests per second above 0"),
    ],
)
def test_a_claim_that_an_arm_cannot_make_is_refused(settings: dict[str, object], said: str) -> None:
    """A warm arm is there to hit and any other to miss, and a warm arm's calls wait for each other."""
    with pytest.raises(ValueError, match=said):
        Arm(**settings)  # type: ignore[arg-type]


def test_prompts_are_held_against_the_cache_by_the_longest_of_each_group() -> None:
    """Groups of 100 and 120 tokens at most and a single of 30: 250 of a cache of 200."""
    groups = {"a": "g", "b": "g", "c": "h", "d": ""}
    items = [Item(name, "p", prefix_group=group) for name, group in groups.items()]
    tokens = {"a": 90, "b": 100, "c": 120, "d": 30}
    rows = [row(name, None, tokens[name], group) for name, group in groups.items()]
    held = corpus(items, rows, {"cache_tokens": 200})
    assert (held.prompt_tokens, held.cache_tokens, held.share) == (250, 200, 1.25)
    assert corpus(items, rows, {}).share is None
    assert corpus(items, rows[:2], {"cache_tokens": 200}).prompt_tokens is None  # two groups are not known
