"""Grounded reading: what an item holds, and what is refused before the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalflow.dataset.grounded import GroundedReading
from evalflow.dataset.protocol import collect
from evalflow.errors import DataError
from evalflow.grounding.prompt import parse_prompt

BOATS = "# Boats\n\n## Red boats {#red}\nThe red boat has 7 oars.\n"
HATS = "# Hats\n\n## Old hats {#old}\nThe hat is from 1911.\n"
OARS = {
    "id": "oars",
    "article": "boats",
    "question": "How many oars?",
    "kind": "on-page",
    "answer": "7",
    "section": "red",
}
SAIL = {"id": "sail", "article": "boats", "question": "Has it a sail?", "kind": "off-page"}
YEAR = {"id": "year", "article": "hats", "question": "From which year?", "kind": "on-page"}

Write = Callable[..., GroundedReading]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """`written(bank, articles, **settings)`: a dataset over files of this content."""

    def write(bank: Any, articles: dict[str, str | bytes] | None = None, **settings: Any) -> GroundedReading:
        folder = tmp_path / "articles"
        folder.mkdir()
        for name, text in ({"boats": BOATS, "hats": HATS} if articles is None else articles).items():
            (folder / f"{name}.md").write_bytes(text if isinstance(text, bytes) else text.encode())
        path = tmp_path / "bank.json"
        path.write_text(bank if isinstance(bank, str) else json.dumps(bank), encoding="utf-8")
        return GroundedReading(str(folder), str(path), **settings)

    return write


def refusal(dataset: GroundedReading) -> str:
    with pytest.raises(DataError) as refused:
        collect(dataset)
    said = str(refused.value)
    assert "\n" not in said and "; " in said
    return said


def test_a_question_becomes_an_item(written: Write):
    """In the bank's order; the article is its cluster and its prefix group, and travels whole with it."""
    bank = {"name": "b", "on_page_answered": {"floor": 2}, "questions": [OARS, YEAR, SAIL]}
    oars, year, sail = collect(written(bank))
    assert [item.id for item in (oars, year, sail)] == ["oars", "year", "sail"]
    assert [item.kind for item in (oars, year, sail)] == ["on-page", "on-page", "off-page"]
    assert [item.target for item in (oars, year, sail)] == ["7", None, None]
    assert {(item.cluster, item.prefix_group) for item in (oars, sail)} == {("boats", "boats")}
    assert oars.fields == {
        "article": {
            "id": "boats",
            "title": "Boats",
            "text": BOATS,
            "sections": ({"id": "red", "title": "Red boats", "text": "The red boat has 7 oars."},),
        },
        "question": "How many oars?",
        "expected_section": "red",
    }


def test_the_prompt_holds_the_whole_article_and_the_question_last(written: Write):
    """Questions on one article share everything before the question; the abstain stands in the instructions."""
    dataset = written({"questions": [OARS, SAIL]}, instructions="Else: {abstain}", abstain="Not there, § {#section}.")
    oars, sail = collect(dataset)
    assert parse_prompt(oars.prompt) == (BOATS, "How many oars?")
    assert oars.prompt.startswith("Else: Not there, § {#section}.\n")
    assert oars.prompt.removesuffix("How many oars?") == sail.prompt.removesuffix("Has it a sail?")


@pytest.mark.parametrize(
    ("bank", "said"),
    [
        ("not json", "bank.json: not JSON ("),
        ("[]", "bank.json: it has no list of questions"),
        ('{"questions": {}}', "bank.json: it has no list of questions"),
        ({"questions": []}, "bank.json: it has no questions; give at least one"),
        ({"questions": [OARS, "x"]}, "bank.json: question 2 is a str; write an object"),
        ({"questions": [OARS, YEAR, OARS]}, "bank.json: question id 'oars' occurs twice; make ids unique"),
        (
            {"questions": [{**OARS, "kind": "both"}]},
            "question 1 (oars) is of kind 'both'; choose from on-page",
        ),
        ({"questions": [{**OARS, "kind": None}]}, "question 1 (oars) has no text as its kind"),
        ({"questions": [{"article": "boats"}]}, "question 1 has no text as its id"),
        ({"questions": [{**OARS, "question": "  "}]}, "question 1 (oars) has no text as its question"),
        ({"questions": [{**OARS, "answer": 7}]}, "question 1 (oars) has 7 as its answer; give a text"),
        ({"questions": [{**OARS, "sectoin": "red"}]}, "question 1 (oars) has the key 'sectoin'; use only answer, "),
        ({"questions": [{**SAIL, "answer": "no"}]}, "question 1 (sail) is off-page and has an answer"),
        ({"questions": [OARS, {**YEAR, "article": "caps"}]}, "bank.json: it asks about caps.md, not to be found in "),
        (
            {"questions": [{**YEAR, "article": "../articles/hats"}]},
            "it asks about ../articles/hats.md, not to be found in ",
        ),
        ({"questions": [{**OARS, "section": "blue"}]}, "names section 'blue', which boats.md lacks; choose from red"),
    ],
)
def test_a_bank_that_cannot_be_asked_is_refused(written: Write, bank: Any, said: str):
    """One line that names the file, what is wrong, and what to do."""
    message = refusal(written(bank))
    assert said in message
    assert "bank.json" in message.partition(": ")[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Boats\nNo ids.\n", "boats.md: no section has an id"),
        ("## A {#a}\n## B {#a}\n", "boats.md: section id 'a' occurs twice"),
        ("## A {#a}\n</article>\n", "boats.md: it has a line <article> or </article>"),
        (b"## A {#a}\ncaf\xe9\n", "boats.md: not UTF-8"),
    ],
)
def test_an_article_that_cannot_be_read_is_refused(written: Write, text: str | bytes, said: str):
    """The article's own file is named."""
    assert said in refusal(written({"questions": [OARS]}, {"boats": text}))


def test_a_missing_bank_is_named(tmp_path: Path):
    """Building a dataset reads nothing; asking for its items does."""
    dataset = GroundedReading(str(tmp_path), str(tmp_path / "absent.json"))
    assert refusal(dataset).startswith(f"{tmp_path / 'absent.json'}: cannot be read (No such file")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"abstain": "No."}, "abstain is 'No.'; give a sentence"),
        ({"instructions": "Read.\n<article>\nIt"}, "instructions is a text with a line <article>"),
        ({"bank": "package:../x.json"}, "bank is 'package:../x.json'; name a file that evalflow ships"),
        ({"articles": "package:/etc"}, "articles is 'package:/etc'; name a file that evalflow ships"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, str], said: str):
    """On building, with the key first."""
    with pytest.raises(ValueError, match=said):
        GroundedReading(**{"articles": "a", "bank": "b", **settings})


def test_the_shipped_corpus_is_what_it_promises():
    """12 articles or more of 3 to 6 sections, 40 on-page and 20 off-page questions; an answer stands in its section."""
    items = collect(GroundedReading("package:articles", "package:grounded.json"))
    kinds = [item.kind for item in items]
    assert kinds.count("on-page") >= 40 and kinds.count("off-page") >= 20
    articles = {item.cluster: item.fields["article"] for item in items}
    assert len(articles) >= 12
    assert all(3 <= len(article["sections"]) <= 6 for article in articles.values())
    for item in items:
        if item.kind == "on-page" and item.fields["expected_section"] is not None:
            named = {section["id"]: section["text"] for section in item.fields["article"]["sections"]}
            assert item.target is not None
            assert item.target.casefold() in named[item.fields["expected_section"]].casefold(), item.id
