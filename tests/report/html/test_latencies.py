"""Times of single requests: the share done by when, and the figures marked on it."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from evalflow.record import Row
from evalflow.report.html.latencies import MOST_POINTS, _steps, latencies


def row(arm: str, *stats: float, key: str = "ttft") -> Row:
    return Row("r", "s", arm, 0, "a", "ok", "", "", stats={key: stats or None})


def report(*arms: str, figures: dict[str, Any] | None = None, **metrics: Any) -> dict[str, Any]:
    known = {"lat/ttft_s/p50": {"value": 0.02, "reason": None}, "lat/ttft_s/p95": {"value": 0.04, "reason": None}}
    ttft = {"figure": "lat/ttft_s", "grain": "row", "unit": "s"}
    return {
        "arms": {name: {"figures": known if figures is None else figures} for name in arms},
        "asked": {"metrics": {"ttft": ttft, **metrics}},
    }


def parts(svg: str, part: str) -> list[ElementTree.Element]:
    return [group for group in ElementTree.fromstring(svg).iter("g") if group.attrib.get("class") == f"is-{part}"]


def test_each_arm_has_a_curve_and_its_marks():
    """Cold and warm on one plot, each named; p50 and p95 as the figures say, no p99 that nobody measured."""
    rows = [row("cold", 0.01 * n) for n in range(1, 6)] + [row("warm", 0.002 * n) for n in range(1, 6)]
    (one,) = latencies(report("cold", "warm"), rows)
    assert one.plot is not None
    assert [len(parts(one.plot.svg, part)) for part in ("curve", "p50", "p95", "p99")] == [2, 2, 2, 0]
    texts = {text.text for text in ElementTree.fromstring(one.plot.svg).iter("text")}
    assert {"cold", "warm", "p50", "p95", "p99", "lat/ttft (ms)"} <= texts
    assert "cold: 5 requests, p50 20 ms, p95 40 ms; warm: 5 requests" in one.plot.caption


def test_the_marks_lie_on_the_levels_of_their_percentiles():
    """p50 at half, p95 above it; p95 to the right of p50."""
    (one,) = latencies(report("cold"), [row("cold", 0.001 * n) for n in range(1, 101)])
    assert one.plot is not None
    marks = {part: parts(one.plot.svg, part)[0].find(".//use").attrib for part in ("p50", "p95")}  # type: ignore[union-attr]
    height = {part: float(mark["y"]) for part, mark in marks.items()}
    curve = parts(one.plot.svg, "curve")[0].find(".//path").attrib["d"]  # type: ignore[union-attr]
    levels = [float(pair.split()[1]) for pair in re.findall(r"[ML] (\S+ \S+)", curve)]
    bottom, top = max(levels), min(levels)
    assert (bottom - height["p50"]) / (bottom - top) == pytest.approx(0.5, abs=0.01)
    assert (bottom - height["p95"]) / (bottom - top) == pytest.approx(0.95, abs=0.01)
    assert float(marks["p95"]["x"]) > float(marks["p50"]["x"])


def test_the_curve_is_the_distribution_function():
    """It begins at 0, rises by 1/n at each time, and ends at 1; of many times some are drawn, the ends among them."""
    taken, share = _steps(np.array([1.0, 2.0, 4.0, 8.0]))
    assert taken.tolist() == [1, 1, 2, 4, 8]
    assert share.tolist() == [0, 0.25, 0.5, 0.75, 1.0]
    many = np.arange(1.0, 10_001.0)
    taken, share = _steps(many)
    assert len(taken) == MOST_POINTS + 1
    assert (taken[1], taken[-1], share[-1]) == (1.0, 10_000.0, 1.0)
    assert np.allclose(share[1:], taken[1:] / 10_000)


def test_times_that_cannot_be_read_are_not_drawn():
    """Where no figure of an arm's times has a value, the page says why in place of a curve."""
    told = report("cold", "warm")
    told["arms"]["warm"] = {"figures": {"lat/ttft_s/p50": {"value": None, "reason": "the driver was saturated"}}}
    (one,) = latencies(told, [row("cold", 0.1), row("warm", 0.1)])
    assert one.plot is not None and len(parts(one.plot.svg, "curve")) == 1
    assert one.not_drawn == {"warm": "the driver was saturated"}


def test_a_percentile_that_too_few_rows_have_is_no_reason_to_draw_nothing():
    """p95 of three rows is undefined, p50 is not."""
    known = {
        "lat/ttft_s/p50": {"value": 0.02, "reason": None},
        "lat/ttft_s/p95": {"value": None, "reason": "p95 needs n >= 20, has 3"},
    }
    (one,) = latencies(report("cold", figures=known), [row("cold", 0.01), row("cold", 0.02), row("cold", 0.03)])
    assert one.plot is not None
    assert [len(parts(one.plot.svg, part)) for part in ("curve", "p50", "p95")] == [1, 1, 0]


def test_times_are_drawn_once():
    """Two metrics of the same times, as where nothing comes before the first visible token, are one plot."""
    told = report("cold", visible={"figure": "lat/first_visible_s", "grain": "row", "unit": "s"})
    rows = [Row("r", "s", "cold", 0, "a", "ok", "", "", stats={"ttft": (0.1,), "visible": (0.1,)})]
    first, second = latencies(told, rows)
    assert first.plot is not None
    assert (second.plot, second.same_as) == (None, "lat/ttft_s")


@pytest.mark.parametrize(
    "metric",
    [
        {"figure": "tps/output", "grain": "row", "unit": "tokens/s"},
        {"figure": "lat/fixed_ttft_s", "grain": "probe", "unit": "s"},
        {"figure": "quality/exact", "grain": "row", "unit": "share"},
    ],
)
def test_what_is_no_time_of_single_requests_is_not_drawn(metric: dict[str, Any]):
    """Nor a time of which a request has none."""
    told = report("cold")
    told["asked"]["metrics"] = {"other": metric}
    assert latencies(told, [row("cold", 0.1, key="other")]) == []


def test_failed_requests_have_no_time():
    """Rows without a time are left out, and so are statistics that hold more than a time."""
    assert latencies(report("cold"), [row("cold"), row("cold", 86_400.0, 1.0)]) == []


def test_names_are_text():
    """Of figures and arms, whatever they hold, in the drawing and in the caption."""
    told = report("a\0\ud800<b>", figures={})
    told["asked"]["metrics"]["ttft"]["figure"] = "lat/\0\ud800<b>"
    (one,) = latencies(told, [row("a\0\ud800<b>", 0.1), row("a\0\ud800<b>", 0.2)])
    assert one.plot is not None
    one.plot.svg.encode("utf-8")
    assert "lat/‹U+0000›‹U+D800›<b>" in one.plot.caption


def test_many_arms_are_drawn_as_far_as_they_can_be_told_apart():
    """The rest is named."""
    names = [f"arm{n}" for n in range(14)]
    (one,) = latencies(report(*names), [row(name, 0.01 * (n + 1)) for n, name in enumerate(names)])
    assert one.plot is not None and len(parts(one.plot.svg, "curve")) == 12
    assert one.not_drawn == dict.fromkeys(("arm12", "arm13"), "too many arms for one plot")


def test_times_far_apart_are_drawn_on_a_logarithmic_scale():
    """From 1 ms to 10 s."""
    (one,) = latencies(report("cold"), [row("cold", 0.001), row("cold", 0.1), row("cold", 10.0)])
    assert one.plot is not None
    texts = {text.text for text in ElementTree.fromstring(one.plot.svg).iter("text")}
    assert {"10", "100", "1000"} <= texts
