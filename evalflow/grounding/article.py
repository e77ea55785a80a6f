"""Articles: Markdown whose sections are headings with ids, `## Title {#section-id}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalflow.errors import DataError

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*\S)[ \t]*")
_WITH_ID = re.compile(r"(?P<title>.*?)[ \t]*\{#(?P<id>[^\s{}#]+)\}")
_FENCE = re.compile(r"[ \t]*(```|~~~)")


@dataclass(frozen=True)
class Section:
    """What stands between a heading with an id and the next one; `text` is without the heading."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Article:
    """An article as written (`text`, headings and ids included) and its sections in order."""

    id: str
    title: str
    text: str
    sections: tuple[Section, ...]

    @property
    def prose(self) -> str:
        """The text without the ids of its headings: an id is an address, and grounds nothing."""
        return re.sub(r"^(#{1,6}[ \t].*?)[ \t]*\{#[^\s{}#]+\}[ \t]*$", r"\1", self.text, flags=re.MULTILINE)

    def section(self, section_id: str) -> Section | None:
        """The section of this id; None where there is none."""
        return next((section for section in self.sections if section.id == section_id), None)

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Article:
        """The article that `dataclasses.asdict` turned into JSON.

        Raises:
            KeyError: a part of it is missing.
            TypeError: a part of it is something else.
        """
        sections = tuple(Section(**section) for section in fields["sections"])
        return cls(fields["id"], fields["title"], fields["text"], sections)


def parse_article(article_id: str, text: str, where: str) -> Article:
    """The article written in `text`; `where` names it in a refusal.

    Its title is its first heading of level 1, else its id. A heading without an id belongs to the section around it,
    and nothing inside a code fence is a heading.

    Raises:
        DataError: no section has an id, one occurs twice, or a heading's id cannot be read.
    """
    title: str | None = None
    found: list[tuple[str, str, list[str]]] = []
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        fenced ^= _FENCE.match(line) is not None
        heading = None if fenced else _HEADING.fullmatch(line)
        if heading is not None:
            marked = _WITH_ID.fullmatch(heading[2])
            if marked is None and "{#" in heading[2]:
                raise DataError(f"{where}:{number}: the heading's id cannot be read; write ## Title {{#section-id}}")
            name = heading[2] if marked is None else marked["title"]
            title = name if title is None and heading[1] == "#" else title
            if marked is not None:
                found.append((marked["id"], name, []))
                continue
        if found:
            found[-1][2].append(line)
    if not found:
        raise DataError(f"{where}: no section has an id; write its headings as ## Title {{#section-id}}")
    ids = [section_id for section_id, _, _ in found]
    twice = next((section_id for section_id in ids if ids.count(section_id) > 1), None)
    if twice is not None:
        raise DataError(f"{where}: section id {twice!r} occurs twice; make ids unique")
    sections = tuple(Section(section_id, name, "\n".join(lines).strip()) for section_id, name, lines in found)
    return Article(article_id, article_id if title is None else title, text, sections)
