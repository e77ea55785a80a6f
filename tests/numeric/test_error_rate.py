"""Error rates: by hand, and beside jiwer and a plain dynamic programme."""

from itertools import pairwise

import jiwer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalflow.numeric.error_rate import Edits, count_edits, pooled, text_edits
from evalflow.numeric.text_profile import TextProfile
from evalflow.numeric.undefined import Undefined

LETTERS = st.lists(st.sampled_from("abc"), max_size=12)
SENTENCES = st.lists(st.sampled_from(["the", "cat", "sat", "mat", "on"]), min_size=1, max_size=10).map(" ".join)


def by_table(reference, hypothesis):
    """The distance by the textbook's table."""
    row = list(range(len(hypothesis) + 1))
    for i, unit in enumerate(reference, 1):
        above, row = row, [i]
        for j, other in enumerate(hypothesis, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (unit != other)))
    return row[-1]


def test_kinds_of_edits_by_hand():
    """kitten to sitting: two letters replaced, one added."""
    edits = count_edits("kitten", "sitting")
    assert edits == Edits(substitutions=2, deletions=0, insertions=1, ref_length=6)
    assert (edits.total, edits.rate) == (3, 0.5)
    assert count_edits(["a", "b"], []) == Edits(0, 2, 0, 2)
    assert count_edits([], ["a"]) == Edits(0, 0, 1, 0)


@given(LETTERS, LETTERS)
def test_edits_are_the_fewest(reference, hypothesis):
    """They are the table's distance; insertions less deletions are the difference of lengths."""
    edits = count_edits(reference, hypothesis)
    assert edits.total == by_table(reference, hypothesis)
    assert edits.insertions - edits.deletions == len(hypothesis) - len(reference)
    assert abs(len(reference) - len(hypothesis)) <= edits.total <= max(len(reference), len(hypothesis))


@given(LETTERS, LETTERS, LETTERS)
def test_edits_are_a_distance(a, b, c):
    """Symmetric, 0 between equals alone, and never longer than by way of a third."""
    assert count_edits(a, b).total == count_edits(b, a).total
    assert (count_edits(a, b).total == 0) == (a == b)
    assert count_edits(a, c).total <= count_edits(a, b).total + count_edits(b, c).total


@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=5))
def test_corpora_are_jiwers(pairs):
    """CER and WER of several sentences, pooled, on texts that jiwer would not strip."""
    references, hypotheses = map(list, zip(*pairs, strict=True))
    for unit, peer in (("codepoint", jiwer.cer), ("word", jiwer.wer)):
        corpus = pooled(text_edits(a, b, unit) for a, b in pairs)
        assert corpus.rate == pytest.approx(peer(references, hypotheses), abs=1e-15)
        assert corpus.n_pairs == len(pairs)


def test_where_jiwer_is_not_followed():
    """A trailing blank is a difference; text beside nothing is no count; a no-break space parts words."""
    assert text_edits("abc", "abc ", "codepoint").total == 1
    assert jiwer.cer("abc", "abc ") == 0
    with pytest.raises(Undefined, match="empty reference"):
        text_edits("", "abc", "codepoint").rate  # noqa: B018 - reading it is the test
    assert text_edits("a b", "a\u00a0b", "word").total == 0


def test_two_empty_texts_are_the_same():
    """0 edits of 0 is a rate of 0; no pair at all has none."""
    assert text_edits("", "", "grapheme").rate == 0.0
    with pytest.raises(Undefined, match="no pairs"):
        pooled([]).rate  # noqa: B018 - reading it is the test


def test_a_rate_may_exceed_1():
    """Three words for one."""
    assert text_edits("one", "two three four", "word").rate == 3.0


def test_a_corpus_weighs_by_length():
    """1 of 1 wrong and 0 of 9 is 1 of 10, not the mean of 1 and 0; an empty reference's text counts."""
    pairs = [count_edits("a", "b"), count_edits("a" * 9, "a" * 9)]
    assert pooled(pairs).rate == 0.1
    assert pooled([*pairs, count_edits("", "xy")]).rate == pytest.approx(0.3)
    assert pooled([pooled(pairs), count_edits("", "xy")]) == pooled([*pairs, count_edits("", "xy")])


def test_profile_and_unit_decide():
    """A decomposed accent is nothing in NFC, two code points as written, one grapheme."""
    assert text_edits("\u00e9", "e\u0301", "codepoint").total == 0
    assert text_edits("\u00e9", "e\u0301", "codepoint", TextProfile(None)).total == 2
    assert text_edits("\u00e9", "e\u0301", "grapheme", TextProfile(None)).total == 1
    assert text_edits("Vita", "uita", "codepoint", TextProfile(u_v=True, casefold=True)).total == 0


def test_lone_surrogates_are_characters():
    """Texts that no encoding can write are compared all the same."""
    for unit in ("grapheme", "codepoint", "word"):
        assert text_edits("a \ud800", "a \udc00", unit).total == 1


def test_long_texts_of_many_distinct_units():
    """More distinct units than a byte can tell apart, by the table."""
    reference, hypothesis = [f"w{i}" for i in range(300)], [f"w{i}" for i in range(0, 300, 2)]
    assert count_edits(reference, hypothesis) == Edits(0, 150, 0, 300)
    assert all(count_edits([a], [b]).total == 1 for a, b in pairwise(reference))
