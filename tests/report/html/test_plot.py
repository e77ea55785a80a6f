"""A plot belongs to the page: its colours, no style of its own, the same bytes of the same content."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import matplotlib
import pytest

from evalflow.report.html.plot import ACCENT, INK, LINES, WIDTH, plot


def curve(axes: Any) -> None:
    axes.plot([1, 2, 3], [0.1, 0.5, 0.9], color=ACCENT, label="cold $x$ <script>")
    axes.set_xlabel("日本 ms")
    axes.legend()


def test_the_same_drawing_gives_the_same_bytes():
    """Whatever the process has set before: nothing of a date, a version or a random id is in it."""
    first = plot("a", "a curve", 200, curve).svg
    with matplotlib.rc_context({"font.size": 30.0, "xtick.direction": "in", "lines.marker": "x", "svg.hashsalt": None}):
        assert plot("a", "a curve", 200, curve).svg == first
    assert not re.search(r"\d{4}-\d\d-\d\d|matplotlib", first, re.IGNORECASE)


def test_what_the_process_has_set_is_left_as_it_was():
    """Settings of matplotlib come back, also where a drawing fails, and no figure is left with pyplot."""
    before = dict(matplotlib.rcParams)
    plot("a", "a curve", 200, curve)
    with pytest.raises(ZeroDivisionError):
        plot("a", "a curve", 200, lambda axes: 1 / 0)
    assert dict(matplotlib.rcParams) == before
    import sys

    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_it_is_drawn_in_the_colours_of_the_page():
    """Variables, which are others in the dark; the background is the page's."""
    svg = plot("a", "a curve", 200, curve).svg
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', svg))
    assert {"var(--accent)", "var(--muted)"} <= colours
    assert all(colour == "none" or colour.startswith("var(--") for colour in colours), colours


def test_it_is_one_image_with_a_text():
    """Its caption is what a screen reader reads; names in it are text, as they are written."""
    root = ElementTree.fromstring(plot("a", 'a "curve" <b>', 200, curve).svg)
    assert (root.attrib["role"], root.attrib["aria-label"]) == ("img", 'a "curve" <b>')
    assert root.attrib["viewBox"] == f"0 0 {WIDTH} 200"
    assert {"cold $x$ <script>", "日本 ms"} <= {text.text for text in root.iter("text")}


def test_a_caption_is_text_of_bounded_length():
    """It may name what somebody else has named."""
    svg = plot("a", "\ud800\0" + "x" * 1_000_000, 200, curve).svg
    svg.encode("utf-8")
    assert "‹U+D800›‹U+0000›xxx" in svg and len(svg) < 50_000


def test_two_plots_do_not_share_ids():
    """What is referred to by id is each plot's own."""
    ids = [set(re.findall(r' id="([^"]*)"', plot(name, "", 200, curve).svg)) for name in ("a", "b")]
    assert ids[0] and not ids[0] & ids[1]
    svg = plot("a", "", 200, curve).svg
    assert set(re.findall(r'(?:href="|url\()#([^")]*)', svg)) <= ids[0]


def test_curves_differ_by_more_than_colour():
    """Any two by dash or by width."""
    assert len({(str(line["linestyle"]), line["linewidth"]) for line in LINES}) == len(LINES) == 12
    assert INK in {line["color"] for line in LINES}
