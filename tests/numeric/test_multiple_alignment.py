"""Columns of many readings, by hand."""

from hypothesis import given, settings
from hypothesis import strategies as st

from evalflow.numeric.alignment import align
from evalflow.numeric.multiple_alignment import columns

TEXTS = st.lists(st.text(alphabet="abc", max_size=6), min_size=1, max_size=4)


def test_two_readings_are_paired_as_they_are_aligned():
    """Substitutions face each other; what only one has faces nothing."""
    assert columns([list("mils"), list("nil")]) == [("m", "n"), ("i", "i"), ("l", "l"), ("s", None)]
    assert columns([list("a"), list("xa")]) == [(None, "x"), ("a", "a")]


def test_a_missing_reading_is_missing_throughout():
    """It is no empty text to its neighbours: both are None there, and no column is all None."""
    assert columns([list("ab"), None, list("ab")]) == [("a", None, "a"), ("b", None, "b")]
    assert columns([list("a"), []]) == [("a", None)]
    assert columns([]) == columns([None, []]) == []


def test_what_two_have_and_the_middle_one_lacks_is_one_column():
    """`abd` is nearest to both others; the c that they share faces itself, not nothing."""
    assert columns([list("abcd"), list("abd"), list("abcd")])[2] == ("c", None, "c")
    between = columns([list("ab"), list("axb"), list("ayb"), list("ab")])
    assert between == [("a",) * 4, (None, "x", "y", None), ("b",) * 4]


def test_the_nearest_reading_is_the_spine():
    """b is one edit from each other, which are two apart: all three stand in three columns."""
    assert columns([list("xbc"), list("abc"), list("abz")]) == [("x", "a", "a"), ("b",) * 3, ("c", "c", "z")]


@given(TEXTS)
@settings(deadline=None)
def test_every_reading_is_whole_and_in_order(texts):
    """Each row of the columns, read without its gaps, is the text that it came from."""
    found = columns([list(text) for text in texts])
    for place, text in enumerate(texts):
        assert "".join(column[place] or "" for column in found) == text
    assert all(any(unit is not None for unit in column) for column in found)


@given(st.text(alphabet="ab", min_size=1, max_size=8), st.text(alphabet="ab", min_size=1, max_size=8))
@settings(deadline=None)
def test_two_readings_have_no_more_columns_than_a_minimal_alignment(a, b):
    """As many as its pairs, deletions and insertions together."""
    kinds = [kind for kind, _, _ in align(list(a), list(b)).edits]
    assert len(columns([list(a), list(b)])) == len(a) + kinds.count("insert")
