"""What people's ratings came to, on one screen. Colour only on a terminal; plain text when piped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evalflow.report.console import number, printable

Told = Mapping[str, Any]
STYLE = {"better": "green", "worse": "bold red"}


def print_review(document: Told, console: Console) -> None:
    """Who rated how much, every pair of arms or every arm, how far raters agree, and the answer in words."""
    told = printable(document)
    console.print(Text(f"{told['experiment']} · review of run {told['run_id']}", style="bold"))
    console.print(_table(("rater", "rated", "of", "comments"), _rater_lines(told)))
    if told["preferences"]:
        console.print(_table(_PREFERENCE, _preference_lines(told)))
    if told["ratings"]:
        console.print(_table(("arm", "mean rating", "given"), _arm_lines(told["ratings"])))
    console.print(_table(("agreement of raters", "figure", "value", "on"), _agreement_lines(told)))
    for note in told["notes"]:
        console.print(Text(f"  note: {note}"))
    print_review_answer(document, console)


def print_review_answer(document: Told, console: Console) -> None:
    """The last lines: of each pair of arms which is liked better, in words."""
    for conclusion, words in review_answers(printable(document)):
        console.print(Text(words, style=STYLE.get(conclusion, "")))


def review_answers(told: Told) -> Iterator[tuple[str, str]]:
    """(conclusion, words) of every pair of arms."""
    for one in told["preferences"]:
        yield one["conclusion"], one["words"]
    for one in told["ratings"]["differences"] if told["ratings"] else ():
        yield one["delta"]["conclusion"], one["delta"]["words"]


def share(figure: Told) -> str:
    """A share in percent with its interval; an undefined one says why."""
    return _shown(figure, lambda value: f"{100 * value:.1f}", " %")


def rating(figure: Told) -> str:
    """A mean or a coefficient with its interval; an undefined one says why."""
    return _shown(figure, lambda value: f"{value:.2f}", "")


def _shown(figure: Told, write: Any, unit: str) -> str:
    if figure["value"] is None:
        return f"undefined: {figure['reason']}"
    interval = "" if figure["low"] is None else f" [{write(figure['low'])}, {write(figure['high'])}]"
    return f"{write(figure['value'])}{unit}{interval}"


_PREFERENCE = (
    "candidate against reference",
    "by",
    "won",
    "lost",
    "tied",
    "share, ties as half",
    "without ties",
    "left",
)


def _rater_lines(told: Told) -> Iterator[Sequence[str]]:
    for one in told["raters"]:
        of = "-" if one["n_shown"] is None else str(one["n_shown"])
        yield one["rater"], str(one["n_rated"]), of, str(one["n_comments"])


def _preference_lines(told: Told) -> Iterator[Sequence[str]]:
    for one in told["preferences"]:
        name = f"{one['candidate']} against {one['reference']}"
        for own in one["by_rater"]:
            yield name, own["rater"], *_counts(own["counts"]), share(own["share"]), "", ""
            name = ""
        of = f"all ({one['share']['n_scored']} items)"
        yield name, of, *_counts(one["choices"]), share(one["share"]), share(one["decided"]), share(one["left"])


def _counts(counts: Told) -> tuple[str, str, str]:
    return str(counts["won"]), str(counts["lost"]), str(counts["tied"])


def _arm_lines(ratings: Told) -> Iterator[Sequence[str]]:
    for one in ratings["arms"]:
        given = ", ".join(f"{number(told['rating'])}: {told['n']}" for told in one["counts"])
        yield one["arm"], f"{rating(one['mean'])} n={one['mean']['n_scored']}", given


def _agreement_lines(told: Told) -> Iterator[Sequence[str]]:
    of = [(f"{one['candidate']} against {one['reference']}", one["agreement"]) for one in told["preferences"]]
    if told["ratings"]:
        of.append(("ratings", told["ratings"]["agreement"]))
    for name, agreement in of:
        alpha = agreement["alpha"]
        yield name, f"alpha ({agreement['level']})", rating(alpha), f"{alpha['n_scored']} of {alpha['n_total']}"
        for one in agreement["kappas"]:
            yield "", f"kappa {' | '.join(one['raters'])}", rating(one), f"{one['n_scored']} of {one['n_total']}"


def _table(heads: Sequence[str], lines: Iterator[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        right = head in ("rated", "of", "comments", "won", "lost", "tied", "on")
        table.add_column(head, justify="right" if right else "left", overflow="fold")
    for line in lines:
        table.add_row(*(Text(cell) for cell in line))
    return table
