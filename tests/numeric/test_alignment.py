"""Alignments: who faces whom, what is confused, and disagreements in context."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from evalflow.numeric.alignment import Disagreement, align, disagreements
from evalflow.numeric.undefined import Undefined

LETTERS = st.lists(st.sampled_from("abcd"), max_size=15)


def test_pairs_by_hand():
    """abcd beside axcde: a, c, d face themselves, b faces x, e faces nothing."""
    alignment = align("abcd", "axcde")
    assert alignment.pairs_p2().tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert alignment.paired() == (list("abcd"), list("axcd"))
    assert alignment.confusions() == Counter({("b", "x"): 1, ("", "e"): 1})
    assert (alignment.n_paired, alignment.n_longer, alignment.coverage) == (4, 5, 0.8)


def test_a_lost_unit_shifts_nothing():
    """The units after a deletion face their own."""
    alignment = align(list("example"), list("exmple"))
    assert alignment.pairs_p2().tolist() == [[0, 0], [1, 1], [3, 2], [4, 3], [5, 4], [6, 5]]
    assert alignment.confusions() == Counter({("a", ""): 1})


@given(LETTERS, LETTERS)
def test_an_alignment_is_whole_and_minimal(a, b):
    """Every unit is paired or lost; pairs run forward in both; substitutions and losses are the distance."""
    alignment = align(a, b)
    pairs = alignment.pairs_p2()
    assert pairs.dtype == np.int64 and pairs.shape == (alignment.n_paired, 2)
    assert (np.diff(pairs, axis=0) > 0).all()
    substituted = sum(one != other for one, other in zip(*alignment.paired(), strict=True))
    lost = len(a) + len(b) - 2 * len(pairs)
    assert substituted + lost == Levenshtein.distance(a, b) == alignment.confusions().total()


@given(LETTERS, LETTERS)
def test_disagreements_rebuild_the_other_reading(a, b):
    """a with each reading of a replaced by b's is b, whatever was merged."""
    for apart in (0, 2):
        built, at = "", 0
        found = list(disagreements(align(a, b), "codepoint", context=3, apart=apart))
        assert all(after.start_a - before.end_a > apart for before, after in pairwise(found))
        for one in found:
            assert "".join(a[one.start_a : one.end_a]) == one.reading_a
            assert "".join(b[one.start_b : one.end_b]) == one.reading_b
            assert one.reading_a != one.reading_b
            assert one.left == "".join(a[max(0, one.start_a - 3) : one.start_a])
            assert one.right == "".join(a[one.end_a : one.end_a + 3])
            built, at = built + "".join(a[at : one.start_a]) + one.reading_b, one.end_a
        assert built + "".join(a[at:]) == "".join(b)


def test_neighbouring_edits_are_one_disagreement():
    """The words differ in two places: fields of each, with what stands around them."""
    a, b = ["in", "the", "begynnyng", "was"], ["in", "ye", "beginning", "was", "the"]
    found = list(disagreements(align(a, b), "word", context=1))
    assert found == [
        Disagreement(1, 3, 1, 3, left="in", reading_a="the begynnyng", reading_b="ye beginning", right="was"),
        Disagreement(4, 4, 4, 5, left="was", reading_a="", reading_b="the", right=""),
    ]


def test_edits_close_together_are_merged_where_wanted():
    """begynnyng beside beginning differs at two letters, three apart."""
    alignment = align("begynnyng", "beginning")
    assert [one.reading_a for one in disagreements(alignment, "grapheme")] == ["y", "y"]
    (one,) = disagreements(alignment, "grapheme", apart=2)
    assert (one.reading_a, one.reading_b, one.left, one.right) == ("ynny", "inni", "beg", "ng")


def test_the_same_reading_has_no_disagreement():
    """Nothing to adjudicate; coverage is whole."""
    alignment = align("abc", "abc")
    assert list(disagreements(alignment, "codepoint")) == [] and alignment.coverage == 1.0
    assert alignment.confusions() == Counter()


def test_nothing_in_common_has_no_pairs():
    """Beside an empty reading nothing is paired; two empty ones have no coverage."""
    assert align("abc", "").coverage == 0.0
    assert align("", "abc").pairs_p2().shape == (0, 2)
    with pytest.raises(Undefined, match="no units"):
        align("", "").coverage  # noqa: B018 - reading it is the test


def test_contexts_are_numbers_of_units():
    """Negative ones are refused."""
    with pytest.raises(ValueError, match="context is -1 and apart 0"):
        list(disagreements(align("a", "b"), "codepoint", context=-1))
