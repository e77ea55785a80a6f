"""Templates: a name in braces is a place, and nothing else is."""

import pytest

from evalflow.dataset.template import fill, places


def test_places_are_found_in_order():
    """Names are found in order of appearance, as often as they appear; other braces are text."""
    assert places("{b} {a}{b} {} { c } {1} {a.b} {a!r} {_d2}") == ("b", "a", "b", "_d2")


def test_a_place_is_replaced_by_its_field():
    """Every name is replaced, and a number becomes its text."""
    assert fill("{a}-{n}-{a}", {"a": "x", "n": 3}) == "x-3-x"


def test_braces_inside_a_value_stay():
    """A value that looks like a place is not filled again."""
    assert fill("{a}{b}", {"a": "{b}", "b": "{a} \\1 \\g<0> %s"}) == "{b}{a} \\1 \\g<0> %s"


def test_what_is_no_place_stays():
    """Code, JSON and format specifiers pass through a template as they are."""
    text = '{"key": 1} {} {x:>3} {{ }} ${1}'
    assert fill(text, {"key": "no", "x": "no"}) == text


def test_a_missing_field_is_an_error():
    """A name without a field is a KeyError of that name, never an empty text."""
    with pytest.raises(KeyError, match="absent"):
        fill("{absent}", {})
