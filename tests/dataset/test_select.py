"""Choosing items: `where`, shard and limit, and what is said of a part."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from evalflow.dataset.protocol import Shard, collect, matches, select
from evalflow.errors import DataError
from evalflow.record import Item, fingerprints

ITEMS = tuple(Item(f"i{n}", "p", kind="even" if n % 2 == 0 else "odd", cluster=f"c{n // 2}") for n in range(10))


@dataclass(frozen=True)
class Given:
    """A dataset of the items it is given."""

    given: tuple[Item, ...]
    name: str = "given"

    def items(self) -> tuple[Item, ...]:
        return self.given


def ids(items):
    return [item.id for item in items]


def test_everything_is_no_part():
    """Without where, shard and limit, or with a limit that nothing exceeds, all is chosen and nothing is said."""
    assert select(ITEMS, {}, None, None).items == ITEMS
    assert select(ITEMS, {}, None, None).part is None
    assert select(ITEMS, {}, Shard(0, 1), 10).part is None
    assert select(ITEMS, {"kind": ["even", "odd"]}, None, None).part is None


def test_where_keeps_what_has_every_value():
    """All conditions must hold; a list stands for any of its values."""
    assert ids(select(ITEMS, {"kind": "odd"}, None, None).items) == ["i1", "i3", "i5", "i7", "i9"]
    assert ids(select(ITEMS, {"kind": "odd", "cluster": ["c0", "c4"]}, None, None).items) == ["i1", "i9"]
    assert "odd" in (select(ITEMS, {"kind": "odd"}, None, None).part or "")
    assert matches(ITEMS[0], {})
    assert not matches(ITEMS[0], {"kind": []})


def test_a_limit_is_a_smoke_run_and_says_so():
    """The first items are kept and the part is named a smoke run."""
    chosen = select(ITEMS, {}, None, 3)
    assert ids(chosen.items) == ["i0", "i1", "i2"]
    assert chosen.part == "smoke run: limit 3"


@pytest.mark.parametrize("of", [1, 2, 3, 4, 10])
def test_shards_partition_the_items(of):
    """Every item is in exactly one shard, shards differ in size by at most one, and each says which it is."""
    shards = [select(ITEMS, {}, Shard(index, of), None) for index in range(of)]
    dealt = [item.id for shard in shards for item in shard.items]
    assert sorted(dealt) == sorted(ids(ITEMS))
    sizes = [len(shard.items) for shard in shards]
    assert max(sizes) - min(sizes) <= 1
    if of > 1:
        assert [shard.part for shard in shards] == [f"shard {index} of {of}" for index in range(of)]


def test_where_comes_first_then_the_shard_then_the_limit():
    """The limit is of the shard, the shard of what matches, and all three are named."""
    chosen = select(ITEMS, {"kind": "odd"}, Shard(1, 2), 1)
    assert ids(chosen.items) == ["i3"]  # odd: 1 3 5 7 9, second shard: 3 7, limit: 3
    assert chosen.part == "where {'kind': 'odd'}, shard 1 of 2, smoke run: limit 1"


@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("where", [{}, {"kind": "odd"}])
def test_a_shard_knows_the_whole_that_it_is_of(where, limit):
    """Every shard carries the fingerprints of all that match: put together, shards can be held against them."""
    whole = fingerprints(select(ITEMS, where, None, None).items)
    for index in range(3):
        chosen = select(ITEMS, where, Shard(index, 3), limit)
        assert (chosen.shard, chosen.unsharded) == (Shard(index, 3), whole)
        assert fingerprints(chosen.items) != whole


def test_what_is_no_shard_is_of_no_whole():
    """A choice or a limit alone has neither."""
    chosen = select(ITEMS, {"kind": "odd"}, None, 2)
    assert (chosen.shard, chosen.unsharded) == (None, None)


@pytest.mark.parametrize(
    ("where", "shard", "said"),
    [
        ({"kind": "prime"}, None, "where {'kind': 'prime'} selects none of the 10 items"),
        ({"cluster": "c0"}, Shard(2, 3), "shard 2 of 3 selects none of the 10 items"),
    ],
)
def test_nothing_selected_is_refused(where, shard, said):
    """A selection of nothing is an error that names what selected it, never an empty run."""
    with pytest.raises(DataError) as refused:
        select(ITEMS, where, shard, None)
    assert said in str(refused.value)


@pytest.mark.parametrize(("index", "of"), [(2, 2), (-1, 2), (0, 0), (0, -1)])
def test_a_shard_that_does_not_exist_is_refused(index, of):
    """Shards count from 0 to one below their number."""
    with pytest.raises(ValueError, match=f"shard {index} of {of} does not exist"):
        Shard(index, of)


def test_ids_are_unique_or_refused():
    """A second item of one id is refused with both places; distinct ones pass in order."""
    assert collect(Given(ITEMS)) == ITEMS
    with pytest.raises(DataError, match=r"dataset given: item id 'i1' occurs twice \(items 2 and 11\)"):
        collect(Given((*ITEMS, ITEMS[1])))


def test_a_dataset_of_nothing_is_refused():
    """No items is no dataset."""
    with pytest.raises(DataError, match="dataset given: it has no items"):
        collect(Given(()))
