"""What the shipped corpora promise: sizes, sources in the articles, keys without a favourite letter."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import evalflow
from evalflow.dataset.grounded import GroundedReading
from evalflow.dataset.protocol import collect
from evalflow.dataset.question_bank import QuestionBank
from evalflow.record import Item

DATA = Path(evalflow.__file__).parent / "dataset" / "data"
GROUNDED = ("grounded", "grounded_second")
HEADING = re.compile(r"^## .+ \{#([a-z0-9-]+)\}$", re.MULTILINE)


def bank(name: str) -> dict[str, Any]:
    return dict(json.loads((DATA / f"{name}.json").read_text(encoding="utf-8")))


def questions(name: str, kind: str | None = None) -> list[dict[str, Any]]:
    return [one for one in bank(name)["questions"] if kind in (None, one.get("kind"))]


def article(name: str) -> dict[str, str]:
    """A file's sections: id -> text, cut at its headings."""
    _, *parts = HEADING.split((DATA / "articles" / f"{name}.md").read_text(encoding="utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def grounded(name: str) -> tuple[Item, ...]:
    return collect(GroundedReading("package:articles", f"package:{name}.json"))


ARTICLES = sorted(path.stem for path in (DATA / "articles").glob("*.md"))


def test_there_are_articles_enough() -> None:
    """Twelve or more, each of three to six sections whose ids are its own, each with text."""
    assert len(ARTICLES) >= 12
    for name in ARTICLES:
        text = (DATA / "articles" / f"{name}.md").read_text(encoding="utf-8")
        ids = HEADING.findall(text)
        assert 3 <= len(ids) <= 6, name
        assert len(ids) == len(set(ids)) == len(re.findall("^## ", text, re.MULTILINE)), name
        assert all(len(section.split()) >= 20 for section in article(name).values()), name


def test_the_bank_has_questions_enough_of_both_kinds() -> None:
    """Forty on-page and twenty off-page, or more; every article is asked about in both ways."""
    kinds = Counter(one["kind"] for one in questions("grounded"))
    assert kinds["on-page"] >= 40 and kinds["off-page"] >= 20
    for kind in kinds:
        assert {one["article"] for one in questions("grounded", kind)} == set(ARTICLES), kind


@pytest.mark.parametrize("name", GROUNDED)
def test_an_answer_stands_in_its_section(name: str) -> None:
    """To the letter but for case, and every on-page question says where; the loader reads the same sections."""
    for one in questions(name, "on-page"):
        sections = article(one["article"])
        assert one["section"] in sections, one["id"]
        assert one["answer"].casefold() in sections[one["section"]].casefold(), one["id"]
    for item in grounded(name):
        named = [section["id"] for section in item.fields["article"]["sections"]]
        assert named == list(article(item.cluster)), item.id


@pytest.mark.parametrize("name", GROUNDED)
def test_an_off_page_question_has_no_answer(name: str) -> None:
    """Nothing is there to be right; where it names the nearest section, that one is there."""
    off = questions(name, "off-page")
    assert off
    for one in off:
        assert "answer" not in one, one["id"]
        assert one.get("section") is None or one["section"] in article(one["article"]), one["id"]


def test_the_two_banks_ask_other_questions_of_the_same_articles() -> None:
    """The second is there to check what was chosen on the first: no id and no question is in both."""
    first, second = (questions(name) for name in GROUNDED)
    for key in ("id", "question"):
        assert not {one[key].casefold() for one in first} & {one[key].casefold() for one in second}, key
    assert {one["article"] for one in second} <= set(ARTICLES)
    assert {one["kind"] for one in second} == {"on-page", "off-page"}


@pytest.mark.parametrize("name", [*GROUNDED, "short_facts", "hard_choices"])
def test_ids_and_questions_occur_once(name: str) -> None:
    """In a bank, and on the context or article that a question is asked about."""
    asked = questions(name)
    assert len({one["id"] for one in asked}) == len(asked)
    places = [(one.get("article"), one.get("context"), one["question"].casefold()) for one in asked]
    assert len(set(places)) == len(asked)


def test_proposed_floors_can_be_reached() -> None:
    """A floor that counts rows is above nothing and at most the rows that there are."""
    parts = {
        "on_page_answered": len(questions("grounded", "on-page")),
        "off_page_abstained": len(questions("grounded", "off-page")),
    }
    facts, contexts = (
        sum((one.get("context") is None) == alone for one in questions("short_facts")) for alone in (1, 0)
    )
    for name, of in parts.items():
        assert 0 < bank("grounded")[name]["floor"] <= of
    assert 0 < bank("short_facts")["facts_answered"]["floor"] <= facts
    assert 0 < bank("short_facts")["contexts_answered"]["floor"] <= contexts


def test_a_context_holds_the_answers_to_its_questions() -> None:
    """Six or so questions on each, whose answers stand in it as they are looked for; no two contexts begin alike."""
    held = bank("short_facts")["contexts"]
    asked = [one for one in questions("short_facts") if one.get("context") is not None]
    assert Counter(one["context"] for one in asked) == dict.fromkeys(held, 6)
    for one in asked:
        assert one["answer"].casefold() in held[one["context"]].casefold(), one["id"]
    assert len({text[:40] for text in held.values()}) == len(held)


def test_a_question_does_not_give_its_answer_away() -> None:
    """What `contains` looks for is not among the question's own words, for an echo would be right."""
    for one in questions("short_facts"):
        assert one["answer"].casefold() not in one["question"].casefold(), one["id"]


def test_hard_choices_have_no_favourite_letter() -> None:
    """Each letter is the key of as many; of the twenty that are asked, one place is right in less than half."""
    keys = [one["answer"] for one in questions("hard_choices")]
    assert Counter(keys) == dict.fromkeys("ABCD", len(keys) // 4)
    assert max(Counter(keys[:20]).values()) < 10


def test_hard_choices_are_four_and_differ() -> None:
    """Whoever chose a wrong one that holds the right one's words would be right: at most a tenth of them allow it."""
    holding = []
    for one in questions("hard_choices"):
        choices = [choice.casefold() for choice in one["choices"]]
        right = choices["ABCD".index(one["answer"])]
        assert len(set(choices)) == 4, one["id"]
        if [right in choice for choice in choices].count(True) > 1:
            holding.append(one["id"])
    assert len(holding) <= len(questions("hard_choices")) / 10, holding


def test_the_longest_choice_is_not_the_key_too_often() -> None:
    """A guesser by length is right in less than half of them."""
    longest = [max(one["choices"], key=len) for one in questions("hard_choices")]
    right = [one["choices"]["ABCD".index(one["answer"])] for one in questions("hard_choices")]
    assert sum(a == b for a, b in zip(longest, right, strict=True)) < len(right) / 2


def test_the_shipped_option_is_what_the_experiments_count_on() -> None:
    """36 questions on six contexts, 30 facts and 20 controls: the denominators of their gates."""
    whole = collect(
        QuestionBank("package:short_facts.json", control="package:hard_choices.json", facts=30, controls=20)
    )
    assert Counter(item.kind for item in whole) == {"context": 36, "fact": 30, "control": 20}
