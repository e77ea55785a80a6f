"""Cutting texts into units."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalflow.numeric.units import cut, joined


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("e\u0301a", ["e\u0301", "a"]),
        ("\r\n\n", ["\r\n", "\n"]),
        ("👩‍👩‍👧👍🏽🇨🇭🇬🇧", ["👩‍👩‍👧", "👍🏽", "🇨🇭", "🇬🇧"]),
        ("각각", ["각", "각"]),
        ("a\ud800b", ["a", "\ud800", "b"]),
        ("", []),
    ],
)
def test_a_grapheme_is_what_a_reader_calls_a_character(text, units):
    """Accents, joined emoji, flags, Korean syllables and a carriage return with its line feed are one each."""
    assert cut(text, "grapheme") == units


def test_code_points_are_pythons_characters():
    """Every one by itself, combining marks and lone surrogates too."""
    assert cut("e\u0301\ud800", "codepoint") == ["e", "\u0301", "\ud800"]


def test_any_white_space_parts_words():
    """No-break, ideographic and thin spaces and line ends do; a zero-width space is none."""
    assert cut("\u00a0a\u00a0b\u3000c\u2009d\u2028e\x85f\u200bg ", "word") == ["a", "b", "c", "d", "e", "f\u200bg"]
    assert cut(" \u00a0\n", "word") == []


@given(st.text(st.characters(codec=None)))
def test_characters_put_together_are_the_text(text):
    """No unit is empty and none is lost."""
    for unit in ("grapheme", "codepoint"):
        units = cut(text, unit)
        assert joined(units, unit) == text and all(units)


def test_words_are_put_together_with_a_blank():
    """A list of words reads as a text again."""
    assert joined(["a", "b"], "word") == "a b"


def test_another_unit_is_refused():
    """The message lists the three."""
    with pytest.raises(ValueError, match="unit is 'line'; choose grapheme, codepoint, word"):
        cut("a", "line")
