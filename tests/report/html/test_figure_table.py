"""Figures side by side: value, interval and count of every arm, or why there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalflow.report.html.arms import arms_of
from evalflow.report.html.figure_table import Cell, broken_down, groups, line
from evalflow.report.html.page import page
from tests.report.by_hand import ARMS, made
from tests.report.html.reading import lines_of, page_of


def figure(value: float | None, **more: Any) -> dict[str, Any]:
    counts = {"n_total": 10, "n_scored": 10, "n_excluded": 0, "n_error": 0, "n_sessions": None, "metric_version": 1}
    empty = {"unit": "", "low": None, "high": None, "level": None, "method": None}
    return {"value": value, "reason": None if value is not None else "no rows", **empty, **counts, **more}


def arms(*figures: dict[str, Any] | None) -> dict[str, Any]:
    return {f"arm{i}": {"figures": {} if one is None else {"g/f": one}} for i, one in enumerate(figures)}


def test_a_line_has_a_cell_per_arm():
    """Written alike, with the interval, the count, and what the intervals are."""
    one = figure(0.5, low=0.25, high=0.75, level=0.95, method="wilson", unit="share")
    two = figure(1.0, low=0.5, high=1.0, level=0.95, method="wilson", unit="share", n_scored=8)
    found = line(arms(one, two), "g/f")
    assert (found.unit, found.method) == ("share", "95 % wilson")
    assert found.cells == (Cell("0.500", "[0.250, 0.750]", "10"), Cell("1.000", "[0.500, 1.000]", "8", ("2 missing",)))


def test_intervals_of_several_kinds_are_not_called_one():
    """Where two arms' were made differently, the line names neither."""
    one, two = (figure(0.5, low=0.2, high=0.8, level=0.95, method=method) for method in ("t", "wilson"))
    assert line(arms(one, two), "g/f").method == ""


def test_an_undefined_figure_says_why():
    """With the count of what was scored; a figure that an arm does not have says nothing."""
    found = line(arms(figure(None, reason="one seed"), None), "g/f")
    assert found.cells == (Cell(n="10", why="one seed"), Cell())


def test_times_of_several_sessions_are_marked():
    """They are no one measurement."""
    assert line(arms(figure(0.25, unit="s", n_sessions=2)), "g/f").cells[0].marks == ("2 sessions",)


def test_times_are_told_in_milliseconds():
    """And their intervals too."""
    found = line(arms(figure(0.0255, unit="s", low=0.0125, high=0.05, level=0.95, method="m")), "g/f")
    assert (found.unit, found.cells[0].value, found.cells[0].interval) == ("ms", "25.50", "[12.50, 50.00]")


def test_quality_comes_first_and_health_last():
    """Other groups between them, known ones in their order, unknown ones before the last."""
    names = ("n/coverage", "odd/one", "lat/e2e_s/p50", "quality/exact", "parity/kl_nats")
    report = {"arms": {"a": {"figures": {name: figure(1.0) for name in names}}}}
    assert [group.title for group in groups(report)] == [
        "Quality",
        "Parity with the reference",
        "Latency",
        "odd",
        "Health",
    ]


def test_the_page_shows_arms_side_by_side(tmp_path: Path):
    """A column each, the conditions that differ above the figures, a control marked."""
    table = page_of(tmp_path).one("section", id="arms").one("table")
    assert [head.text for head in table.every("th", kind="arm")] == ["base", "new", "bad control, there to fail"]
    found = lines_of(table)
    assert found["decoding.temperature"] == ["0", "1", "0"]
    assert found["seeds"] == ["0", "0, 1", "0"]
    assert found["quality/exact share, 95 % wilson, clustered"] == [
        "0.333 n 3 1 missing",  # of two clusters, of which one has one row, an interval would say nothing
        "0.875 [0.264, 0.993] n 8",
        "0 [0, 0.658] n 4",
    ]
    assert found["stability/seed_sd"][0] == "undefined: one seed n 3"


def test_a_digest_does_not_widen_a_column(tmp_path: Path):
    """Eight of its digits stand there and the whole of it when it is pointed at; what is short has no more."""
    report, _ = made(tmp_path, arms=ARMS)
    digests = {name: letter * 64 for name, letter in zip(report["arms"], "abc", strict=True)}
    for name, told in report["arms"].items():
        told["conditions"]["model"]["table"] = f"sha256 {digests[name]}"
    found = {one.key: one.values for one in arms_of(report, False).differing}
    assert [(one.text, one.whole) for one in found["model.table"]] == [
        (f"sha256 {digest[:8]}", f"sha256 {digest}") for digest in digests.values()
    ]
    assert {one.whole for one in found["seeds"]} == {""}
    assert f'title="sha256 {"a" * 64}"' in page(report, [], [])


def test_what_an_arms_head_says_is_not_said_in_every_cell(tmp_path: Path):
    """An arm held against no reference, or that could not run, says so once; a screen reader hears it in each cell."""
    report, _ = made(tmp_path, arms=ARMS)
    for name, told in report["arms"]["base"]["figures"].items():
        if name.startswith("quality/"):
            told.update(value=None, low=None, high=None, reason="the arm has no reference")
    report["arms"]["bad"]["unavailable"] = "no such file"
    heads = {head.name: head.remarks for head in arms_of(report, False).heads}
    assert heads["base"] == ("held against no reference",)
    assert heads["bad"] == ("control, there to fail", "unavailable: no such file")
    (quality,) = groups(report)[0].lines
    assert (quality.cells[0].brief, quality.cells[0].why) == (True, "the arm has no reference")


def test_kinds_are_told_with_what_their_numbers_are_of(tmp_path: Path):
    """A line per kind, of quality and what else has a value; what is undefined for every kind is left out."""
    report, _ = made(tmp_path)
    quality, stability = broken_down(report)  # no time has a value, memory is not by kind
    assert (quality.title, stability.title) == ("Quality", "Stability")
    (exact,) = quality.breakdowns
    assert (exact.name, exact.of, exact.n_left_out) == ("quality/exact", "share, 95 % wilson", 0)
    assert [one.name for one in exact.lines] == ["x", "y"]
    assert [[cell.value for cell in one.cells] for one in exact.lines] == [["0.500", "0.750", "0"], ["0", "1.000", "0"]]


def test_many_kinds_are_cut_and_counted(tmp_path: Path):
    """Forty are shown."""
    report, _ = made(tmp_path)
    told = report["arms"]["base"]["breakdown"]["kind=x"]
    report["arms"]["base"]["breakdown"] = {f"kind={n}": told for n in range(1000)}
    quality = broken_down(report)[0]
    assert [(len(one.lines), one.n_left_out) for one in quality.breakdowns] == [(40, 962)]
