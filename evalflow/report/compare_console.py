"""The whole of a comparison of runs in tables. Colour only on a terminal; plain text when piped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evalflow.report.aligned import print_hanging
from evalflow.report.compare_lines import (
    alike_lines,
    answer_line,
    arms_in_words,
    difference_lines,
    identical_lines,
    is_alike,
    is_folded,
    missed_lines,
    not_compared_lines,
)
from evalflow.report.console import STYLE, number, printable, shown

SHOWN = {"worse": "bold red", "better": "green"}
"""Conclusions that a difference is there, and their style."""
ENOUGH = 110
"""Columns of a terminal that the whole table takes."""
Told = Mapping[str, Any]


def print_comparison(document: Told, console: Console) -> None:
    """Which runs, how their instruments differ and what that forbids, what was compared, what was not, the answer."""
    told = printable(document)
    console.print(_runs(told))
    console.print(_differences(told))
    for table in (_compared(told, console.width), _beside(told), _not_compared(told)):
        if table.row_count:
            console.print(table)
    for line in (*identical_lines(told), *alike_lines(told), *(f"note: {note}" for note in told["notes"])):
        print_hanging(Text(f"  {line}"), console)
    print_answer(document, console)


def print_answer(document: Told, console: Console) -> None:
    """The last lines: what the gate made of it, or what was shown."""
    told = printable(document)
    for outcome, said in missed_lines(told):
        print_hanging(Text("  ").append(outcome, style=STYLE[outcome]).append(f"  {said}"), console)
    title, said = answer_line(told)
    word, _, rest = said.partition(" ")
    style = STYLE[word] if told["gate"] else ""
    print_hanging(Text(f"{title}: ").append(word, style=style).append(f" {rest}"), console)


def figures_of(told: Told, *kinds: str) -> Iterator[tuple[Told, Told]]:
    """(candidate, figure) of every figure of these kinds."""
    for candidate in told["candidates"]:
        for one in candidate["figures"]:
            if one["kind"] in kinds:
                yield candidate, one


def _table(told: Told, title: str, left: Sequence[str], right: Sequence[str] = (), last: Sequence[str] = ()) -> Table:
    """An empty table; its first column, whose run it is, only where there are several."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=Text(title, style="bold"), title_justify="left")
    for heading in (*(["run"] if len(told["candidates"]) > 1 else []), *left):
        table.add_column(heading, overflow="fold")
    for heading in right:
        table.add_column(heading, justify="right", overflow="fold")
    for heading in last:
        table.add_column(heading, overflow="fold")
    return table


def _add(table: Table, told: Told, candidate: Told, *cells: str, style: str = "") -> None:
    """A row of a candidate; `style` is of its last cell."""
    label = [candidate["run"]["label"]] if len(told["candidates"]) > 1 else []
    whole = [*label, *cells]
    table.add_row(*map(Text, whole[:-1]), Text(whole[-1], style=style))


def _other(told: Told) -> str:
    """What the column of candidates is called."""
    return told["candidates"][0]["run"]["label"] if len(told["candidates"]) == 1 else "run"


def _runs(told: Told) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("", "run", "experiment", "verdict", "items", "folder"):
        table.add_column(heading, overflow="fold")
    runs: list[tuple[Told, Told | None]] = [(told["reference"], None)]
    for run, items in [*runs, *((one["run"], one["items"]) for one in told["candidates"])]:
        part = f" ({run['part']})" if run["part"] else ""
        shared = "" if items is None else f", {items['n_shared']} shared"
        name = f"{run['label']} (reference)" if items is None else run["label"]
        counted = f"{run['n_items']} of {run['dataset']}{part}{shared}"
        cells = (name, run["run_id"], run["experiment"], run["verdict"], counted, run["folder"])
        table.add_row(*map(Text, cells))
    return table


def _differences(told: Told) -> Table:
    heads = ("field", "in " + told["reference"]["label"], f"in {_other(told)}", "makes incomparable", "because")
    table = _table(told, "The instruments differ in", heads)
    for candidate in told["candidates"]:
        for one in difference_lines(candidate):
            _add(table, told, candidate, one.field, one.reference, one.candidate, one.figures, one.why)
    return table


def _compared(told: Told, width: int) -> Table:
    """What was compared; where there is no room, without what the rest leads to."""
    labels = (f"in {told['reference']['label']}", f"in {_other(told)}")
    heads = (*labels, "difference [95 %]", "p", "Holm", "pairs", "+/-/=")
    kept = [head for head in heads if width >= ENOUGH or head not in ("p", "pairs", "+/-/=")]
    title = f"Compared item by item, Holm over {told['family']['n_tested']}"
    table = _table(told, title, ("figure", "arm"), kept, ("shown",))
    for candidate, one in figures_of(told, "compared"):
        if not is_folded(candidate, one):
            cells = dict(zip(heads, numbers(one), strict=True))
            shown_as, style = conclusion(one), SHOWN.get(one["delta"]["conclusion"], "")
            named = (one["figure"], arms_in_words(one["arms"]))
            _add(table, told, candidate, *named, *(cells[head] for head in kept), shown_as, style=style)
    return table


def numbers(one: Told) -> tuple[str, ...]:
    """Both values, the difference with its interval, p-values, pairs, and on how many of them which side won."""
    delta = one["delta"]
    scale, unit = _scaled(one)
    low, high = delta["low"], delta["high"]
    ends = "" if low is None else f" [{_signed(scale * low)}, {_signed(scale * high)}]"
    return (
        number(scale * delta["reference_value"]) + unit,
        number(scale * delta["candidate_value"]) + unit,
        f"{_signed(scale * delta['delta'])}{unit}{ends}",
        _p(delta["p"]),
        _p(delta["p_adjusted"]),
        _pairs(delta),
        f"{delta['wins']}/{delta['losses']}/{delta['ties']}",
    )


def _scaled(one: Told) -> tuple[float, str]:
    """What a figure is told in: times in ms."""
    return (1000, " ms") if one["unit"] == "s" else (1, "")


def _pairs(delta: Told) -> str:
    clusters = f" in {delta['n_clusters']} clusters" if delta["n_clusters"] < delta["n_pairs"] else ""
    return f"{delta['n_pairs']}{clusters}" + (f", {len(delta['unpaired'])} unpaired" if delta["unpaired"] else "")


def conclusion(one: Told) -> str:
    """What is shown; of nothing, what could have been; and what else a reader must know of it."""
    delta = one["delta"]
    scale, unit = _scaled(one)
    reach = f"could show {number(scale * delta['mde'])}{unit}" if delta["mde"] is not None else None
    marks = [reach if delta["conclusion"] == "not shown" else None, "control" if one["control"] else None]
    sessions = delta["n_sessions"] or 1
    marks.append(f"over {sessions} sessions" if sessions > 1 else None)
    said = ", ".join(mark for mark in marks if mark)
    return f"{delta['conclusion']} ({said})" if said else str(delta["conclusion"])


def _beside(told: Told) -> Table:
    """Figures that differ; those that are alike are told in a line."""
    right = (f"in {told['reference']['label']}", f"in {_other(told)}")
    table = _table(told, "Side by side, not tested", ("figure", "arm"), right)
    for candidate, one in figures_of(told, "beside"):
        if not is_alike(one):
            _add(table, told, candidate, one["figure"], arms_in_words(one["arms"]), *map(shown, one["beside"]))
    return table


def _not_compared(told: Told) -> Table:
    table = _table(told, "Not compared", ("figures", "because"))
    for candidate in told["candidates"]:
        for what, why in not_compared_lines(told, candidate):
            _add(table, told, candidate, what, why)
    return table


def _signed(value: float) -> str:
    said = number(value)
    return said if said.startswith("-") or value == 0 else f"+{said}"


def _p(value: float | None) -> str:
    return "-" if value is None else "<1e-12" if value < 1e-12 else f"{value:.3g}"
