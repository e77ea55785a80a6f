"""A page of Markdown as its blocks, with what is said of each for the tests."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

FENCE = re.compile(r"^(?P<marks>`{3,}|:{3,}|~{3,})\s*(?P<info>.*?)\s*$")
DIRECTIVE = re.compile(r"^<!-- test: (?P<said>.*?) -->$")
PATH = re.compile(r"^(?:#|//)\s+(?P<path>[\w.-]+(?:/[\w.-]+)*\.\w+)\s*$")
EXIT = re.compile(r"exit (\d+)")


class PageError(ValueError):
    """A page says something of a block that has no meaning; the message says where."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and what a comment before it says of how it is carried out."""

    page: str
    line: int
    language: str
    text: str
    really: bool = False
    exit_code: int = 0
    skipped: str | None = None
    printed: bool = False
    file: str | None = None
    named_by_itself: bool = False
    """Whether its first line says where it is written, and is left out there."""

    @property
    def where(self) -> str:
        """The page and the line of the fence."""
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """The lines that a shell would be given, those that end with a backslash joined, comments left out."""
        if self.language not in ("", "sh") or self.file is not None:
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        return [said for line in lines if (said := re.sub(r"\s+#\s.*$|^#.*$", "", line).strip())]


@dataclass
class _Open:
    """A fence whose end has not been read."""

    marks: str
    info: str
    line: int
    said: str | None
    text: list[str] = field(default_factory=list)


def blocks(page: str, text: str) -> list[Block]:
    """The fenced blocks of a page in order; a directive of MyST (`{toctree}`, `{include}`) is none.

    Raises:
        PageError: a comment for the tests that says nothing known, or stands before no block; a fence without an end.
    """
    found: list[Block] = []
    fence: _Open | None = None
    said: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        opened = FENCE.match(line)
        if fence is not None:
            if opened and not opened["info"] and opened["marks"].startswith(fence.marks):
                if not fence.info.startswith("{"):
                    found.append(_block(page, fence))
                fence = None
            else:
                fence.text.append(line)
        elif opened:
            fence, said = _Open(opened["marks"], opened["info"], number, said), None
        elif comment := DIRECTIVE.match(line.strip()):
            said = comment["said"]
        elif said is not None:
            raise PageError(f"{page}:{number}: a comment for the tests stands before no block")
    if fence is not None or said is not None:
        raise PageError(f"{page}: its last fence, or comment for the tests, leads to nothing")
    return found


def _block(page: str, fence: _Open) -> Block:
    text = "\n".join([*fence.text, ""])
    first = PATH.match(fence.text[0]) if fence.text else None
    block = Block(
        page, fence.line, fence.info, text, file=first["path"] if first else None, named_by_itself=bool(first)
    )
    said = fence.said
    if said is not None:
        given = _said(said)
        if given is None:
            raise PageError(f"{block.where}: 'test: {said}' is not known; CONTRIBUTING lists what is")
        block = Block(**{**vars(block), **given})
    if block.file is not None and (PurePosixPath(block.file).is_absolute() or ".." in block.file):
        raise PageError(f"{block.where}: {block.file} lies outside the page's folder")
    return block


def _said(said: str) -> dict[str, object] | None:
    """What a comment says of its block; None where it says nothing that is known."""
    if match := re.fullmatch(r"skip, (\S.{7,})", said):
        return {"skipped": match[1]}
    if match := re.fullmatch(r"file (\S+)", said):
        return {"file": match[1], "named_by_itself": False}
    if said == "printed":
        return {"printed": True}
    if match := re.fullmatch(r"(run)?(?:, )?(?:exit (\d+))?", said):
        return {"really": bool(match[1]), "exit_code": int(match[2] or 0)}
    return None


ROOT = Path(__file__).resolve().parents[2]


def pages() -> dict[str, str]:
    """Every page that is carried out: README and what lies under docs/, by its path."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in found
        if "_build" not in path.parts
    }
