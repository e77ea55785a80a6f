"""The page of a comparison: in the order in which a reader asks, and whatever a name holds is text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalflow.report.html.compare_page import compare_page
from evalflow.runner.regression import Regression
from tests.report.html.reading import Element, lines_of, read
from tests.report.html.test_hostile import HOSTILE, shape
from tests.report.test_compare import RIGHT, document
from tests.runner.compared import EXACT, ITEMS, compared, one


def named(tmp_path: Path, name: str, before: str = "A", after: str = "B") -> Element:
    """The page of two runs whose arm and items are called so; the second has fewer of them, and another load."""
    name = name.replace("\ud800\udfff", "\ud800")  # a file of JSON makes one character of the pair
    items = tuple({**item, "id": f"{item['id']}{name}"} for item in ITEMS)
    parts: dict[str, Any] = {"metrics": {"exact": EXACT}, "comparisons": {}, "gates": {}, "later": ()}
    first = compared(tmp_path, before, arms={name: {}}, items=items, said={(name, 0): RIGHT}, **parts)
    slow = {name: {"concurrency": 2}}
    second = compared(tmp_path, after, arms=slow, items=items[:9], said={(name, 0): "r" * 9}, **parts)
    return read(compare_page(document([first, second], Regression())))


def test_differences_come_before_numbers(tmp_path: Path) -> None:
    """The runs, in what the instruments differ, what was compared, what stands beside, what was not, and notes."""
    reference = compared(tmp_path, "A")
    other = compared(
        tmp_path,
        "B",
        arms={"base": {"concurrency": 4}, "new": {}, "hot": {}},
        comparisons={},
        gates={},
        said={("base", 0): "rrrr", ("new", 0): "rrrr", ("hot", 0): "rrrr"},
        later=(),
    )
    page = read(compare_page(document([reference, other])))
    assert [section.attributes["id"] for section in page.every("section")] == [
        "runs",
        "instruments",
        "deltas",
        "beside",
        "refused",
        "notes",
    ]
    assert [link.attributes["href"] for link in page.one("nav").every("a")] == [
        f"#{section.attributes['id']}" for section in page.every("section")
    ]
    refused = page.one("section", id="refused").text
    assert "a time depends on how many requests are under way" in refused
    assert "arm bad" in refused and "only A has it" in refused
    assert page.one("h1").text.startswith("Compared")


def test_a_gate_is_the_verdict(tmp_path: Path) -> None:
    """Its outcome is the heading, what failed stands under it, and a forest plot shows how far."""
    page = read(
        compare_page(document([one(tmp_path, "A", RIGHT), one(tmp_path, "B", "w" * 12)], Regression(max_loss=0.3)))
    )
    assert page.one("h1").text == "✗ Fail exit code 1"
    assert page.one("ul", **{"class": "reasons"}).text.startswith("fail B: quality/exact of base")
    (plot,) = page.one("section", id="deltas").every("svg")
    assert "B: base · quality/exact −1" in plot.attributes["aria-label"]
    table = page.one("table", **{"class": "deltas"})
    assert lines_of(table)["B: base quality/exact, share"][1:4] == ["1", "0", "12"]


def test_the_same_comparison_gives_the_same_page(tmp_path: Path) -> None:
    """Byte for byte, and nothing in it is loaded from elsewhere."""
    told = document([one(tmp_path, "A", RIGHT), one(tmp_path, "B", "w" * 10 + "rr")])
    page = compare_page(told)
    assert page == compare_page(told)
    assert "default-src 'none'" in page and "http://" not in page.replace("http://www.w3.org", "")


def test_what_is_not_there_has_no_section(tmp_path: Path) -> None:
    """Two runs that are one: nothing beside, nothing refused."""
    page = read(compare_page(document([one(tmp_path, "A", RIGHT), one(tmp_path, "B", RIGHT)])))
    ids = [section.attributes["id"] for section in page.every("section")]
    assert ids == ["runs", "instruments", "deltas", "notes"]
    assert "it is one instrument" in page.one("section", id="instruments").text


@pytest.mark.parametrize("text", HOSTILE)
def test_a_name_is_text(tmp_path: Path, text: str) -> None:
    """Markup in an arm's name or an item's id makes no element and no attribute."""
    plain = named(tmp_path, "plain")
    assert shape(named(tmp_path, text, "C", "D")) == shape(plain)
