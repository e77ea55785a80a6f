"""Parts of a screen: lines that belong together, of which as many are shown as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

LEAST_HEIGHT = 24
BELOW = 5
"""Lines that come after a summary: what is left out, page, folder, MLflow's link, and the shell's own."""


@dataclass
class Part:
    """Lines that belong together, an entry each; without room entries go from its end, down to the `least`."""

    what: str
    entries: list[list[Text]]
    least: int
    title: Text | None = None
    left: int = 0

    @property
    def height(self) -> int:
        """How many lines it takes."""
        return len(self.lines)

    @property
    def lines(self) -> list[Text]:
        """Its lines, under the title where there are any."""
        lines = [text for entry in self.entries for text in entry]
        return lines if self.title is None or not lines else [self.title, *lines]

    def shrink(self, over: int) -> int:
        """Leave out entries until `over` lines are gained, or the least is left; how many still are to be."""
        while over > 0 and len(self.entries) > self.least:
            over -= len(self.entries.pop())
            self.left += 1
        return over


def room_of(console: Console, verdict: int = 1) -> int:
    """Lines for a summary, beside what comes after it, where the verdict takes so many."""
    return max(LEAST_HEIGHT, console.height) - BELOW - verdict


def print_blocks(console: Console, blocks: Sequence[Sequence[Text]], spare: int) -> None:
    """Print them, with a blank line after each as long as there are lines to `spare`."""
    for block in blocks:
        for line in block:
            console.print(line, soft_wrap=True)
        if block and spare > 0:
            console.print()
            spare -= 1
