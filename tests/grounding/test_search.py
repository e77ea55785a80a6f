"""The nearest section and the best sentence, worked out by hand."""

import math

import pytest

from evalflow.grounding.article import parse_article
from evalflow.grounding.search import best_sentence, nearest_section
from tests.grounding.mill import MILL, VISITORS


@pytest.mark.parametrize(
    ("question", "section"),
    [
        ("How wide are the wheels?", "machinery"),
        ("When may visitors come?", VISITORS),
        ("Who was the engineer?", "history"),
        ("mill", "history"),
        ("Is it the one that it is?", "history"),
    ],
)
def test_the_nearest_section(question: str, section: str):
    """The one that holds most of the question, its title too; the first of equals, and of none at all."""
    assert nearest_section(MILL, question).id == section


def test_the_best_sentence_and_its_share():
    """Weights are log(1 + N / df): of 3 sentences red is in 2, boat in 1, harbour in none, which counts as a half."""
    article = parse_article("x", "## A {#a}\nA red hat. A red\nboat.\n## B {#b}\nBlue.\n", "x.md")
    found = best_sentence(article, "Was the red boat in the harbours?")
    red, boat, harbour = math.log(1 + 3 / 2), math.log(1 + 3 / 1), math.log(1 + 3 / 0.5)
    assert found is not None
    assert (found.sentence, found.section.id) == ("A red boat.", "a")
    assert found.share == pytest.approx((red + boat) / (red + boat + harbour), rel=1e-12)


def test_a_question_of_closed_class_words_is_found_nowhere():
    """Its share is 0, not undefined; an article without any text has no best sentence."""
    article = parse_article("x", "## A {#a}\nText.\n", "x.md")
    assert best_sentence(article, "Is it so?").share == 0.0  # type: ignore[union-attr]
    assert best_sentence(parse_article("x", "## A {#a}\n", "x.md"), "Text?") is None
