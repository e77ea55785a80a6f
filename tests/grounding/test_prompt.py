"""The layout of a grounded prompt."""

import pytest

from evalflow.grounding.prompt import INSTRUCTIONS, build_prompt, fits, parse_prompt


@pytest.mark.parametrize("article", ["## A {#a}\nText.", "\n\n## A {#a}\n\nText </article> it says.\n\n", ""])
@pytest.mark.parametrize("question", ["When?", "Question: is\n</article>\n\nQuestion: it?", ""])
def test_a_prompt_is_read_as_it_was_built(article: str, question: str):
    """Whatever stands before it, such as a marker against a cache."""
    for before in ("", "marker 17\n"):
        assert parse_prompt(before + build_prompt(INSTRUCTIONS, article, question)) == (article, question)


def test_questions_on_one_article_share_all_but_themselves():
    """The question is last."""
    one, other = (build_prompt("Do.", "Text.", question) for question in ("Why?", "How?"))
    assert one.removesuffix("Why?") == other.removesuffix("How?")


@pytest.mark.parametrize("prompt", ["", "When?", "x\n\n<article>\ntext", "<article>\na\n</article>\n\nQuestion: q"])
def test_another_prompt_is_refused(prompt: str):
    """It has no article, or none that ends."""
    with pytest.raises(ValueError, match="no article followed by a question"):
        parse_prompt(prompt)


def test_a_part_that_would_break_the_layout_does_not_fit():
    """A line of its own that opens or closes an article; inside a line it is text."""
    assert fits(INSTRUCTIONS) and fits("see <article> here")
    assert not fits("a\n <article> \nb") and not fits("a\n</article>")
