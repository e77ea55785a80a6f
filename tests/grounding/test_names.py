"""Names: which words are name-like, and which are unknown."""

import pytest

from evalflow.grounding.names import names_not_in, names_of
from evalflow.grounding.words import content_words, words_of


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("the mill of Thomas Hale", ("Thomas", "Hale")),
        ("an iPhone and eBay's API", ("iPhone", "eBay", "API")),
        ("sha256, max_tokens and 1960s", ("sha256", "max_tokens")),
        ("Anglo-Saxon", ("Anglo", "Saxon")),
        ("O’Brien’s boat", ("O’Brien",)),
        ("§ {#Telford} plain", ()),
        ("Dvor\u030ca\u0301k", ("Dvořák",)),
    ],
)
def test_what_a_name_looks_like(text: str, names: tuple[str, ...]):
    """A capital anywhere, or an identifier; a possessive is cut off, and an id in a citation is none."""
    assert names_of(text) == names


def test_a_name_is_known_from_any_source_in_any_case():
    """Each unknown one is told once; words of the closed class need no source."""
    text = "The Salt trade of Hale. Telford met TELFORD; However, Brunel did not. In May it closed."
    assert names_not_in(text, ["salt and Hale's mill", "did Brunel go?"]) == ("Telford", "TELFORD", "May")


def test_content_words_are_what_a_text_is_about():
    """Closed-class words are left out, case and a plural's s do not matter."""
    assert content_words("The Wheels of the glass mill, and is it his?") == {"wheel", "glass", "mill"}
    assert words_of("Hale's mill's 3 wheels") == ("Hale", "mill", "3", "wheels")
