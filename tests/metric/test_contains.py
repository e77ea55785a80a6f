"""Contains: the target somewhere in the answer."""

import pytest

from evalflow.metric.contains import Contains
from tests.metric.by_hand import answer


@pytest.mark.parametrize(
    ("draft", "target", "score"),
    [
        ("it is Paris, of course", "Paris", 1.0),
        ("it is paris", " PARIS ", 1.0),
        ("STRASSE", "straße", 1.0),
        ("Pari s", "Paris", 0.0),
        ("", "Paris", 0.0),
        ("anything", "", 0.0),
        ("anything", " \n", 0.0),
        ("", "", 0.0),
    ],
)
def test_the_target_is_looked_for_in_any_case(draft, target, score):
    """Case and the target's outer whitespace do not count; an empty answer or target never matches."""
    assert Contains().stats(answer(draft, target)) == (score,)


def test_case_counts_where_it_should():
    """With `ignore_case` off the letters' case must match."""
    strict = Contains(ignore_case=False)
    assert strict.stats(answer("paris", "Paris")) == (0.0,)
    assert strict.stats(answer("in Paris", "Paris")) == (1.0,)


def test_a_row_without_an_answer_is_excluded():
    """An error row and an item without a target are excluded, not wrong; the detail names the target."""
    assert Contains().stats(answer(None)) is None
    assert Contains().stats(answer("x", None)) is None
    assert Contains().detail(answer("x", "T")) == {"expected": "T"}
