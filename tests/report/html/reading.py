"""A page read back: its elements as a tree, whatever is not well formed refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from evalflow.record import Item
from evalflow.report.html.page import page
from tests.report.by_hand import made

VOID = ("meta", "wbr", "input", "br")
APART = ("span", "div", "p", "li", "td", "th", "dt", "dd", "h1", "h2", "h3", "summary", "pre", "option", "label")


@dataclass
class Element:
    """One element, its attributes and what is in it: elements and texts."""

    tag: str
    attributes: Mapping[str, str]
    inside: list[Element | str] = field(default_factory=list)

    def every(self, tag: str = "", **attributes: str) -> list[Element]:
        """The elements inside of a tag (any where it is empty) with these attributes; `kind` is a class."""
        return [one for one in self._below() if one._is(tag, attributes)]

    def one(self, tag: str = "", **attributes: str) -> Element:
        """The only such element."""
        found = self.every(tag, **attributes)
        assert len(found) == 1, f"{len(found)} elements {tag} {attributes}"
        return found[0]

    @property
    def text(self) -> str:
        """All text inside, a blank between what stands apart, and runs of blanks as one."""
        return " ".join(self._joined(" ").split())

    @property
    def raw(self) -> str:
        """All text inside, as it is."""
        return self._joined("")

    def _joined(self, apart: str) -> str:
        return "".join(
            part if isinstance(part, str) else part._joined(apart).join(2 * [apart if part.tag in APART else ""])
            for part in self.inside
        )

    def _below(self) -> Iterator[Element]:
        for part in self.inside:
            if isinstance(part, Element):
                yield part
                yield from part._below()

    def _is(self, tag: str, attributes: Mapping[str, str]) -> bool:
        wanted = {key: value for key, value in attributes.items() if key != "kind"}
        classes = self.attributes.get("class", "").split()
        same = all(self.attributes.get(key) == value for key, value in wanted.items())
        return tag in ("", self.tag) and same and attributes.get("kind", "") in ("", *classes)


class _Tree(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        element = Element(tag, {key: value or "" for key, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.open[-1].inside.append(Element(tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> inside <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def read(text: str) -> Element:
    """The page as a tree: every element is closed, and in the order in which it was opened."""
    tree = _Tree()
    tree.feed(text)
    tree.close()
    assert [one.tag for one in tree.open] == [""], f"open at the end: {[one.tag for one in tree.open]}"
    return tree.open[0]


def page_of(folder: Path, private: bool = False, **parts: Any) -> Element:
    """The page of a run that is made by hand, `parts` as `by_hand.made` takes them."""
    report, scores = made(folder, **parts)
    return read(page(report, scores.rows, scores.plan.items, private))


def report_page(report: Mapping[str, Any], rows: Sequence[Any] = (), items: Sequence[Item] = ()) -> Element:
    """The page of a report that was changed by hand."""
    return read(page(report, rows, items))


def lines_of(table: Element) -> dict[str, list[str]]:
    """A table's lines: the text of its row header -> the texts of its other cells."""
    found = {}
    for line in table.every("tr"):
        heads = [cell for cell in line.every("th") if cell.attributes.get("scope") == "row"]
        if heads:
            found[heads[0].text] = [cell.text for cell in line.inside if isinstance(cell, Element) and cell.tag == "td"]
    return found
