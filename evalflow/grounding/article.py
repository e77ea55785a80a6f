"""Articles: Markdown whose sections are headings with ids, `## Title {#section-id}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalflow.errors import DataError

_NO_ID = re.compile(r"[\s{}#]")
_MARKS = re.compile(r"(#{1,6})[ \t]")
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
        return "\n".join(_without_id(line) for line in self.text.split("\n"))

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
        heading = None if fenced else _heading(line)
        if heading is not None:
            marks, said = heading
            name, section_id = _split_id(said)
            if section_id is None and "{#" in said:
                raise DataError(f"{where}:{number}: the heading's id cannot be read; write ## Title {{#section-id}}")
            title = name if title is None and marks == "#" else title
            if section_id is not None:
                found.append((section_id, name, []))
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


def _heading(line: str) -> tuple[str, str] | None:
    """The marks and the words of a heading; None of any other line."""
    begun = _MARKS.match(line)
    said = line[begun.end() :].strip(" \t") if begun else ""
    return (begun[1], said) if begun and said else None


def _split_id(said: str) -> tuple[str, str | None]:
    """A heading's words without its id, and the id; None where it has none that can be read."""
    before, opened, section_id = said[:-1].rpartition("{#")
    if not said.endswith("}") or not opened or not section_id or _NO_ID.search(section_id):
        return said, None
    return before.rstrip(" \t"), section_id


def _without_id(line: str) -> str:
    heading = _heading(line)
    if heading is None:
        return line
    marks, said = heading
    name, section_id = _split_id(said)
    return line if section_id is None else f"{marks} {name}"
