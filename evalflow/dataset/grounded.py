"""Grounded reading: a folder of Markdown articles and a bank of questions on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalflow.errors import DataError
from evalflow.grounding.abstain import AUTHORED, check_template
from evalflow.grounding.article import Article, parse_article
from evalflow.grounding.prompt import INSTRUCTIONS, build_prompt, fits
from evalflow.record import Item
from evalflow.shipped import resolved
from evalflow.strict_json import parse_json

KINDS = ("on-page", "off-page")
"""Whether the article answers the question."""
_KEYS = frozenset({"id", "article", "question", "kind", "answer", "section"})
_NEEDED = ("id", "article", "question", "kind")


@dataclass(frozen=True)
class GroundedReading:
    """Questions that have to be answered from one article each, or not at all.

    `articles` is a folder of `<article id>.md` (see `grounding.article`), `bank` a JSON file with `questions`: each has
    `id`, `article`, `question`, `kind` (on-page: the article answers it; off-page: it does not) and, where known,
    `answer` and `section`. The bank may hold other keys beside its questions, such as proposed floors. A path may be
    `package:NAME`. `instructions` stand before the article; `{abstain}` in them becomes the authored sentence.

    An item's kind is its question's, its cluster and its prefix group are the article.
    """

    articles: str
    bank: str
    name: str = "grounded"
    instructions: str = INSTRUCTIONS
    abstain: str = AUTHORED
    """The authored sentence; `{#section}` in it becomes the section to look at."""

    def __post_init__(self) -> None:
        check_template(self.abstain)
        if not fits(self.instructions):
            raise ValueError("instructions is a text with a line <article> or </article>; leave those to the dataset")
        for key, path in (("articles", self.articles), ("bank", self.bank)):
            try:
                resolved(path)
            except ValueError as refused:
                raise ValueError(str(refused).replace("path", key, 1)) from None

    def items(self) -> tuple[Item, ...]:
        """The bank's questions, in order; see `Dataset.items`."""
        questions = _questions(resolved(self.bank))
        articles = self._articles(list(dict.fromkeys(question["article"] for question in questions)))
        return tuple(self._item(question, articles[question["article"]]) for question in questions)

    def _articles(self, ids: Sequence[str]) -> dict[str, Article]:
        folder = resolved(self.articles)
        missing = [one for one in ids if Path(one).name != one or not (folder / f"{one}.md").is_file()]
        if missing:
            said = ", ".join(f"{one}.md" for one in missing)
            raise DataError(f"{self.bank}: it asks about {said}, not to be found in {self.articles}; add the file")
        return {one: _article(one, folder / f"{one}.md") for one in ids}

    def _item(self, question: Mapping[str, str], article: Article) -> Item:
        where, section = f"{self.bank}: question {question['id']!r}", question.get("section")
        if section is not None and article.section(section) is None:
            known = ", ".join(one.id for one in article.sections)
            raise DataError(f"{where} names section {section!r}, which {article.id}.md lacks; choose from {known}")
        instructions = self.instructions.replace("{abstain}", self.abstain)
        return Item(
            id=question["id"],
            prompt=build_prompt(instructions, article.text, question["question"]),
            target=question.get("answer"),
            kind=question["kind"],
            cluster=article.id,
            prefix_group=article.id,
            fields={"article": asdict(article), "question": question["question"], "expected_section": section},
        )


def _article(article_id: str, path: Path) -> Article:
    text = _read(path)
    if not fits(text):
        raise DataError(f"{path}: it has a line <article> or </article>, which a prompt begins and ends one by; cut it")
    return parse_article(article_id, text, str(path))


def _questions(path: Path) -> list[dict[str, str]]:
    """The bank's questions, checked one by one.

    Raises:
        DataError: the file cannot be read, or a question of it is malformed.
    """
    try:
        bank = parse_json(_read(path))
    except ValueError as fault:
        raise DataError(f"{path}: not JSON ({fault}); write an object with a list of questions") from None
    questions = bank.get("questions") if isinstance(bank, dict) else None
    if not isinstance(questions, list):
        raise DataError(f"{path}: it has no list of questions; write an object with a list of questions")
    if not questions:
        raise DataError(f"{path}: it has no questions; give at least one")
    for number, question in enumerate(questions, start=1):
        wrong = _fault(question)
        if wrong is not None:
            raise DataError(f"{path}: question {number}{wrong}")
    twice = [one for one, times in Counter(question["id"] for question in questions).items() if times > 1]
    if twice:
        raise DataError(f"{path}: question id {twice[0]!r} occurs twice; make ids unique")
    return questions


def _fault(question: Any) -> str | None:
    """What is wrong with a question, as the end of a message; None where nothing is."""
    if not isinstance(question, dict):
        return f" is a {type(question).__name__}; write an object"
    said = f" ({question['id']})" if isinstance(question.get("id"), str) else ""
    for key in _NEEDED:
        if not isinstance(question.get(key), str) or not question[key].strip():
            return f"{said} has no text as its {key}; give it one"
    strays = sorted(set(question) - _KEYS)
    if strays:
        return f"{said} has the key {strays[0]!r}; use only {', '.join(sorted(_KEYS))}"
    if question["kind"] not in KINDS:
        return f"{said} is of kind {question['kind']!r}; choose from {', '.join(KINDS)}"
    for key in ("answer", "section"):
        if question.get(key) is not None and not isinstance(question[key], str):
            return f"{said} has {question[key]!r} as its {key}; give a text"
    if question["kind"] == "off-page" and question.get("answer") is not None:
        return f"{said} is off-page and has an answer; leave it out, or say on-page"
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # a byte order mark would hide the first heading
    except OSError as fault:
        raise DataError(f"{path}: cannot be read ({fault.strerror}); give a readable file") from None
    except UnicodeDecodeError as fault:
        raise DataError(f"{path}: not UTF-8 ({fault.reason}); save the file as UTF-8") from None
