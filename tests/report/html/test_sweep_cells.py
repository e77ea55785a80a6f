"""The grid of a sweep on its page: what stands across, how many tables there are, and what is in a cell."""

from __future__ import annotations

from typing import Any

import pytest

from evalflow.report.html.sweep_cells import MOST_CELLS, SweepGrid, across_of, grid_of_page
from tests.report.html.swept import figure, jobs, report, summary


def grid(told: list[dict[str, Any]], reports: dict[int, Any]) -> SweepGrid:
    found = grid_of_page(summary(told, reports), reports)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("axes", "across"),
    [
        ({"seed": 2, "temperature": 2, "concurrency": 2}, "concurrency"),
        ({"arms.x.concurrency": 2, "step": 3}, "arms.x.concurrency"),
        ({"model": 2, "step": 3}, "step"),
        ({"model": 2, "rate": 2}, "rate"),
        ({"seed": 2}, ""),
        ({}, ""),
        ({"concurrency": 1, "rate": 2}, "rate"),
        ({"concurrency": 1}, "concurrency"),
    ],
)
def test_one_axis_stands_across(axes: dict[str, int], across: str) -> None:
    """Concurrency or the training step, else the first of numbers, never the seed; one value is not swept."""
    values = {name: ["a", "b"] if name == "model" else [str(n) for n in range(many)] for name, many in axes.items()}
    assert across_of(values) == across


def test_a_cell_is_a_mean_with_what_each_seed_gave() -> None:
    """0.2 and 0.4, and 0.9 alone: dots lie between the least and the largest of the line."""
    told = jobs(concurrency=["1", "6"], seed=["0", "1"])
    values = [0.2, 0.4, 0.9, None]
    found = grid(told, {n: report({"quality/exact": figure(v)}) for n, v in enumerate(values)})
    (block,) = found.blocks
    assert (block.across, block.heads, block.groups[0].title) == ("concurrency", ("1", "6"), "long")
    (line,) = block.groups[0].lines
    first, second = line.cells
    assert (first.cell.value, first.cell.interval, first.cell.n) == ("0.300", "[0, 1.000]", "2")
    assert [(dot.at, dot.told) for dot in first.dots] == [("3.0", "job 0: 0.200"), ("29.9", "job 1: 0.400")]
    assert (second.cell.value, second.cell.marks) == ("0.900", ("1 of 2 undefined: the driver was saturated",))
    assert found.several and found.has_dots


def test_other_axes_are_blocks_and_wide_ones_are_broken() -> None:
    """Two models by nine levels: two tables of five and four columns each."""
    levels = [str(n) for n in range(1, 10)]
    told = jobs(model=["a", "b"], concurrency=levels)
    found = grid(told, {n: report({"quality/exact": figure(n / 100)}) for n in range(18)})
    assert [(block.title, len(block.heads)) for block in found.blocks] == [
        ("model=a", 5),
        ("model=a", 4),
        ("model=b", 5),
        ("model=b", 4),
    ]
    assert found.blocks[3].groups[0].lines[0].cells[-1].cell.value == "0.170"
    assert not found.several and not found.has_dots


def test_without_another_axis_there_is_one_column() -> None:
    """Over seeds alone, and of a sweep of one job."""
    found = grid(jobs(seed=["0", "1"]), {n: report({"quality/exact": figure(0.5)}) for n in (0, 1)})
    assert [block.heads for block in found.blocks] == [("every job",)]
    (cell,) = found.blocks[0].groups[0].lines[0].cells
    assert (cell.cell.value, cell.cell.marks, cell.dots) == ("0.500", ("no variation",), ())
    assert grid(jobs(), {0: report({"quality/exact": figure(0.5)})}).blocks[0].heads == ("every job",)


def test_comparisons_are_groups_of_their_own() -> None:
    """A delta is marked as one."""
    delta = {"delta": -0.1, "low": None, "high": None, "method": None, "unpaired": [], "reason": None, "n_sessions": 1}
    both = report({"quality/exact": figure(0.5)}, comparisons={"new_vs_old": {"quality/exact": delta}})
    groups = grid(jobs(seed=["0", "1"]), {0: both, 1: both}).blocks[0].groups
    assert [(group.title, group.lines[0].name) for group in groups] == [
        ("long", "quality/exact"),
        ("new_vs_old", "Δ quality/exact"),
    ]
    assert groups[1].lines[0].cells[0].cell.value == "−0.100"


def test_without_the_reports_the_means_are_still_there() -> None:
    """They are the summary's; what single jobs gave is not known any more."""
    told = jobs(seed=["0", "1"])
    reports = {n: report({"quality/exact": figure(0.2 * n)}) for n in (0, 1)}
    found = grid_of_page(summary(told, reports), {})
    assert found is not None
    (cell,) = found.blocks[0].groups[0].lines[0].cells
    assert (cell.cell.value, cell.dots) == ("0.100", ())


def test_lines_that_are_too_many_are_counted() -> None:
    """So many cells, whatever their shape; no job with a figure, no grid."""
    many = {f"quality/{n:04}": figure(0.5) for n in range(MOST_CELLS)}
    told = jobs(concurrency=["1", "2"])
    found = grid(told, {n: report(many) for n in (0, 1)})
    assert (len(found.blocks[0].groups[0].lines), found.n_left_out) == (MOST_CELLS // 2, MOST_CELLS // 2)
    assert grid_of_page(summary(told, {}), {}) is None
