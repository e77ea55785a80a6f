"""What people's ratings came to, on one screen. Colour only on a terminal; plain text when piped."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evalflow.report.console import printable
from evalflow.report.review_lines import Lines, Told, review_answers, review_tables

STYLE = {"better": "green", "worse": "bold red"}


def print_review(document: Told, console: Console) -> None:
    """Who rated how much, every pair of arms or every arm, how far raters agree, and the answer in words."""
    told = printable(document)
    console.print(Text(f"{told['experiment']} · review of run {told['run_id']}", style="bold"))
    for lines in review_tables(told):
        console.print(_table(lines))
    for note in told["notes"]:
        console.print(Text(f"  note: {note}"))
    print_review_answer(document, console)


def print_review_answer(document: Told, console: Console) -> None:
    """The last lines: of each pair of arms which is liked better, in words."""
    for conclusion, words in review_answers(printable(document)):
        console.print(Text(words, style=STYLE.get(conclusion, "")))


def _table(lines: Lines) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=Text(lines.title, style="bold"), title_justify="left")
    for head in lines.heads:
        table.add_column(head, justify="right" if head in lines.numbers else "left", overflow="fold")
    for line in lines.lines:
        table.add_row(*(Text(cell) for cell in line))
    return table
