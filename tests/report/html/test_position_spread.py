"""Positions of scored texts: how many are further from the reference than so much, whatever their number."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from evalflow.columns import Columns
from evalflow.record import Item, Row
from evalflow.report.html.position_spread import MOST_POINTS, Tail, spreads

ITEMS = {"a": Item("a", "some text"), "b": Item("b", "some text", fields={"evalflow.scored_from": 2})}


def row(arm: str, kl: list[float], item: str = "a", **more: Any) -> Row:
    values = np.array(kl)
    arrays = {"position": np.arange(len(kl), dtype=np.int32), "start": np.arange(len(kl), dtype=np.int32), "kl": values}
    arrays |= {"nll_ref": np.ones(len(kl)), "nll": 1 + values * (-1) ** np.arange(len(kl))}
    return Row("r", "s", arm, 0, item, "ok", "", "", columns=Columns.of(arrays), **more)


def report(*arms: str) -> dict[str, Any]:
    return {"arms": {name: {} for name in arms}}


def test_the_tail_says_what_share_reaches_each_value():
    """All of them the smallest, one of four the largest; by bins, right to a thousandth."""
    tail = Tail()
    tail.add(np.array([0.1, 0.4]))
    tail.add(np.array([0.2, 0.8]))
    values, share = tail.above()
    assert values == pytest.approx([0.1, 0.2, 0.4, 0.8], rel=1e-3)
    assert share.tolist() == [1.0, 0.75, 0.5, 0.25]


def test_zeros_and_what_is_not_finite_are_counted():
    """A zero has no place on a logarithmic scale; one below it was rounded; NaN and infinity are no values."""
    tail = Tail()
    tail.add(np.array([0.0, -1e-17, 0.5, np.nan, np.inf]))
    assert (tail.n, tail.n_zero, tail.n_without) == (3, 2, 2)
    assert tail.above()[1].tolist() == [pytest.approx(1 / 3)]


def test_memory_does_not_grow_with_the_walk():
    """Of a million positions a bounded number of bins stays, and a bounded number of points is drawn."""
    tail, generator = Tail(), np.random.default_rng(0)
    sizes = []
    for _ in range(10):
        tail.add(10.0 ** generator.uniform(-12, 0, 100_000))
        sizes.append(len(tail.bins))
    assert tail.n == 1_000_000
    assert sizes[-1] < 42_000  # 1,024 bins of each of 40 powers of two
    assert len(tail.above()[0]) <= MOST_POINTS


def test_kl_and_nll_have_a_plot_each():
    """A curve per arm that was held against a reference; the reference itself has none."""
    rows = [row("one", [0.1, 0.2]), row("two", [1e-9, 1e-8]), Row("r", "s", "ref", 0, "a", "ok", "", "")]
    kl, nll = spreads(report("ref", "one", "two"), rows, ITEMS)
    assert (kl.name, nll.name) == ("KL divergence", "|ΔNLL|")
    for one in (kl, nll):
        assert one.plot is not None
        root = ElementTree.fromstring(one.plot.svg)
        assert len([g for g in root.iter("g") if g.attrib.get("class") == "is-curve"]) == 2
        assert {"one", "two"} <= {text.text for text in root.iter("text")}
        assert list(one.told) == ["one", "two"]
    assert "one reaches 0.200; two reaches 1e−08" in kl.plot.caption  # type: ignore[union-attr]


def test_arms_that_are_alike_everywhere_say_so():
    """An A/A arm has 0 at every position: nothing to draw on such a scale, and it is told."""
    kl, nll = spreads(report("again"), [row("again", [0.0, 0.0, 0.0])], ITEMS)
    assert (kl.plot, nll.plot) == (None, None)
    assert kl.told == {"again": "3 positions, 3 of them exactly 0"}


def test_context_does_not_count():
    """Where an item is scored from a place on, what stands before is in no distribution."""
    kl, _ = spreads(report("one"), [row("one", [9.0, 9.0, 0.5, 0.25], item="b")], ITEMS)
    assert kl.told == {"one": "2 positions, 0 of them exactly 0"}
    assert "reaches 0.500" in kl.plot.caption  # type: ignore[union-attr]


def test_texts_without_a_reference_have_no_distance():
    """A perplexity alone is none."""
    arrays = {"position": np.array([0, 1], dtype=np.int32), "nll": np.array([1.0, 2.0])}
    alone = Row("r", "s", "one", 0, "a", "ok", "", "", columns=Columns.of(arrays))
    assert spreads(report("one"), [alone], ITEMS) == []
    assert spreads(report("one"), [Row("r", "s", "one", 0, "a", "ok", "x", "x")], ITEMS) == []
