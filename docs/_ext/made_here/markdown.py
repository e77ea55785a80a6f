"""Texts of the code as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

HEAD = re.compile(r"^(Raises|Returns|Yields|Args|Attributes):$", re.M)


def text(said: str) -> str:
    """A docstring as a paragraph or more, its sections (Raises: ...) left out; what HTML would read is escaped."""
    body = HEAD.split(inspect.cleandoc(said))[0]
    return "\n\n".join(_paragraph(part) for part in body.strip().split("\n\n"))


def _paragraph(part: str) -> str:
    """A paragraph in one line, or a list with a line per item."""
    items = re.split(r"^- ", part, flags=re.M)
    if len(items) == 1:
        return _escaped(" ".join(part.split()))
    lead = [_escaped(" ".join(items[0].split())), ""] if items[0].strip() else []
    return "\n".join([*lead, *(f"- {_escaped(' '.join(item.split()))}" for item in items[1:])])


def items(said: str) -> dict[str, str]:
    """The items of a docstring's lists that begin with a word in backticks, and its attributes, by that word."""
    listed = dict(re.findall(r"^- `(\w+)`: (.*)$", text(said), re.M))
    _, _, attributes = inspect.cleandoc(said).partition("Attributes:\n")
    for entry in re.split(r"^ {4}(?=\w+: )", attributes, flags=re.M)[1:]:
        name, _, meaning = entry.partition(": ")
        listed[name] = _escaped(" ".join(meaning.split()))
    return listed


def first(said: str) -> str:
    """The first paragraph of a docstring."""
    return text(said).split("\n\n")[0]


def raised(said: str) -> list[str]:
    """What a docstring says is undefined: the lines of its `Undefined:` entry."""
    found = re.search(
        r"^\s*Undefined: (.*?)(?=^\s*\w+Error: |^\s*\w+Warning: |\Z)", inspect.cleandoc(said), re.M | re.S
    )
    return [_escaped(" ".join(found[1].split()))] if found else []


def sentences(said: str) -> list[str]:
    """The sentences of a docstring, Markdown; a full stop inside of backticks or parentheses ends none."""
    whole = " ".join(line for line in text(said).splitlines() if line and not line.startswith("- "))
    parts: list[str] = []
    start = depth = 0
    quoted = False
    for place, mark in enumerate(whole):
        if mark == "`":
            quoted = not quoted
        elif not quoted:
            depth += (mark == "(") - (mark == ")")
            if mark == "." and depth <= 0 and re.match(r"\s+[A-Z`\"]|\s*$", whole[place + 1 :]):
                parts.append(whole[start : place + 1].strip())
                start = place + 1
    return [part for part in [*parts, whole[start:].strip()] if part]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar inside of a cell is escaped. Empty where there is no row."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join(["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |", *lines])


def code(said: object) -> str:
    """As code in a line."""
    words = str(said)
    fence = "``" if "`" in words else "`"
    return f"{fence}{words}{fence}"


def _escaped(said: str) -> str:
    """HTML's signs escaped outside of backticks, and a lone asterisk, which would be emphasis."""
    parts = said.split("`")
    for place in range(0, len(parts), 2):
        parts[place] = parts[place].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("*", "\\*")
    return "`".join(parts)
