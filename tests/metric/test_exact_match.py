"""Exact match: to the letter, and nothing matches nothing."""

import pytest

from evalflow.metric.exact_match import ExactMatch
from evalflow.metric.protocol import figure_names
from tests.metric.by_hand import answer


@pytest.mark.parametrize(
    ("draft", "target", "score"),
    [
        ("TREE", "TREE", 1.0),
        (" TREE\n", "TREE\t", 1.0),
        ("tree", "TREE", 0.0),
        ("TREE!", "TREE", 0.0),
        ("a  b", "a b", 0.0),
        ("", "TREE", 0.0),
        ("", "", 0.0),
        (" \n", "  ", 0.0),
        ("\ud835", "\ud835", 1.0),
    ],
)
def test_an_answer_matches_to_the_letter(draft, target, score):
    """Outer whitespace aside, every letter counts, and an empty answer matches nothing."""
    assert ExactMatch().stats(answer(draft, target)) == (score,)


def test_a_row_without_an_answer_is_excluded():
    """An error row is no wrong answer, and an item without a target cannot be scored."""
    assert ExactMatch().stats(answer(None)) is None
    assert ExactMatch().stats(answer("x", None)) is None


def test_what_was_expected_is_told():
    """The detail names the target, and the figure is a share named by its key."""
    assert ExactMatch().detail(answer("x", "TREE")) == {"expected": "TREE"}
    assert figure_names("exact", ExactMatch()) == ("quality/exact",)
    assert (ExactMatch.measured_in, ExactMatch.needs_target, ExactMatch.higher_is_better) == ("share", True, True)
