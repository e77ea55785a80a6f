"""A run on one screen: what ran, what went wrong, what decided. What there is no room for is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from evalflow.report.aligned import GAP, hanging
from evalflow.report.comparison_lines import comparison_lines
from evalflow.report.console import STYLE, heading, printable, troubles, verdict_line
from evalflow.report.figure_lines import figure_lines
from evalflow.report.gate_lines import amiss_lines, amiss_names, passed_names, passed_table
from evalflow.report.part import Part, print_blocks, room_of
from evalflow.report.read_figures import read_figures, unread

Told = Mapping[str, Any]
FULL = "evalflow score RUN --full"
LEAST_FIGURES = 3
MOST_AMISS = 12
"""Gates that did not pass that have a line of their own, be there room or not."""


def print_screen(report: Told, console: Console, exit_code: int | None = None) -> None:
    """Print the summary; page, folder and verdict come after it.

    It takes no more lines than the console has, those that come after it included, unless what is amiss needs them.
    """
    report, width = printable(report), console.width
    verdict = hanging(verdict_line(report, exit_code), width, len(GAP))
    room = room_of(console, len(verdict))
    top = hanging(heading(report), width, len(GAP))
    said = [*troubles(report), *(f"note: {note}" for note in report["notes"])]
    trouble = Part("notes", [_indented(line, width) for line in said], 4)
    compared = Part("comparisons", [_indented(line, width) for line in comparison_lines(report)], 3)
    amiss = Part("reasons of gates", amiss_lines(report, width), MOST_AMISS)
    passed = passed_names(report["gates"], width) or ([] if amiss.entries else [Text("no gate was asked")])
    used = len(top) + sum(part.height for part in (trouble, compared, amiss)) + len(passed)
    read = read_figures(report)
    if used + len(read[:LEAST_FIGURES]) > room:
        amiss.entries = amiss_lines(report, width, terse=True)
        used = len(top) + sum(part.height for part in (trouble, compared, amiss)) + len(passed)
    made = figure_lines(read, unread(report, read), report["arms"], width, room - used)
    figures = Part("", made.entries, LEAST_FIGURES, made.heading)
    parts = [trouble, figures, compared, amiss]
    over = len(top) + sum(part.height for part in parts) + len(passed) - room
    for part in (figures, compared, trouble, amiss):
        over = part.shrink(over)
    if (table := passed_table(report, width)) and over + len(table) - len(passed) <= 0:
        over += len(table) - len(passed)
        passed = table
    named = [*(text for entry in amiss.entries for text in entry), *_unnamed(report, amiss, width), *passed]
    print_blocks(console, [[*top, *trouble.lines], figures.lines, compared.lines, named], -over)
    n_told = sum(made.n_told[: len(figures.entries)])
    for line in _left_out(report, (trouble, compared, amiss), n_told, width):
        console.print(line, soft_wrap=True)


def _indented(line: str, width: int) -> list[Text]:
    return hanging(Text(line), width, 2 * len(GAP))


def _unnamed(report: Told, amiss: Part, width: int) -> list[Text]:
    """The names of gates that did not pass and for whose reasons there was no room."""
    if not amiss.left:
        return []
    names = ", ".join(amiss_names(report["gates"])[len(amiss.entries) :])
    head = Text().append(f"{amiss.left} more did not pass", style=STYLE["fail"])
    return hanging(head.append(f": {names}"), width, len(GAP))


def _left_out(report: Told, parts: Sequence[Part], n_told: int, width: int) -> list[Text]:
    """What is not on the screen, counted, and what prints it."""
    n_figures = sum(len(arm["figures"]) for arm in report["arms"].values())
    left = {part.what: part.left for part in parts}
    left["figures"] = max(0, n_figures - n_told)
    left["limits"] = len(report["limits"])
    counts = ", ".join(f"{n:,} {what if n > 1 else what.removesuffix('s')}" for what, n in left.items() if n)
    if not counts:
        return []
    return hanging(Text(f"Left out: {counts}: on the page, or by {FULL}", style="dim"), width, len(GAP))
