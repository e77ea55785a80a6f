"""Citations in a text."""

from evalflow.grounding.citations import citations_of, cite, without_citations


def test_citations_are_read_in_order():
    """With or without a blank after the sign, as often as they stand there; a bare id in braces is none."""
    text = f"One {cite('a')}, two §{{#b-2}}, three § {{#a}}. {{#c}} § a"
    assert citations_of(text) == ("a", "b-2", "a")


def test_an_id_is_taken_as_written():
    """A malformed one is a citation of a section that is not there, not the lack of one."""
    assert citations_of("x § {#a b} y § {#}") == ("a b", "")


def test_what_is_left_is_the_prose():
    """A citation leaves a blank, so that the words around it stay apart."""
    assert without_citations("built§ {#a}here") == "built here"
