"""Gates on an answer, where they are asked by themselves."""

from evalflow.grounding.article import parse_article
from evalflow.serving.gates import Citations, Ground

GROUND = Ground(parse_article("a", "## One {#one}\ntext\n## Two {#two}\ntext", "a.md"), "What?")


def test_citations_alone_are_no_answer():
    """A citation, a list mark and a citation, two of them: no word of its own stands beside them."""
    for text in ("§ {#one}", "- § {#one}", "§ {#one} § {#two}."):
        findings = Citations().findings(text, GROUND)
        assert findings is not None and findings["says_nothing"] is True
    assert Citations().findings("Yes § {#one}", GROUND) is None
