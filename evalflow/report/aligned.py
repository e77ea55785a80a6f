"""Cells in columns, and long lines under themselves: characters counted as a terminal counts them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

GAP = "  "
_INTERVAL = re.compile(r"\[[-+\de., ]+\]")
_HELD = "\ue000"
"""Stands for a blank at which no line ends; to rich a no-break space is one like any other."""


def padded(cell: str, width: int, right: bool = False) -> str:
    """The cell with blanks up to `width`; one of characters that take two columns gets fewer."""
    blanks = " " * max(0, width - cell_len(cell))
    return blanks + cell if right else cell + blanks


def widest(cells: Sequence[str]) -> int:
    """Columns that the widest cell takes."""
    return max(map(cell_len, cells), default=0)


def on_the_point(cells: Sequence[str]) -> list[str]:
    """The numbers with their decimal points, or last digits, under each other."""
    places = [min([place for mark in ". " if (place := cell.find(mark)) >= 0], default=len(cell)) for cell in cells]
    heads = [cell[:place] for cell, place in zip(cells, places, strict=True)]
    tails = [cell[place:] for cell, place in zip(cells, places, strict=True)]
    before, after = widest(heads), widest(tails)
    return [padded(head, before, True) + padded(tail, after) for head, tail in zip(heads, tails, strict=True)]


def hanging(line: Text, width: int, indent: int) -> list[Text]:
    """The line in as many as it needs, none of which ends inside an interval: those after the first are indented."""
    if line.cell_len <= width:
        return [line]
    indent = min(indent, width // 2)
    console, line = Console(width=width), line.copy()
    line.plain = _INTERVAL.sub(lambda found: found[0].replace(" ", _HELD), line.plain)
    first = line.wrap(console, width)[0]
    rest = line[len(first.plain) :]
    rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]
    lines = [first]
    if rest.plain:
        lines += [Text(" " * indent).append_text(part) for part in rest.wrap(console, width - indent)]
    for one in lines:
        one.rstrip()
        one.plain = one.plain.replace(_HELD, " ")
    return lines


def print_hanging(line: Text, console: Console) -> None:
    """Print a line, and what of it does not fit below and further in."""
    for part in hanging(line, console.width, 2 * len(GAP)):
        console.print(part, soft_wrap=True)
