"""A comparison of runs on one screen: what differs, what that shows, and the rest counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from evalflow.report.aligned import GAP, hanging, padded, widest
from evalflow.report.compare_console import SHOWN, conclusion, figures_of, numbers, print_answer
from evalflow.report.compare_lines import arms_in_words, difference_lines, few, missed_lines, not_compared_lines
from evalflow.report.console import printable
from evalflow.report.part import LEAST_HEIGHT, Part, print_blocks

Told = Mapping[str, Any]
ORDER = ("worse", "better", "not shown", "identical")
BELOW = 4
"""Lines that come after it beside those of the gate: what is left out (two at most), the answer, the shell's own."""


def print_comparison_screen(document: Told, console: Console) -> None:
    """Which runs, how their instruments differ, what was compared, what was not, and the answer last."""
    told, width = printable(document), console.width
    room = max(LEAST_HEIGHT, console.height) - BELOW - len(missed_lines(told))
    runs = [line for entry in _runs(told, width) for line in entry]
    differ = Part("differences", [hanging(Text(line), width, 2 * len(GAP)) for line in _differences(told)], 2)
    compared = _compared(told, width)
    same = Part("identical figures", [hanging(Text(line), width, 2 * len(GAP)) for line in _identical(told)], 1)
    apart = Part("figures not compared", [hanging(Text(line), width, 2 * len(GAP)) for line in _apart(told)], 1)
    notes = Part("notes", [hanging(Text(f"note: {note}"), width, 2 * len(GAP)) for note in told["notes"]], 0)
    parts = [differ, compared, same, apart, notes]
    over = len(runs) + sum(part.height for part in parts) - room
    for part in (notes, apart, same, compared, differ):
        over = part.shrink(over)
    blocks = [[*runs, *differ.lines], [*compared.lines, *same.lines], [*apart.lines, *notes.lines]]
    print_blocks(console, blocks, -over)
    beside = sum(1 for _ in figures_of(told, "beside"))
    left = {**{part.what: part.left for part in parts}, "figures side by side": beside}
    counts = ", ".join(f"{n:,} {what if n > 1 else what.replace('s', '', 1)}" for what, n in left.items() if n)
    if counts:
        for line in hanging(Text(f"Left out: {counts}: by --full, or --html FILE", style="dim"), width, len(GAP)):
            console.print(line, soft_wrap=True)
    print_answer(document, console)


def _runs(told: Told, width: int) -> list[list[Text]]:
    """A line for each run: its id, experiment, verdict and items."""
    runs: list[tuple[Told, Told | None]] = [(told["reference"], None)]
    lines = []
    for run, items in [*runs, *((one["run"], one["items"]) for one in told["candidates"])]:
        part = f" ({run['part']})" if run["part"] else ""
        shared = "reference" if items is None else f"{items['n_shared']} shared"
        items_of = f"{run['n_items']} items of {run['dataset']}{part}, {shared}"
        said = f"  {run['run_id']}  {run['experiment']}: {run['verdict']}, {items_of}"
        lines.append(hanging(Text().append(run["label"], style="bold").append(said), width, 2 * len(GAP)))
    return lines


def _differences(told: Told) -> list[str]:
    """A line for each field that differs: both values, and what they make incomparable."""
    lines, ours = [], told["reference"]["label"]
    for candidate in told["candidates"]:
        whose = f" (in {candidate['run']['label']})" if len(told["candidates"]) > 1 else ""
        for one in difference_lines(candidate):
            differ = (one.reference, one.candidate) != ("", "")
            values = f": {one.reference} in {ours}, {one.candidate} in {candidate['run']['label']}" if differ else ""
            lines.append(f"differs{whose}: {one.field}{values}; makes incomparable: {one.figures} ({one.why})")
    return lines


def _apart(told: Told) -> list[str]:
    """What could not be compared, and why."""
    lines = []
    for candidate in told["candidates"]:
        of = f" in {candidate['run']['label']}" if len(told["candidates"]) > 1 else ""
        lines += [f"not compared{of}: {what}: {why}" for what, why in not_compared_lines(told, candidate)]
    return lines


def _compared(told: Told, width: int) -> Part:
    """What differs or may differ, worst first, aligned where that fits."""
    found = [pair for pair in figures_of(told, "compared") if pair[1]["delta"]["conclusion"] != "identical"]
    found.sort(key=lambda pair: ORDER.index(pair[1]["delta"]["conclusion"]))
    several = len(told["candidates"]) > 1
    if not found:
        return Part("compared figures", [], 0)
    rows = [_row(candidate, one, several) for candidate, one in found]
    other = "run" if several else told["candidates"][0]["run"]["label"]
    values = (f"in {told['reference']['label']}", f"in {other}", "difference", "n", "Holm")
    heads = [*(["run"] if several else []), "figure", "arm", *values, "shown"]
    right = range(len(heads) - 6, len(heads) - 1)
    widths = [widest(column) for column in zip(heads, *rows, strict=True)]
    if sum(widths) + len(GAP) * (len(widths) - 1) > width:
        return Part("compared figures", [hanging(_sentence(told, *pair), width, 2 * len(GAP)) for pair in found], 4)
    lines = []
    for row in (heads, *rows):
        cells = (padded(*cell, right=place in right) for place, cell in enumerate(zip(row, widths, strict=True)))
        lines.append(Text(GAP.join(cells).rstrip()))
    for line, (_, one), row in zip(lines[1:], found, rows, strict=True):
        line.stylize(SHOWN.get(one["delta"]["conclusion"], ""), len(line) - len(row[-1]))
    lines[0].stylize("bold")
    return Part("compared figures", [[line] for line in lines[1:]], 4, lines[0])


def _row(candidate: Told, one: Told, several: bool) -> Sequence[str]:
    """Whose, figure, arm, both values, the difference, pairs, the p-value after Holm, and what is shown."""
    reference, value, difference, _, adjusted, pairs, _ = numbers(one)
    run = [candidate["run"]["label"]] if several else []
    return [
        *run,
        one["figure"],
        arms_in_words(one["arms"]),
        reference,
        value,
        difference,
        pairs,
        adjusted,
        conclusion(one),
    ]


def _sentence(told: Told, candidate: Told, one: Told) -> Text:
    """One figure in words."""
    reference, value, difference, _, adjusted, pairs, _ = numbers(one)
    label = candidate["run"]["label"]
    line = Text(f"{one['figure']} of {arms_in_words(one['arms'])}: ")
    line.append(conclusion(one), style=SHOWN.get(one["delta"]["conclusion"], ""))
    values = f"{told['reference']['label']} {reference}, {label} {value}"
    return line.append(
        f"; {values}, {difference}, n={pairs}, p{'' if adjusted.startswith('<') else '='}{adjusted} after Holm"
    )


def _identical(told: Told) -> list[str]:
    """Figures that are the same on every pair, a line for each candidate and figure."""
    lines = []
    for candidate in told["candidates"]:
        found: dict[str, list[str]] = {}
        for whose, one in figures_of(told, "compared"):
            if whose is candidate and one["delta"]["conclusion"] == "identical":
                found.setdefault(one["figure"], []).append(arms_in_words(one["arms"]))
        of = f" in {candidate['run']['label']}" if len(told["candidates"]) > 1 else ""
        lines += [f"identical on every pair{of}: {figure} of {few(arms)}" for figure, arms in found.items()]
    return lines
