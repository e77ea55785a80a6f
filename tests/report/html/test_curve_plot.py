"""Curves as they are drawn: where the places of an axis lie, what is marked, and what the caption says."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from evalflow.report.html.curve import Family, curves_over
from evalflow.report.html.curve_plot import Along, Drawn, are_octaves, drawn
from tests.report.html.swept import figure, jobs, report, steps


def family(told: list[dict[str, Any]], reports: dict[int, Any]) -> Family:
    """The only plot of a sweep over its one axis of numbers."""
    axes: dict[str, list[str]] = {}
    for one in told:
        for axis, value in one["swept"].items():
            axes[axis] = list(dict.fromkeys([*axes.get(axis, ()), value]))
    (over,) = curves_over(told, axes, reports)
    return over.families[0]


def parts(made: Drawn) -> list[str]:
    """What is drawn, each as often as it is marked: the marks of a curve, the bars of intervals."""
    root = ElementTree.fromstring(made.plot.svg)
    found = []
    for one in root.iter():
        name = one.attrib.get("class", "").removeprefix("is-")
        marks = list(one.iter("path")) if name == "interval" else list(one.iter("use"))
        found += [name] * len(marks) * (name != one.attrib.get("class", ""))
    return found


@pytest.mark.parametrize(
    ("values", "octaves"),
    [
        ([1, 2, 4, 8], True),
        ([1, 6, 32], True),
        ([150, 300, 550, 1000, 1500], True),
        ([500, 1000, 1500, 2000], False),
        ([0, 1, 2, 4], False),
        ([-2, 1, 4], False),
        ([1, 64], False),
        ([0.1, 0.2, 0.3], False),
    ],
)
def test_an_axis_is_of_octaves_where_they_are_the_more_even(values: list[float], octaves: bool) -> None:
    """Doubling loads are, equal steps are not; two places say neither, and 0 has no octave."""
    assert are_octaves(values) is octaves


def test_places_lie_from_nought_to_one() -> None:
    """1, 2, 8 and 32 at 0, 1/5, 3/5 and 1; of a hundred steps some ten are written, the first among them."""
    along = Along((1.0, 2.0, 8.0, 32.0), True)
    assert [along.at(x) for x in along.xs] == pytest.approx([0, 0.2, 0.6, 1])
    assert along.ticks() == [1, 2, 8, 32]
    crowded = Along(tuple(map(float, range(100))), False).ticks()
    assert crowded[:3] == [0, 9, 18] and len(crowded) == 12


def test_every_job_and_what_is_missing_is_marked() -> None:
    """Three seeds at two places, one number of which cannot be read: a band, dots, bars, a cross."""
    told = jobs(seed=["0", "1", "2"], concurrency=["1", "2"])
    values = [0.1, 0.2, 0.12, 0.22, 0.11, None]
    made = drawn(family(told, {n: report({"quality/exact": figure(v, 0.01)}) for n, v in enumerate(values)}), "c", "0")
    found = parts(made)
    assert [found.count(name) for name in ("curve", "interval", "job", "unreadable", "best")] == [2, 5, 5, 1, 0]
    assert "1 of 3 jobs: the driver was saturated" in made.rows[0].cells[1].marks


def test_two_seeds_have_no_band_and_their_interval_in_the_numbers() -> None:
    """An interval of one degree of freedom would hide all that was measured: 0.11 -+ 12.7062 * 0.01."""
    told = jobs(seed=["0", "1"], concurrency=["1", "2"])
    values = [0.10, 0.2, 0.12, 0.2]
    made = drawn(family(told, {n: report({"quality/exact": figure(v)}) for n, v in enumerate(values)}), "c", "0")
    first, second = made.rows[0].cells
    assert (first.value, first.interval, first.n) == ("0.110", "[0, 0.237]", "2")
    assert (second.value, second.interval) == ("0.200", "")
    assert made.places == ("1", "2")


def test_the_caption_says_every_number() -> None:
    """Whoever cannot see the plot hears it."""
    made = drawn(family(*steps({"150": 0.25, "300": None, "1500": 0.75})), "step", "0")
    assert made.plot.caption == (
        "quality/exact (share) over step, with intervals. "
        "long 150: 0.250 [0.150, 0.350], 300: the driver was saturated, 1500: 0.750 [0.650, 0.850]"
    )
    assert made.plot.caption in ElementTree.fromstring(made.plot.svg).attrib["aria-label"]


def test_over_steps_the_best_is_ringed_and_told() -> None:
    """And over anything else it is not."""
    told, reports = steps({"150": 0.25, "1500": 0.75})
    made = drawn(family(told, reports), "step", "0")
    assert parts(made).count("best") == 1
    assert made.told == ("long: best at step 1,500, 0.750 [0.650, 0.850], picked from 2",)
    elsewhere = drawn(family(told, reports), "concurrency", "0")
    assert (parts(elsewhere).count("best"), elsewhere.told) == (0, ())


def test_times_are_in_ms_and_far_apart_ones_are_drawn_all_the_same() -> None:
    """From 1 ms to 2 s: the numbers are those of the report."""
    told = jobs(concurrency=["1", "2", "4"])
    reports = {n: report({"lat/ttft_s/p50": figure(v, unit="s")}) for n, v in enumerate((0.001, 0.05, 2.0))}
    made = drawn(family(told, reports), "concurrency", "0")
    assert (made.unit, [cell.value for cell in made.rows[0].cells]) == ("ms", ["1", "50", "2,000"])


@pytest.mark.parametrize("value", [0.0, 1.0, -3.5, 1e-12, 1e12])
def test_a_flat_curve_is_drawn(value: float) -> None:
    """Whatever its one number is."""
    told = jobs(concurrency=["1", "2"])
    one = figure(value, unit="points")
    assert "curve" in parts(drawn(family(told, {n: report({"quality/x": one}) for n in (0, 1)}), "c", "0"))


def test_a_very_long_sweep_is_drawn_without_its_single_jobs() -> None:
    """Of five hundred jobs the means alone, and no table of a hundred columns beside the plot."""
    told = jobs(concurrency=[str(n) for n in range(1, 101)], seed=list("01234"))
    made = drawn(family(told, {n: report({"quality/exact": figure((n % 97) / 97)}) for n in range(500)}), "c", "0")
    assert (parts(made).count("curve"), parts(made).count("job"), made.places) == (100, 0, ())
