"""Differences: on which side of zero they lie, which side is better, and what is told of them."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree

import pytest

from evalflow.record import Delta
from evalflow.report.html.deltas import Deltas, deltas_of
from evalflow.report.html.plot import Plot

Point = tuple[float, float]


def delta(value: float | None, low: float | None = None, high: float | None = None, **more: Any) -> dict[str, Any]:
    given = {"n_pairs": 40, "words": "as measured", "reason": None if value is not None else "no pairs", **more}
    return asdict(Delta(value, low=low, high=high, **given))


def told(*deltas: dict[str, Any], unit: str = "share", gates: dict[str, Any] | None = None, **units: str) -> Deltas:
    """The differences of one comparison, of the figures q0, q1 and so on."""
    figures = {f"q{n}": one for n, one in enumerate(deltas)}
    arm = {"figures": {name: {"unit": units.get(name, unit)} for name in figures}}
    gates = {name: {"value": 0.1, "threshold": "non_inferior", **gate} for name, gate in (gates or {}).items()}
    asked = {name: {"margin": gate.pop("margin")} for name, gate in gates.items()}
    report = {"arms": {"a": arm}, "comparisons": {"b_vs_a": figures}, "gates": gates, "asked": {"gates": asked}}
    found = deltas_of(report)
    assert found is not None
    return found


def places(plot: Plot, part: str) -> list[Point]:
    """Where the marks, or the first ends of the lines, of a class lie: to the right, and down."""
    root = ElementTree.fromstring(plot.svg)
    found = []
    for group in root.iter("g"):
        if group.attrib.get("class") == f"is-{part}":
            mark, line = group.find(".//use"), group.find(".//path")
            if mark is not None:
                found.append((float(mark.attrib["x"]), float(mark.attrib["y"])))
            elif line is not None:
                x, y = re.match(r"M (\S+) (\S+)", line.attrib["d"]).groups()  # type: ignore[union-attr]
                found.append((float(x), float(y)))
    return found


def texts(plot: Plot) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(plot.svg).iter("text")]


@pytest.mark.parametrize(("value", "side"), [(0.2, 1), (-0.2, -1)])
@pytest.mark.parametrize("higher", [True, False])
def test_the_mark_lies_on_the_side_of_its_sign(value: float, side: int, higher: bool):
    """Right of zero where the candidate has more, else left, whichever is better; the axis says which side is."""
    (plot,) = told(delta(value, value - 0.1, value + 0.1, conclusion="better", higher_is_better=higher)).plots
    (zero,), (mark,), (interval,) = (places(plot, part) for part in ("zero", "delta", "interval"))
    assert (mark[0] - zero[0]) * side > 20
    assert interval[0] < mark[0]
    (axis,) = [text for text in texts(plot) if "candidate − reference" in text]
    assert axis.split("candidate")[0].strip() == ("← worse" if higher else "← better")
    assert axis.split(")")[1].strip() == ("better →" if higher else "worse →")


def test_differences_are_drawn_to_scale():
    """Twice as far is twice as far, and zero is on the plot although no interval reaches it."""
    (plot,) = told(delta(0.1, 0.05, 0.15), delta(0.2, 0.15, 0.25)).plots
    (zero, _), (one, two) = (places(plot, part) for part in ("zero", "delta"))
    assert two[0] - zero[0] == pytest.approx(2 * (one[0] - zero[0]), abs=0.1)
    assert 0 < zero[0] < one[0] and one[1] < two[1]


def test_what_is_shown_is_filled_and_what_is_not_is_hollow():
    """Beside the colour, the shape and the word say whether a difference is there."""
    for conclusion, face in (("better", "accent"), ("worse", "accent"), ("not shown", "paper"), ("identical", "paper")):
        (plot,) = told(delta(0.1, -0.1, 0.3, conclusion=conclusion)).plots
        (group,) = [g for g in ElementTree.fromstring(plot.svg).iter("g") if g.attrib.get("class") == "is-delta"]
        uses = [use.attrib["fill"] for use in group.iter("use")]
        assert uses == [f"var(--{face})"]
        assert conclusion in texts(plot)


def test_figures_of_another_unit_or_direction_have_a_plot_of_their_own():
    """A share and a time have no axis in common, nor has what is better to the left."""
    found = told(delta(0.1), delta(0.2, higher_is_better=False), delta(0.3, higher_is_better=False), q2="s")
    assert [len(places(plot, "delta")) for plot in found.plots] == [1, 1, 1]
    assert "(share)" in found.plots[0].caption and "(ms)" in found.plots[2].caption


def test_times_are_told_in_milliseconds():
    """The plot, the table and the margin alike."""
    gates = {"g": {"comparison": "b_vs_a", "figure": "q0", "margin": 0.01}}
    found = told(delta(-0.002, -0.004, 0.001, higher_is_better=False), unit="s", gates=gates)
    (one,) = found.differences
    assert (one.told["delta"], one.told["interval"], one.unit, one.margin) == ("−2", "[−4, +1]", "ms", 10.0)
    (zero,), (margin,) = (places(found.plots[0], part) for part in ("zero", "margin"))
    assert margin[0] > zero[0]  # worse lies to the right


@pytest.mark.parametrize(
    ("verdict", "higher", "bounds"),
    [("non_inferior", True, (-0.05,)), ("non_inferior", False, (0.25,)), ("equivalent", True, (-0.05, 0.25))],
)
def test_the_one_sided_bounds_that_a_gate_goes_by_are_drawn(verdict: str, higher: bool, bounds: tuple[float, ...]):
    """That on the side where worse is, of `equivalent` both, inside the two-sided interval; none without a margin."""
    gates = {"g": {"comparison": "b_vs_a", "figure": "q0", "margin": 0.1, "threshold": verdict}}
    one = delta(0.1, -0.1, 0.3, bound_low=-0.05, bound_high=0.25, higher_is_better=higher)
    found = told(one, gates=gates)
    assert found.differences[0].bounds == bounds
    (interval,), drawn = places(found.plots[0], "interval"), places(found.plots[0], "bound")
    assert len(drawn) == len(bounds) and all(x > interval[0] + 5 for x, _ in drawn)
    assert told(one).differences[0].bounds == ()


def test_the_margin_that_a_gate_allows_lies_where_worse_is():
    """Of several the smallest; a gate on another figure has no part in it."""
    gates = {
        "wide": {"comparison": "b_vs_a", "figure": "q0", "margin": 0.3},
        "narrow": {"comparison": "b_vs_a", "figure": "q0", "margin": 0.1},
        "other": {"comparison": "b_vs_a", "figure": "q9", "margin": 0.01},
        "none": {"comparison": None, "figure": "q0", "margin": None},
    }
    found = told(delta(0.1, 0.0, 0.2), gates=gates)
    assert found.differences[0].margin == 0.1
    (zero,), (margin,), (mark,) = (places(found.plots[0], part) for part in ("zero", "margin", "delta"))
    assert zero[0] - margin[0] == pytest.approx(mark[0] - zero[0], abs=0.1)


def test_an_undefined_difference_is_told_and_not_drawn():
    """It has no mark at zero."""
    found = told(delta(None), delta(0.1))
    assert found.differences[0].told["delta"] == "" and found.differences[0].told["reason"] == "no pairs"
    assert [len(places(plot, "delta")) for plot in found.plots] == [1]
    assert told(delta(None)).plots == ()


def test_arms_without_an_interval_and_without_a_difference():
    """Identical arms: a mark on zero, an axis all the same."""
    (plot,) = told(delta(0.0, conclusion="identical")).plots
    (zero,), (mark,) = (places(plot, part) for part in ("zero", "delta"))
    assert mark[0] == pytest.approx(zero[0], abs=0.01)


def test_the_caption_tells_every_difference():
    """For who cannot see the plot."""
    (plot,) = told(delta(0.25, 0.125, 0.375, conclusion="better")).plots
    assert plot.caption == (
        "Candidate minus reference (share), with intervals; better lies to the right. "
        "b_vs_a · q0 +0.250 [+0.125, +0.375] better"
    )


def test_many_differences_are_drawn_as_far_as_a_plot_goes():
    """Forty are drawn; all are told."""
    found = told(*(delta(0.1) for _ in range(50)))
    assert (len(found.differences), len(places(found.plots[0], "delta"))) == (50, 40)


def test_names_are_text_in_a_plot():
    """Whatever they hold: no formula, no tag; one that is too long is cut."""
    figures = {"$x^2$ <script>\u202e": delta(0.1), "n" * 500: delta(0.1)}
    report: dict[str, Any] = {"arms": {}, "comparisons": {"c": figures}, "gates": {}, "asked": {"gates": {}}}
    found = deltas_of(report)
    assert found is not None
    seen = texts(found.plots[0])
    assert "c · $x^2$ <script>‹U+202E›" in seen
    assert max(len(text) for text in seen) <= 60


def test_units_are_text_too():
    """What no drawing can hold is written out, in the axis and in the caption."""
    (plot,) = told(delta(0.1), unit="<b>\0\ud800").plots
    assert any("(<b>‹U+0000›‹U+D800›)" in text for text in texts(plot))
    plot.svg.encode("utf-8")


def test_without_comparisons_there_is_nothing():
    """No empty table."""
    assert deltas_of({"comparisons": {}}) is None
