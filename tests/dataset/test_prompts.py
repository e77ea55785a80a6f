"""Prompts that mean nothing."""

import random

import pytest

from evalflow.dataset.prompts import WORDS, Prompts
from evalflow.dataset.protocol import collect


def test_every_prompt_has_the_length_that_is_asked_for():
    """In words, each of the list but the prompt's own number, which makes it unlike any other."""
    items = collect(Prompts(n=50, words=9))
    assert {len(item.prompt.split()) for item in items} == {9}
    assert [item.prompt.split()[0] for item in items] == [f"{number}:" for number in range(50)]
    assert {word for item in items for word in item.prompt.split()[1:]} <= set(WORDS)
    assert len({item.prompt for item in items}) == 50
    assert {(item.target, item.kind, item.prefix_group, item.cluster) for item in items} == {(None, "", "", "")}


def test_a_group_shares_its_first_words_and_no_more():
    """Groups of 3 with 4 of 6 words in common: 3, 3 and 1 prompts, and what they share ends where it was said to."""
    items = collect(Prompts(n=7, words=6, shared=4, group=3))
    assert [item.prefix_group for item in items] == ["group 0"] * 3 + ["group 1"] * 3 + ["group 2"]
    assert [item.cluster for item in items] == [item.prefix_group for item in items]
    assert {len(item.prompt.split()) for item in items} == {6}
    starts = {}
    for group in ("group 0", "group 1"):
        prompts = [item.prompt for item in items if item.prefix_group == group]
        (starts[group],) = {" ".join(prompt.split()[:4]) for prompt in prompts}
        assert len({prompt.split()[4] for prompt in prompts}) == 3
    assert len(set(starts.values())) == 2


def test_no_group_is_named_where_nothing_is_shared():
    """A group of prompts without a common beginning has nothing to warm."""
    assert {item.prefix_group for item in Prompts(n=4, group=2).items()} == {""}


def test_a_prompt_depends_on_its_number_and_the_seed_alone():
    """More prompts change none of the first ones; another seed changes all but their numbers."""
    few, many = Prompts(n=5, shared=8, group=2).items(), Prompts(n=50, shared=8, group=2).items()
    assert many[:5] == few
    other = Prompts(n=5, shared=8, group=2, seed=1).items()
    assert [item.id for item in other] == [item.id for item in few]
    assert not {item.prompt for item in other} & {item.prompt for item in few}


def test_the_first_prompt_is_the_same_everywhere():
    """Its words are drawn by Python's own generator, seeded with the seed and the prompt's number."""
    assert random.Random("0 prompt 0").choices(range(24), k=3) == [0, 1, 1]
    assert Prompts(n=1, words=4).items()[0].prompt == "0: amber basil basil"


def test_ids_sort_as_they_are_numbered():
    """So that the order of a report is the order of the prompts."""
    ids = [item.id for item in Prompts(n=1_001, words=2).items()]
    assert ids == sorted(ids)
    assert (ids[0], ids[-1]) == ("p000000", "p001000")


def test_without_a_number_there_are_256():
    """Enough for a percentile of the tail, few enough to try."""
    assert len(Prompts().items()) == 256


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n": 0}, "n is 0; give at least 1"),
        ({"words": 1}, "words is 1; give at least 2"),
        ({"shared": -1}, "shared is -1; give at least 0"),
        ({"group": 0}, "group is 0; give at least 1"),
        ({"words": 8, "shared": 8}, "shared is 8 of 8 words; leave at least one"),
    ],
)
def test_a_length_that_cannot_be_is_refused(settings, said):
    """A prompt needs its number and one word more than what it shares."""
    with pytest.raises(ValueError, match=said):
        Prompts(**settings)
