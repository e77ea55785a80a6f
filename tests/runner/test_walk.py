"""The order of an arm's requests, their seeds, and what is warmed before them."""

from __future__ import annotations

import pytest

from evalflow.arm import Arm
from evalflow.model.scripted import Scripted
from evalflow.record import Decoding, Item
from evalflow.runner.parts import PlannedArm
from evalflow.runner.walk import Block, reachable, walk


def planned(arm: Arm) -> PlannedArm:
    return PlannedArm("arm", arm, Scripted(otherwise="x"), Decoding(temperature=1.0, max_tokens=50))


def blocks(arm: Arm, items: list[Item], root: int = 7, salt: str = "run") -> list[Block]:
    return [Block(block.warm, list(block.steps)) for block in walk(planned(arm), items, root, salt)]


def item(name: str, group: str = "", prompt: str | None = None) -> Item:
    return Item(name, prompt or f"page {group}: question {name}", prefix_group=group)


ITEMS = [item("a", "p"), item("b", "q"), item("c", "p"), item("d")]


def test_a_cold_arm_takes_the_datasets_order_once_per_seed() -> None:
    """Each seed is a full pass over the items in their order, and nothing is warmed."""
    found = blocks(Arm(seeds=(3, 1)), ITEMS)
    assert [[step.item.id for step in block.steps] for block in found] == [list("abcd"), list("abcd")]
    assert [{step.seed for step in block.steps} for block in found] == [{3}, {1}]
    assert all(block.warm is None for block in found)


def test_a_sampling_seed_depends_on_root_item_and_arm_seed_alone() -> None:
    """It is the first 4 bytes, less the top bit, of SHA-256 over `root:repeat:item`; the order does not enter."""
    forward = {step.item.id: step.request.seed for step in blocks(Arm(seeds=(0,)), ITEMS)[0].steps}
    backward = {step.item.id: step.request.seed for step in blocks(Arm(seeds=(0,)), ITEMS[::-1])[0].steps}
    # printf '7:0:a' | sha256sum begins with 51977361
    assert forward["a"] == 0x51977361 & 0x7FFFFFFF
    assert forward == backward
    assert len(set(forward.values())) == 4


def test_a_request_carries_the_arms_decoding_and_the_items_prompt() -> None:
    """Nothing is added to a prompt, and nothing taken from the decoding."""
    (block,) = blocks(Arm(), ITEMS[:1])
    (step,) = block.steps
    assert (step.request.item_id, step.request.prompt) == ("a", "page p: question a")
    assert step.request.decoding == Decoding(temperature=1.0, max_tokens=50)


def test_a_warm_arm_goes_group_by_group_in_order_of_first_appearance() -> None:
    """Group p with both its items, then q, then the item without a group; each pass again."""
    found = blocks(Arm(cache="warm", seeds=(0, 1)), ITEMS)
    assert [[step.item.id for step in block.steps] for block in found] == [["a", "c"], ["b"], ["d"]] * 2


def test_a_group_is_warmed_with_its_exact_shared_prefix() -> None:
    """The warm call's prompt is the longest text that all prompts of the group begin with, for one token."""
    found = blocks(Arm(cache="warm"), ITEMS)
    warm = found[0].warm
    assert warm is not None
    assert warm.prompt == "page p: question "
    assert warm.decoding.max_tokens == 1


def test_a_group_that_shares_nothing_is_not_warmed() -> None:
    """Prompts without a common beginning have no prefix to warm."""
    (block,) = blocks(Arm(cache="warm"), [item("a", "p", "x1"), item("b", "p", "y1")])
    assert block.warm is None


def left(arm: Arm, answered: set[tuple[int, str]]) -> list[tuple[str | None, list[tuple[int, str]]]]:
    """Each block's warm prompt, and what it asks after it, where some was answered before."""
    found = walk(planned(arm), ITEMS, 7, "run", answered)
    return [(b.warm and b.warm.prompt, [(step.seed, step.item.id) for step in b.steps]) for b in found]


def test_what_was_answered_is_not_asked_again() -> None:
    """A cold arm asks the rest of each pass in the dataset's order, with the same sampling seeds as ever."""
    assert left(Arm(seeds=(0, 1)), {(0, "a"), (0, "c"), (1, "d")}) == [
        (None, [(0, "b"), (0, "d")]),
        (None, [(1, "a"), (1, "b"), (1, "c")]),
    ]
    whole = {step.item.id: step.request for block in blocks(Arm(), ITEMS) for step in block.steps}
    rest = [step for block in walk(planned(Arm()), ITEMS, 7, "run", {(0, "a")}) for step in block.steps]
    assert [step.request for step in rest] == [whole[name] for name in "bcd"]


def test_a_group_that_is_begun_again_is_warmed_again() -> None:
    """With the prefix of the whole group, also where one item of it is left; a group that is done is passed over."""
    prefix = "page p: question "
    arm = Arm(cache="warm")
    assert left(arm, set()) == [(prefix, [(0, "a"), (0, "c")]), (None, [(0, "b")]), (None, [(0, "d")])]
    assert left(arm, {(0, "a")}) == [(prefix, [(0, "c")]), (None, [(0, "b")]), (None, [(0, "d")])]
    assert left(arm, {(0, "a"), (0, "c")}) == [(None, [(0, "b")]), (None, [(0, "d")])]
    assert left(arm, {(0, name) for name in "abcd"}) == []


def test_nothing_left_of_a_cold_pass_asks_nothing() -> None:
    """A pass that is done has no step."""
    assert [steps for _, steps in left(Arm(seeds=(0, 1)), {(0, name) for name in "abcd"})] == [
        [],
        [(1, name) for name in "abcd"],
    ]


def salts(arm: Arm, salt: str = "run") -> list[str | None]:
    return [step.request.cache_salt for block in blocks(arm, ITEMS, salt=salt) for step in block.steps]


def test_a_cold_arm_has_one_salt_per_pass() -> None:
    """Within a pass a second item of a group may hit; nothing of an earlier pass or run can."""
    found = salts(Arm(seeds=(0, 1)))
    assert len(set(found)) == 2
    assert len(set(found[:4])) == 1
    assert not set(found) & set(salts(Arm(seeds=(0, 1)), "another run"))


def test_an_isolated_arm_has_a_salt_per_request() -> None:
    """Nothing can hit."""
    assert len(set(salts(Arm(cache="isolated", seeds=(0, 1))))) == 8


def test_a_warm_call_shares_the_salt_of_its_group() -> None:
    """What is warmed is what is read."""
    for block in blocks(Arm(cache="warm"), ITEMS):
        if block.warm is not None:
            assert {block.warm.cache_salt} == {step.request.cache_salt for step in block.steps}


def test_a_request_names_its_arms_regime() -> None:
    """A model that can only switch its cache on and off goes by that, for the warm call too."""
    for cache in ("cold", "isolated", "warm"):
        found = blocks(Arm(cache=cache), ITEMS)
        assert {step.request.cache for block in found for step in block.steps} == {cache}
        assert {block.warm.cache for block in found if block.warm is not None} <= {cache}


@pytest.mark.parametrize(
    ("arm", "most"),
    [
        (Arm(concurrency=3), 3),
        (Arm(concurrency=9), 4),  # there are four items
        (Arm(concurrency=9, seeds=(0, 1)), 4),  # passes follow one another
        (Arm(concurrency=9, cache="isolated"), 4),
        (Arm(concurrency=1, cache="warm"), 1),
        (Arm(concurrency=9, cache="warm"), 2),  # group p has two items, and groups follow one another
        (Arm(concurrency=9, rate=5.0), None),  # what is in flight is the seat's to decide
    ],
)
def test_what_can_be_in_flight_at_once(arm: Arm, most: int | None) -> None:
    """The arm's concurrency, or what the walk has to offer where that is less."""
    assert reachable(planned(arm), ITEMS) == most
