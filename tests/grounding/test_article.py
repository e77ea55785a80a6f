"""Articles: sections by their ids, and what is refused."""

import pytest

from evalflow.errors import DataError
from evalflow.grounding.article import Article, parse_article
from tests.grounding.mill import MILL, VISITORS, mill_item


def test_headings_with_ids_are_the_sections():
    """Each section has its id, its title and the text up to the next; the first heading of level 1 is the title."""
    assert MILL.title == "The Tide Mill at Dunmere"
    assert [(section.id, section.title) for section in MILL.sections] == [
        ("history", "History"),
        ("machinery", "Machinery"),
        (VISITORS, "Visitors"),
    ]
    assert MILL.sections[2].text.startswith("The mill is open from Tuesday")
    assert MILL.section("history") is MILL.sections[0]
    assert MILL.section("nowhere") is None


def test_a_heading_without_an_id_belongs_to_the_section_around_it():
    """So does one inside a code fence, id or not; an article without a title is called by its id."""
    text = "## A {#a}\none\n### Inner\ntwo\n```\n## B {#b}\n```\nthree\n"
    article = parse_article("x", text, "x.md")
    assert [section.id for section in article.sections] == ["a"]
    assert article.sections[0].text == "one\n### Inner\ntwo\n```\n## B {#b}\n```\nthree"
    assert article.title == "x"


def test_a_title_with_an_id_is_a_section_too():
    """Its text is what stands before the next heading."""
    article = parse_article("x", "# Top {#top}\nhello\n## Next {#next}\n", "x.md")
    assert article.title == "Top"
    assert [(section.id, section.text) for section in article.sections] == [("top", "hello"), ("next", "")]


def test_the_prose_is_without_the_ids_of_headings():
    """An id is an address: its words and digits ground nothing."""
    assert "## Visitors\n" in MILL.prose
    assert "2826" not in MILL.prose
    assert MILL.text.replace(f" {{#{VISITORS}}}", "").count("{#") == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Title\n\nText.\n", "x.md: no section has an id; write its headings as ## Title {#section-id}"),
        ("", "x.md: no section has an id; write its headings as ## Title {#section-id}"),
        ("## A {#a}\n## B {#b}\n## C {#a}\n", "x.md: section id 'a' occurs twice; make ids unique"),
        ("## A {#a}\n## B {#b c}\n", "x.md:2: the heading's id cannot be read; write ## Title {#section-id}"),
        ("## A {#}\n", "x.md:1: the heading's id cannot be read; write ## Title {#section-id}"),
    ],
)
def test_an_article_that_cannot_be_cited_is_refused(text: str, said: str):
    """Without ids, with one twice, or with one that cannot be read: one line that says what to do."""
    with pytest.raises(DataError) as refused:
        parse_article("x", text, "x.md")
    assert str(refused.value) == said


def test_an_article_survives_the_item_that_carries_it():
    """What the dataset stores as JSON is read back as the same article."""
    assert Article.from_fields(mill_item("?").fields["article"]) == MILL


@pytest.mark.parametrize("blank", [" ", "\t", " \t"])
def test_a_heading_of_many_blanks_is_read_at_once(blank):
    """A long run of blanks before its id, or nothing but blanks, takes no time beyond its length."""
    text = f"## {blank * 100_000}One {blank * 100_000}{{#one}}{blank * 100_000}\ntext\n## {blank * 100_000}\nmore"
    article = parse_article("a", text, "a.md")
    assert [(section.id, section.title) for section in article.sections] == [("one", "One")]
    assert "{#one}" not in article.prose and article.prose.startswith("## One")


def test_prose_keeps_what_is_no_heading():
    """Seven marks, a mark without a blank, braces elsewhere: as they are written."""
    text = "## One {#one}\n####### seven {#x}\n#none {#y}\na {#z}\n\n## No id\n### Two  {#two}"
    wanted = "## One\n####### seven {#x}\n#none {#y}\na {#z}\n\n## No id\n### Two"
    assert parse_article("a", text, "a.md").prose == wanted
