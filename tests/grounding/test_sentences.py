"""Sentences: where one ends."""

import time

import pytest

from evalflow.grounding.sentences import sentences_of


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", ()),
        (" \n ", ()),
        ("No stop", ("No stop",)),
        ("One. Two! Three? Four", ("One.", "Two!", "Three?", "Four")),
        ("It is 5.5 m. 7 wheels turn.", ("It is 5.5 m.", "7 wheels turn.")),
        (
            "Built by Mr. Hale of St. Ives, J. Hale's son. It burned.",
            ("Built by Mr. Hale of St. Ives, J. Hale's son.", "It burned."),
        ),
        (
            "It is, e.g. Tuesday. The answer is no. It is No. 5.",
            ("It is, e.g. Tuesday.", "The answer is no.", "It is No. 5."),
        ),
        ("He said “Stop.” Then it ended.", ("He said “Stop.”", "Then it ended.")),
        ("Wait... so it went on. Done.", ("Wait... so it went on.", "Done.")),
        ("It was I. He left.", ("It was I.", "He left.")),
        ("1. First point.\n2. Second point.", ("1. First point.", "2. Second point.")),
        ("- a\n- b", ("- a", "- b")),
        ("Title\n\nText over\ntwo lines. End.", ("Title", "Text over\ntwo lines.", "End.")),
    ],
)
def test_where_a_sentence_ends(text: str, sentences: tuple[str, ...]):
    """At a stop before what begins one, at a blank line, before a list item; never inside a number or abbreviation."""
    assert sentences_of(text) == sentences
    assert all(sentence in text for sentence in sentences_of(text))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("A b § {#x}. C d § {#y}.", ("A b § {#x}.", "C d § {#y}.")),
        ("A b. § {#x} C d. § {#y}", ("A b. § {#x}", "C d. § {#y}")),
        ("A b. (§ {#x}) § {#z}. C d.", ("A b. (§ {#x}) § {#z}.", "C d.")),
        ("A b.\n§ {#x}\nC d.", ("A b.\n§ {#x}", "C d.")),
        ("A b § {#v1.2}. C d § {#v1. X}", ("A b § {#v1.2}.", "C d § {#v1. X}")),
    ],
)
def test_a_citation_belongs_to_the_sentence_before_it(text: str, sentences: tuple[str, ...]):
    """Before or after the full stop, and what an id holds ends nothing."""
    assert sentences_of(text) == sentences


@pytest.mark.parametrize("run", ["." * 20, "A. " * 20, "?!" * 20, "no. " * 20, '."' * 20])
def test_a_long_run_takes_time_in_proportion(run):
    """Twenty times as long takes about twenty times as long: a quadratic reader would take four hundred."""

    def seconds(text):
        begun = time.process_time()
        sentences_of(text)
        return time.process_time() - begun

    short, long = (run * 100 + "x", run * 2000 + "x")
    least = min(seconds(short) for _ in range(3))
    assert seconds(long) < 100 * max(least, 1e-3)
