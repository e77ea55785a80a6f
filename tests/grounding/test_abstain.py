"""The authored abstain, and refusals in a model's own words."""

import pytest

from evalflow.grounding.abstain import AUTHORED, abstains_for, authored, check_template
from evalflow.grounding.refusal import REFUSALS, refusal_in

HISTORY = "The article does not answer this question; the nearest section is § {#history}."


def test_the_section_is_named_in_the_place_of_the_template():
    """And read back from the sentence."""
    assert authored(AUTHORED, "history") == HISTORY
    assert abstains_for(HISTORY, AUTHORED) == "history"
    assert authored("Siehe § {#section}!", "a{1}\\1") == "Siehe § {#a{1}\\1}!"


@pytest.mark.parametrize(
    "text",
    [
        HISTORY + " ",
        HISTORY[:-1],
        HISTORY.lower(),
        HISTORY.replace("; ", ";  "),
        HISTORY.replace("§ ", "§"),
        f"{HISTORY} {HISTORY}",
        "",
    ],
)
def test_an_abstain_is_checked_character_for_character(text: str):
    """A blank, a stop or a capital too many or too few makes it another sentence."""
    assert abstains_for(text, AUTHORED) is None


@pytest.mark.parametrize(
    "template", ["", "No place.", "§ {#history}", "§{#section}", "§ {#section} § {#section}", "§ {#section} § {#other}"]
)
def test_a_template_has_one_place(template: str):
    """None, two, or another citation beside it would leave the named section in doubt."""
    with pytest.raises(ValueError, match=r"abstain is .*; give a sentence that holds § \{#section\} once"):
        check_template(template)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I don’t know § {#a}.", "I don't know"),
        ("This is NOT mentioned in\nthe article.", "not mentioned in the article"),
        (HISTORY, AUTHORED),
        (f"\n{HISTORY} ", AUTHORED),
        ("The charter does not name a date.", None),
        ("The date of the fire cannot be determined § {#a}.", None),
        ("The cause cannot be determined § {#a}.", "cannot be determined"),
    ],
)
def test_a_refusal_is_looked_for_in_the_models_own_words(text: str, found: str | None):
    """The authored sentence is one, whatever its section; a sentence that the article has itself is none."""
    source = "It burned.\nThe date of the fire cannot be\ndetermined. It was rebuilt."
    assert refusal_in(text, REFUSALS, AUTHORED, source) == found


def test_the_vocabulary_is_the_teams_own():
    """With another one, another refusal is found, and the authored sentence of another template."""
    template = "Das steht nicht da; siehe § {#section}."
    assert refusal_in("Das steht nicht da; siehe § {#a}.", (), template, "") == template
    assert refusal_in("Ich weiß es nicht.", ("ich weiss es nicht",), template, "") == "ich weiss es nicht"
    assert refusal_in("I do not know.", ("ich weiss es nicht",), template, "") is None
