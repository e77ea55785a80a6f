"""Phrases: found as whole words."""

import pytest

from evalflow.grounding.phrases import check_phrases, phrases_in


def test_a_phrase_is_found_whatever_case_blanks_and_apostrophe():
    """A line break is a blank; a longer word does not hold a shorter one."""
    text = "Please CLICK\n here: I don’t\u00a0know about kestrels. Caf\u0065\u0301"
    assert phrases_in(text, ["click here", "I don't know", "Kestrel", "kestrels", "café", "lick"]) == (
        "click here",
        "I don't know",
        "kestrels",
        "café",
    )


def test_signs_in_a_phrase_are_meant():
    """A phrase is no pattern."""
    assert phrases_in("see example.com/a (now)", ["example.com/a", "example-com", "(now)"]) == (
        "example.com/a",
        "(now)",
    )


@pytest.mark.parametrize("phrase", ["", " ", "..."])
def test_a_phrase_without_a_word_is_refused(phrase: str):
    """It would be found everywhere or nowhere."""
    with pytest.raises(ValueError, match=r"terms is .*; give phrases that hold a word"):
        check_phrases("terms", ["fine", phrase])
