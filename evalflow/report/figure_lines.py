"""Arms side by side in the room there is: abreast, else a line for each arm, else for each that decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.text import Text

from evalflow.report.aligned import GAP, hanging, on_the_point, padded, widest
from evalflow.report.quantity import Quantity, quantities
from evalflow.report.read_figures import ReadFigure, before_counts

Told = Mapping[str, Any]
LEAST_FOR_ARMS = 10
"""Columns for arms' names under which a table of them reads worse than sentences."""


HEADS = ("figure", "value", "interval", "n")


class FigureLines(NamedTuple):
    """The heading of a table or None; its entries, each in a line or more; and how many arms' figures each tells."""

    heading: Text | None
    entries: list[list[Text]]
    n_told: list[int]

    @property
    def height(self) -> int:
        """Lines that it takes."""
        return sum(map(len, self.entries)) + (self.heading is not None)


class FigureLine(NamedTuple):
    """Arms whose figure reads the same: what it is, whose, how many they are, and the least and the most rows."""

    label: str
    whose: str
    n_arms: int
    shown: Quantity
    n: tuple[int, int]


def figure_lines(
    read: Sequence[ReadFigure], more: Sequence[ReadFigure], arms: Told, width: int, room: int
) -> FigureLines:
    """The fullest layout that fits `width` and `room` lines, with as many of `more` as that has room for.

    Where none fits, it is the tersest of those that are `read`.
    """
    names = {arm: f"{arm} (control)" if told["conditions"]["control"] else arm for arm, told in arms.items()}
    layouts: tuple[Callable[[Sequence[ReadFigure]], FigureLines | None], ...] = (
        lambda figures: _abreast(figures, names, width),
        lambda figures: listed(list(_grouped(figures, names, arms, deciding=False)), "arm", width),
    )
    for n_more in range(len(more), -1, -1):
        figures = before_counts(read, more[:n_more])
        for layout in layouts if figures else ():
            made = layout(figures)
            if made is not None and made.height <= room:
                return made
    if not read:
        return FigureLines(None, [], [])
    return listed(list(_grouped(read, names, arms, deciding=True)), "arm that decided", width)


def _abreast(figures: Sequence[ReadFigure], names: Mapping[str, str], width: int) -> FigureLines | None:
    """A column for each arm; None where they do not fit."""
    cells = [quantities(figure.arms) for figure in figures]
    arms = dict.fromkeys(name for row in cells for name in row)
    columns = [(names[arm], [row.get(arm) for row in cells]) for arm in arms]
    rows = abreast(("", *(figure.label for figure in figures)), columns, width)
    if rows is None:
        return None
    undefined = [hanging(Text(line), width, len(GAP)) for line in _undefined(figures, names)]
    n_told = [*map(len, cells), *(0 for _ in undefined)]
    return FigureLines(rows[0], [*([row] for row in rows[1:]), *undefined], n_told)


def abreast(
    labels: Sequence[str], columns: Sequence[tuple[str, Sequence[Quantity | None]]], width: int, counted: bool = True
) -> list[Text] | None:
    """A heading and a row for each label but the first, which is the heading's; None where they do not fit.

    Not `counted`, they go without what each is of, which is told elsewhere.
    """
    texts = [list(labels), *([head, *_column(cells, counted)] for head, cells in columns)]
    widths = [widest(column) for column in texts]
    if sum(widths) + len(GAP) * (len(widths) - 1) > width:
        return None
    rows = [
        GAP.join(padded(cell, w, right=place > 0) for place, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in zip(*texts, strict=True)
    ]
    return [Text(rows[0], style="bold"), *map(Text, rows[1:])]


def _column(cells: Sequence[Quantity | None], counted: bool) -> list[str]:
    """One arm's figures: values on their points, intervals and counts under each other."""
    there = [cell for cell in cells if cell is not None]
    values = iter(on_the_point([cell.value for cell in there]))
    intervals = widest([cell.interval for cell in there])
    counts = [_n((cell.n, cell.n)) for cell in there]
    most, marks = widest(counts), widest([cell.marks for cell in there]) if counted else 0
    texts = []
    for cell in cells:
        if cell is None:
            texts.append("")
            continue
        count = f"n={padded(_n((cell.n, cell.n)), most)}" if cell.reason is None else " " * (most + 2)
        parts = [
            next(values),
            *([padded(cell.interval, intervals)] if intervals else []),
            *([count] if counted else []),
        ]
        parts += [padded(f"({cell.marks})" if cell.marks and cell.reason is None else "", marks + 2)] if marks else []
        texts.append(" ".join(parts))
    return texts


def _undefined(figures: Sequence[ReadFigure], names: Mapping[str, str]) -> Iterator[str]:
    """Why figures have no value, once for all of which it is so; of an arm that never ran it is told elsewhere."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for figure in figures:
        for arm, one in figure.arms.items():
            if one["value"] is None and not _is_told(one["reason"]):
                reasons.setdefault(one["reason"], {}).setdefault(figure.label, []).append(names[arm])
    for reason, whose in reasons.items():
        what = "; ".join(f"{label} of {', '.join(arms)}" for label, arms in whose.items())
        yield f"undefined, {reason}: {what}"


def _is_told(reason: str) -> bool:
    """Whether an arm's own trouble is told above, or a reference is held against nothing."""
    return reason.startswith(("arm unavailable", "the arm has no reference"))


def _grouped(
    figures: Sequence[ReadFigure], names: Mapping[str, str], arms: Told, deciding: bool
) -> Iterator[FigureLine]:
    """A line for each figure and value; `deciding` leaves out the arms that decided nothing."""
    every = [arm for arm, told in arms.items() if not told["conditions"]["control"]]
    for figure in figures:
        groups: dict[tuple[str, str, str, str | None], list[str]] = {}
        told = quantities(figure.arms)
        for arm, one in told.items():
            if one.reason is not None and _is_told(one.reason):
                continue
            if not deciding or arm in figure.deciding or one.reason is not None:
                groups.setdefault((one.value, one.interval, one.marks, one.reason), []).append(arm)
        for alike in groups.values():
            shown, n = told[alike[0]], [told[arm].n for arm in alike]
            whose = "every arm" if len(alike) > 2 and alike == every else ", ".join(names[arm] for arm in alike)
            whose += f" ({shown.marks})" if shown.marks else ""
            yield FigureLine(figure.label, whose, len(alike), shown, (min(n), max(n)))


def listed(lines: Sequence[FigureLine], last: str, width: int) -> FigureLines:
    """Figure, value, interval, count, and whose it is; in sentences where there is no room for a table."""
    values = on_the_point(["" if line.shown.reason else line.shown.value for line in lines])
    intervals = [line.shown.interval for line in lines]
    counts = ["" if line.shown.reason else _n(line.n) for line in lines]
    columns = [[line.label for line in lines], values, intervals, counts]
    widths = [widest([head, *column]) for head, column in zip(HEADS, columns, strict=True)]
    indent = sum(widths) + len(GAP) * len(widths)
    n_told = [line.n_arms for line in lines]
    if width - indent < LEAST_FOR_ARMS:
        return FigureLines(None, [hanging(Text(_sentence(line)), width, len(GAP)) for line in lines], n_told)
    entries, before = [], None
    for line, *cells in zip(lines, values, intervals, counts, strict=True):
        label = padded("" if line.label == before else line.label, widths[0])
        before = line.label
        if line.shown.reason:
            said = Text(GAP.join((label, f"undefined, {line.shown.reason}: {line.whose}")))
            entries.append(hanging(said, width, widths[0] + len(GAP)))
        else:
            told = Text(GAP.join((label, *_in_columns(cells, widths[1:]), line.whose)))
            entries.append(hanging(told, width, indent))
    heads = (padded(HEADS[0], widths[0]), *_in_columns(HEADS[1:], widths[1:]), last)
    return FigureLines(Text(GAP.join(heads), style="bold"), entries, n_told)


def _in_columns(cells: Sequence[str], widths: Sequence[int]) -> tuple[str, str, str]:
    """Value, interval and count, each in its width."""
    value, interval, count = cells
    return padded(value, widths[0], True), padded(interval, widths[1]), padded(count, widths[2], True)


def _sentence(line: FigureLine) -> str:
    if line.shown.reason:
        return f"{line.label} of {line.whose}: undefined, {line.shown.reason}"
    parts = (f"{line.label} of {line.whose}:", line.shown.value, line.shown.interval, f"n={_n(line.n)}")
    return " ".join(part for part in parts if part)


def _n(counts: tuple[int, int]) -> str:
    """A count; the least and the most of several."""
    least, most = counts
    return f"{least:,}" if least == most else f"{least:,}–{most:,}"
