"""Somebody else's text: every character seen, none of it endless."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalflow.report.html.shown_text import HEAD, PREVIEW, TAIL, Clip, clip, short, visible

ANY = st.text(st.characters(codec=None))
"""Lone surrogates too."""


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\0b", "a‹U+0000›b"),
        ("\x1b[31m", "‹U+001B›[31m"),
        ("\x7f", "‹U+007F›"),
        ("a\rb", "a‹U+000D›b"),
        ("abc\u202edcba", "abc‹U+202E›dcba"),
        ("\u200f", "‹U+200F›"),
        ("\ud800", "‹U+D800›"),
        ("\x85", "‹U+0085›"),
        ("a\u200bb", "a‹U+200B›b"),
        ("\ufeff", "‹U+FEFF›"),
        ("\U000e0041", "‹U+E0041›"),
        ("\u2028", "‹U+2028›"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, seen: str):
    """Control characters, what turns or hides text, and what is no character, by their numbers."""
    assert visible(text) == seen


@pytest.mark.parametrize(
    "text", ["a\tb\nc", "é ü ß", "日本語", "עברית", "العربية", "👩‍🚀", "می‌خواهم", "1\u00a0000", "<b>&amp;"]
)
def test_what_can_be_seen_is_as_it_is(text: str):
    """Tabs, lines, scripts of either direction, and the joiners that emoji and Persian are written with."""
    assert visible(text) == text


@given(ANY)
@settings(deadline=None)
def test_no_text_hides_or_drives_anything(text: str):
    """Of whatever text, what is left can be encoded, holds no control character but tab and line feed, and stays so."""
    seen = visible(text)
    seen.encode("utf-8")
    assert not {c for c in seen if unicodedata.category(c) in ("Cc", "Cs")} - {"\t", "\n"}
    assert not {c for c in seen if unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI")}
    assert visible(seen) == seen


def test_a_short_text_stands_there_whole():
    """As it is, with nothing to be opened."""
    assert clip("one\ntwo") == Clip("one\ntwo", n=7)
    assert clip("") == Clip("", n=0)


def test_many_lines_are_long_however_short():
    """They stand on one line, marks where they were broken, and are opened to be seen as they are."""
    text = "\n".join("abcde")
    assert clip(text) == Clip("a⏎b⏎c⏎d⏎e", head=text, n=9)


def test_a_long_text_shows_both_its_ends():
    """A question may stand at the end of its prompt: the preview has a beginning and an end, the rest is opened."""
    text = "begin" + "x" * 2000 + "the question?"
    told = clip(text)
    assert told.preview.startswith("begin") and told.preview.endswith("the question?")
    assert len(told.preview) <= PREVIEW + 3
    assert (told.head, told.tail, told.n, told.n_left_out) == (text, "", 2018, 0)


def test_an_endless_text_is_cut_and_says_by_how_much():
    """A line of a megabyte keeps a beginning and an end, and the count of what lies between."""
    text = "b" * HEAD + "\0" * 1_000_000 + "e" * TAIL
    told = clip(text)
    assert (told.head, told.tail) == ("b" * HEAD, "e" * TAIL)
    assert (told.n, told.n_left_out) == (1_000_000 + HEAD + TAIL, 1_000_000)


def test_a_name_is_cut_in_the_middle():
    """Its beginning and end tell it from others; one that fits is as it is."""
    assert short("abcdefghij", 10) == "abcdefghij"
    assert short("abcdefghijk", 10) == "abcdef…ijk"
    assert short("a\0b", 10) == "a‹U+0000›b"


@given(ANY, st.integers(4, 50))
@settings(deadline=None)
def test_no_name_is_longer_than_asked(text: str, most: int):
    """However its characters are written out."""
    assert len(short(text, most)) <= most
    assert len(short(text * 200, most)) <= most
