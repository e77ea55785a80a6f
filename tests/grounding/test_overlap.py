"""Citation overlap, counted by hand."""

import pytest

from evalflow.grounding.article import parse_article
from evalflow.grounding.overlap import citation_overlaps

ARTICLE = parse_article("x", "## Red boats {#a}\nThe boat is old.\n## Hats {#b}\nA hat is new.\n", "x.md")


@pytest.mark.parametrize(
    ("text", "overlaps"),
    [
        ("The boat is new § {#a}.", (3 / 4,)),
        ("The boat is new § {#a} § {#b}.", (1.0,)),
        ("The boat is new § {#b} § {#zz}.", (2 / 4,)),
        ("Boats, boats! § {#a} Nothing of it. Ships § {#a}.", (1.0, 0.0)),
        ("The boat is old § {#zz}. Uncited.", ()),
        ("§ {#a}", ()),
        ("", ()),
    ],
)
def test_a_sentence_is_held_against_what_it_cites(text: str, overlaps: tuple[float, ...]):
    """Distinct words in any case, against title and text of all that it validly cites; of nothing, it says nothing."""
    assert citation_overlaps(text, ARTICLE) == overlaps
