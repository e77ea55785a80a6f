"""Which curves a sweep has: over which axes, of which figures, and what each point claims."""

from __future__ import annotations

from typing import Any

import pytest

from evalflow.report.html.curve import MOST_CURVES, MOST_PLOTS, curves_over, numbers
from tests.report.html.swept import figure, jobs, report, steps


def over(told: list[dict[str, Any]], reports: dict[int, Any]) -> list[Any]:
    axes: dict[str, list[str]] = {}
    for one in told:
        for axis, value in one["swept"].items():
            axes[axis] = list(dict.fromkeys([*axes.get(axis, ()), value]))
    return curves_over(told, axes, reports)


def load(p50: float | None, **more: Any) -> dict[str, Any]:
    return report(
        {
            "quality/exact": figure(0.5),
            "lat/e2e_s/p50": figure(2 * (p50 or 1), unit="s"),
            "lat/ttft_s/p99": figure(9.0, unit="s"),
            "lat/ttft_s/p95": figure(p50 and 3 * p50, unit="s"),
            "lat/ttft_s/p50": figure(p50, 0.1, unit="s", **more),
            "n/coverage": figure(1.0),
            "tps/system": figure(100.0, unit="tokens/s"),
        }
    )


def test_throughput_comes_first_and_percentiles_share_a_plot() -> None:
    """Over concurrency: throughput, TTFT, end to end, then quality; p99 and counts are not drawn."""
    told = jobs(concurrency=["1", "8"])
    (found,) = over(told, {0: load(0.1), 1: load(0.4)})
    assert found.axis == "concurrency"
    assert [one.name for one in found.families] == ["tps/system", "lat/ttft_s", "lat/e2e_s", "quality/exact"]
    ttft = found.families[1]
    assert [curve.label for curve in ttft.curves] == ["long p95", "long p50"]
    assert [(point.x, point.mean, point.low, point.over) for point in ttft.curves[1].points] == [
        (1.0, 0.1, 0.0, 1),
        (8.0, 0.4, pytest.approx(0.3), 1),
    ]


def test_over_training_steps_quality_alone_is_drawn() -> None:
    """In the order of the steps, whatever that of the jobs."""
    told = jobs(step=["300", "20"])
    (found,) = over(told, {0: load(0.1), 1: load(0.2)})
    assert [one.name for one in found.families] == ["quality/exact"]
    assert [point.x for point in found.families[0].curves[0].points] == [20.0, 300.0]


def test_a_point_is_a_mean_over_seeds_and_keeps_each_jobs_own() -> None:
    """Two seeds at 0.2 and 0.4: the mean is 0.3, its t interval 0.3 -+ 12.7062 * 0.1, cut at 0 and 1."""
    told = jobs(seed=["0", "1"], step=["1", "2"])
    values = {0: 0.2, 1: 0.5, 2: 0.4, 3: 0.5}
    (found,) = over(told, {n: report({"quality/exact": figure(v, 0.05)}) for n, v in values.items()})
    first, second = found.families[0].curves[0].points
    assert (first.mean, first.low, first.high, first.over) == (pytest.approx(0.3), 0.0, 1.0, 2)
    assert [(own.job, own.value, own.low) for own in first.own] == [
        (0, 0.2, pytest.approx(0.15)),
        (2, 0.4, pytest.approx(0.35)),
    ]
    assert (second.mean, second.low, second.over) == (0.5, None, 2)


def test_what_cannot_be_read_is_said_and_not_drawn_as_if_it_were() -> None:
    """A saturated driver, a time over two sessions, a job without a report: no mean, and the reason."""
    told = jobs(concurrency=["1", "2", "4", "8", "16"])
    (found,) = over(told, {0: load(0.1), 1: load(None), 2: load(0.3, n_sessions=2), 4: load(0.5)})
    p95, p50 = found.families[1].curves
    assert [point.mean for point in p50.points] == [0.1, None, None, None, 0.5]
    said = ["", "the driver was saturated", "taken in 2 sessions", "the job has no report", ""]
    assert [point.missed for point in p50.points] == said
    assert [point.mean for point in p95.points][2] == pytest.approx(0.9)


def test_of_two_seeds_the_one_that_can_be_read_counts_and_the_other_is_named() -> None:
    """The mean is over one, and says that one of two is missing."""
    told = jobs(seed=["0", "1"], concurrency=["1", "2"])
    (found,) = over(told, {0: load(0.1), 1: load(0.2), 2: load(None), 3: load(0.4)})
    point = found.families[1].curves[1].points[0]
    assert (point.mean, point.over, point.missed) == (0.1, 1, "1 of 2 jobs: the driver was saturated")


def test_a_curve_without_a_number_is_named_with_its_reason() -> None:
    """And the plot is there for the others."""
    told = jobs(concurrency=["1", "2"])
    none = figure(None, reason="p95 needs 20 rows", unit="s")
    reports = {n: report({"lat/ttft_s/p50": figure(0.1 * (n + 1), unit="s"), "lat/ttft_s/p95": none}) for n in (0, 1)}
    (found,) = over(told, reports)
    (family,) = found.families
    assert [curve.label for curve in family.curves] == ["long p50"]
    assert family.not_drawn == {"long p95": "p95 needs 20 rows"}


def test_one_place_is_no_curve_and_what_is_judged_by_is_no_axis() -> None:
    """Of two places one cannot be read; a gate's threshold changes no figure."""
    told = jobs(concurrency=["1", "2"])
    (found,) = over(told, {0: load(0.1), 1: load(None)})
    assert [one.name for one in found.families] == ["tps/system", "lat/e2e_s", "quality/exact"]
    assert found.unreadable == {"lat/ttft_s": "it can be read at one place alone"}
    assert over(jobs(**{"gates.floor.floor": ["0.1", "0.2"]}), {0: load(0.1), 1: load(0.2)}) == []


def test_percentiles_of_many_settings_have_plots_of_their_own() -> None:
    """Of four settings, the two percentiles would be eight curves."""
    told = jobs(concurrency=["1", "2"], model=list("abcd"))
    (found,) = over(told, {n: load(0.1 + n) for n in range(8)})
    names = ["lat/ttft_s/p95", "lat/ttft_s/p50", "lat/e2e_s/p50"]
    assert [one.name for one in found.families if one.name.startswith("lat/")] == names
    assert found.families[2].curves[0].label == "long model=a"


def test_the_same_numbers_are_drawn_once() -> None:
    """A TTFT with the failures in is the plain one where nothing failed."""
    told = jobs(concurrency=["1", "2"])
    names = ("lat/ttft_s/p50", "lat/ttft_adjusted_s/p50")
    reports = {n: report(dict.fromkeys(names, figure(0.1 * (n + 1), unit="s"))) for n in (0, 1)}
    (found,) = over(told, reports)
    assert [one.name for one in found.families] == ["lat/ttft_s"]
    assert found.same == {"lat/ttft_adjusted_s": "lat/ttft_s"}


def test_other_axes_give_curves_of_their_own_and_each_axis_of_numbers_is_drawn_over() -> None:
    """Concurrency under two temperatures, and temperature under two concurrencies; never over seeds or words."""
    told = jobs(**{"concurrency": ["1", "6"], "arms.x.temperature": ["0.5", "1"], "seed": ["0"], "model": ["a"]})
    first, second = over(told, {n: report({"quality/exact": figure(0.1 * n)}) for n in range(4)})
    assert (first.axis, second.axis) == ("concurrency", "arms.x.temperature")
    labels = [curve.label for curve in first.families[0].curves]
    assert labels == ["long temperature=0.5 model=a", "long temperature=1 model=a"]
    assert [point.mean for point in first.families[0].curves[1].points] == [0.1, pytest.approx(0.3)]


def test_what_is_too_much_is_named() -> None:
    """So many plots of an axis, and so many curves of a plot."""
    told = jobs(concurrency=["1", "2"])
    many = {f"quality/{n:02}": figure(n / 100) for n in range(MOST_PLOTS + 2)}
    arms = {f"arm{n:02}": {"figures": {"quality/exact": figure(n / 100)}} for n in range(MOST_CURVES + 1)}
    arms = {name: {"conditions": {"greedy": True}, **one} for name, one in arms.items()}
    (found,) = over(told, {n: report(many) for n in (0, 1)})
    assert len(found.families) == MOST_PLOTS
    assert found.left_out == ("quality/12", "quality/13")
    (found,) = over(told, {n: report({}, arms=arms) for n in (0, 1)})
    (family,) = found.families
    assert len(family.curves) == MOST_CURVES
    assert family.not_drawn == {"arm12": "too many curves for one plot"}


def test_lower_is_better_where_the_metric_says_so() -> None:
    """An error rate is best where it is least."""
    told, _ = steps({"1": 0.1, "2": 0.2})
    both = {"quality/exact": figure(0.5), "quality/cer": figure(0.1)}
    (found,) = over(told, {n: report(both) for n in (0, 1)})
    assert {one.name: one.higher_is_better for one in found.families} == {"quality/exact": True, "quality/cer": False}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["1", "2.5"], [1.0, 2.5]),
        (["1e-3", "-4"], [0.001, -4.0]),
        (["1"], None),
        (["1", "1.0"], None),
        (["1", "many"], None),
        (["1", "nan"], None),
        (["1", "inf"], None),
        (["1_0", "2"], None),
        (["true", "false"], None),
    ],
)
def test_an_axis_of_numbers_has_two_at_least(values: list[str], found: list[float] | None) -> None:
    """Finite ones, each written as a number."""
    assert numbers(values) == found
