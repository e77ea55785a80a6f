"""Numeric match: the number that an answer gives, within a tolerance."""

import pytest

from evalflow.metric.numeric_match import NumericMatch
from tests.metric.by_hand import answer


@pytest.mark.parametrize(
    ("draft", "target", "score"),
    [
        ("The answer is 42.", "42", 1.0),
        ("First 7, then 42", "42", 1.0),
        ("42, then 7", "42", 0.0),
        ("It costs $1,234.50", "1234.5", 1.0),
        ("\u22125 degrees", "-5", 1.0),
        ("５", "5", 1.0),
        ("between 3-5", "-5", 0.0),
        ("forty-two", "42", 0.0),
        (",", "0", 0.0),
        ("", "0", 0.0),
        ("0.30000000000000000001", "0.3", 0.0),
    ],
)
def test_the_last_number_counts(draft, target, score):
    """As it is worth, to the last digit; an answer without one is wrong."""
    assert NumericMatch().stats(answer(draft, target)) == (score,)


@pytest.mark.parametrize(("which", "score"), [("first", 1.0), ("last", 0.0), ("only", 0.0)])
def test_which_number_counts_is_a_setting(which, score):
    """Of two numbers the first, the last, or neither."""
    assert NumericMatch(which=which).stats(answer("42 or 7", "42")) == (score,)
    assert NumericMatch(which=which).stats(answer("42", "42")) == (1.0,)


@pytest.mark.parametrize(
    ("settings", "draft", "target", "score"),
    [
        ({"absolute": 0.1}, "0.4", "0.3", 1.0),  # in floats 0.4 - 0.3 is above 0.1
        ({"absolute": 0.1}, "0.41", "0.3", 0.0),
        ({"relative": 0.01}, "-101", "-100", 1.0),
        ({"relative": 0.01}, "-99", "-100", 1.0),
        ({"relative": 0.01}, "-98.99", "-100", 0.0),
        ({"relative": 0.5}, "1", "0", 0.0),
        ({"absolute": 1, "relative": 0.01}, "102", "100", 1.0),
    ],
)
def test_tolerances_are_exact_decimals(settings, draft, target, score):
    """The edge itself is within; the relative one is of the target."""
    assert NumericMatch(**settings).stats(answer(draft, target)) == (score,)


def test_the_detail_shows_what_was_read():
    """The number as it is written, beside what was expected."""
    assert NumericMatch().detail(answer("or 1,000!", "1000")) == {"expected": "1000", "read": "1,000"}
    assert NumericMatch().detail(answer("none", "1")) == {"expected": "1", "read": None}
    assert NumericMatch().detail(answer(None, "1")) == {"expected": "1", "read": None}


def test_what_cannot_be_graded_is_excluded():
    """Rows without an answer, items without a target, and targets that are no number."""
    assert NumericMatch().stats(answer(None, "1")) is None
    assert NumericMatch().stats(answer("1", None)) is None
    assert NumericMatch().stats(answer("1", "0,1")) is None
    assert NumericMatch().detail(answer("1", "one"))["reason"] == "the target is no number"


@pytest.mark.parametrize("name", ["absolute", "relative"])
def test_a_tolerance_is_not_negative(name):
    """The message names the key."""
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match=rf"^{name} is .*; give a tolerance of 0 or more"):
            NumericMatch(**{name: wrong})
