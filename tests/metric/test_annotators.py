"""Annotators' readings of an item."""

from evalflow.metric.annotators import labels, pairings, present, read_by
from evalflow.numeric.text_profile import NFC, TextProfile
from evalflow.record import Item
from tests.metric.transcribed import document


def test_readings_are_taken_by_name():
    """In order of names, so that no dataset's order can matter; a missing one is None, a number its text."""
    item = Item("i", "p", fields={"annotators": {"b": 3, "a": None, "c": "x"}})
    assert list(read_by(item).items()) == [("a", None), ("b", "3"), ("c", "x")]
    assert present(item) == {"b": "3", "c": "x"}


def test_an_item_without_annotators_has_no_readings():
    """None at all, or a field of that name that holds something else."""
    assert read_by(Item("i", "p")) == read_by(Item("i", "p", fields={"annotators": ["a", "b"]})) == {}


def test_a_label_is_the_whole_text():
    """After the profile, as units are."""
    assert labels(" Yes no ", "label", TextProfile(casefold=True, strip=True)) == ["yes no"]
    assert labels("e\u0301a", "grapheme", NFC) == ["é", "a"]
    assert labels("one two", "word", NFC) == ["one", "two"]


def test_every_two_who_read_it_are_paired_once():
    """Whoever is missing is in no pair; a label always faces a label."""
    item = document(a="x", b=None, c="y", d="y").item
    assert [names for names, _ in pairings(item, "label", NFC)] == [("a", "c"), ("a", "d"), ("c", "d")]
    assert [pair.paired() for _, pair in pairings(item, "label", NFC)] == [
        (["x"], ["y"]),
        (["x"], ["y"]),
        (["y"], ["y"]),
    ]
