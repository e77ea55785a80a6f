"""The whole page: what it says first, which sections it has, and that nothing undefined looks like a number."""

from __future__ import annotations

import copy
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from evalflow.report.build import schema
from evalflow.report.held_number import END
from evalflow.report.html.gates import MARKS
from evalflow.report.html.page import TITLES, page
from tests.report.by_hand import GATES, made
from tests.report.html.reading import Element, lines_of, page_of, read, report_page

DECIDED = {**GATES, **{name: {**GATES[name], "coverage": 0.75} for name in ("base_floor", "gain")}}
"""The gates, two of which read base although a quarter of it is an error."""


def sections(found: Element) -> list[str]:
    return [one.attributes["id"] for one in found.every("section")]


def test_the_verdict_comes_first(tmp_path: Path):
    """Its word and exit code are the page's first heading and its title; the gates that missed follow, with why."""
    found = page_of(tmp_path, gates=DECIDED)
    header = found.one("header")
    assert header.one("h1").text == "✗ Fail exit code 1"
    assert found.one("title").text == "fail: four 20261129-101112-abcdef"
    floor, gain = (line.text for line in header.one("ul", kind="reasons").every("li"))
    assert floor == "base_floor: fail; quality/exact of base is 0.333, wanted ≥ 0.5 → train longer"
    wanted = "gain: unreadable; quality/exact of new_vs_base is +0.500 (one-sided bound −0.716), wanted "
    wanted += "non_inferior within 0.1; a margin of 0.1"
    assert gain.startswith(f"{wanted} is beyond this run's reach")


def test_the_headline_of_a_gate_on_an_end_says_which(tmp_path: Path):
    """The arm's own figure may be 0.875 where 0.264, the low end of its interval, was held."""
    low = {"figure": "quality/exact", "arm": "new", "floor": 0.9, "bound": "lower"}
    (line,) = page_of(tmp_path, gates={"low": low}).one("header").one("ul", kind="reasons").every("li")
    assert line.text == "low: fail; quality/exact of new is 0.264 (low end), wanted ≥ 0.9"


def test_it_says_what_the_run_was(tmp_path: Path):
    """Its id, when and how long, the dataset, the rows and those in error."""
    facts = {one.one("dt").text: one.one("dd").text for one in page_of(tmp_path).one("dl", kind="facts").every("div")}
    instrument = facts.pop("instrument")
    assert re.fullmatch("[0-9a-f]{12}", instrument)
    assert facts == {
        "run": "20261129-101112-abcdef",
        "started": "2026-11-29 10:11:12 UTC",
        "took": "48.0 s",
        "dataset": "questions, 4 items",
        "rows": "16 of 16 planned, 1 in error",
    }


@pytest.mark.parametrize("verdict", schema()["properties"]["verdict"]["enum"])
def test_every_verdict_has_a_word_and_a_mark(tmp_path: Path, verdict: str):
    """A word always; the mark repeats it and is not read aloud."""
    report, _ = made(tmp_path)
    heading = report_page({**report, "verdict": verdict, "reasons": ["so it is"]}).one("h1")
    assert heading.text.startswith(f"{MARKS[verdict]} {verdict.capitalize()}")
    assert heading.one("span", **{"aria-hidden": "true"}).text == MARKS[verdict]


def test_what_a_gate_may_say_is_known():
    """Every outcome and every end of an interval that the report's schema has."""
    gate = schema()["$defs"]["gate"]["properties"]
    assert set(gate["outcome"]["enum"]) <= set(MARKS)
    assert set(gate["bound"]["enum"]) == set(END)


def test_a_part_of_a_run_says_so_at_once(tmp_path: Path):
    """A smoke run is marked beside its verdict, and a whole one is not."""
    report, _ = made(tmp_path)
    part = report_page({**report, "part": "smoke run: limit 2"}).one("header")
    assert part.one("p", kind="part").text == "Not the whole run: smoke run: limit 2"
    assert page_of(tmp_path).one("header").every("p", kind="part") == []


def test_gates_that_read_no_part_are_counted_once(tmp_path: Path):
    """Each of them would say the same; one that misses for a reason of its own is listed."""
    report, _ = made(tmp_path)
    for name in ("new_floor", "gain", "control"):
        report["gates"][name].update(outcome="unreadable", value=None, reason="smoke run: limit 2")
    header = report_page({**report, "part": "smoke run: limit 2"}).one("header")
    assert header.one("p", kind="part").text.endswith("smoke run: limit 2; 3 gates are unreadable for that")
    assert [line.one("a").text for line in header.one("ul", kind="reasons").every("li")] == ["base_floor"]


def test_sections_come_in_the_order_in_which_a_reader_asks(tmp_path: Path):
    """Those with something to show, each with its heading and a link to it; no times, positions or notes here."""
    found = page_of(tmp_path, later=())
    assert sections(found) == ["gates", "arms", "deltas", "kinds", "seeds", "failing", "limits", "instrument"]
    assert [one.one("h2").text for one in found.every("section")] == [TITLES[name] for name in sections(found)]
    links = [one.attributes["href"] for one in found.one("nav").every("a")]
    assert links == [f"#{name}" for name in sections(found)]


def test_what_is_not_there_has_no_section(tmp_path: Path):
    """Without comparisons, gates, kinds, limits and seeds the page has arms, failing rows and the instrument alone."""
    items = [{"id": name, "input": "?", "target": "right"} for name in "abcd"]
    parts: dict[str, Any] = {"gates": {}, "comparisons": {}, "limits": [], "items": items, "arms": {"base": {}}}
    found = page_of(tmp_path, said={("base", 0): "rwrr"}, later=(), **parts)
    assert sections(found) == ["arms", "failing", "instrument"]


def test_notes_and_limits_are_told(tmp_path: Path):
    """What a reader must know of the run, and what the experiment does not show."""
    found = page_of(tmp_path)
    assert found.one("section", id="limits").one("li").text == "four questions show little"
    assert found.one("section", id="notes").one("li").text.startswith("its rows come from 2 sessions")


def test_nothing_undefined_is_shown_as_a_number(tmp_path: Path):
    """Where a figure is undefined its cell says why, and holds no digit but its count."""
    report, _ = made(tmp_path)
    hollow = copy.deepcopy(report)
    for arm in hollow["arms"].values():
        for told in (arm["figures"], *arm["breakdown"].values(), *arm["by_seed"].values()):
            for figure in told.values():
                figure.update(value=None, low=None, high=None, n_scored=0, n_total=0, reason="no reason at all")
    for delta in hollow["comparisons"]["new_vs_base"].values():
        delta.update(dict.fromkeys(("delta", "low", "high", "reference_value", "candidate_value", "p_adjusted")))
        delta.update(reason="nothing paired", conclusion="undefined", words="undefined: nothing paired")
    for gate in hollow["gates"].values():
        gate.update(value=None, outcome="unreadable", reason="no reason at all", denominator=None)
    found = report_page(hollow)
    for name in ("arms", "kinds", "deltas", "gates"):
        cells = [cell.text for part in found.every("section", id=name) for cell in part.every("td", kind="figure")]
        assert not [cell for cell in cells if re.search(r"\d", cell)], name
    arms = lines_of(found.one("section", id="arms").one("table"))
    assert arms["quality/exact share"] == 3 * ["undefined: no reason at all"]
    (delta,) = lines_of(found.one("section", id="deltas").one("table")).values()
    assert delta[0] == "undefined: nothing paired"
    assert found.every("svg") == []
    each = found.one("section", id="seeds").one("td", kind="each")
    assert each.text == "seed 0 undefined: no reason at all seed 1 undefined: no reason at all"


def test_the_same_run_gives_the_same_bytes(tmp_path: Path):
    """Made twice, from a report that was read back too."""
    report, scores = made(tmp_path, gates=DECIDED)
    first = page(report, scores.rows, scores.plan.items)
    assert page(copy.deepcopy(report), list(scores.rows), list(scores.plan.items)) == first
    assert "0x" not in first and str(tmp_path) not in first


def test_a_private_page_says_so_and_holds_nobodys_texts(tmp_path: Path):
    """No prompt, target or answer, no message or reason that could quote one, no setting of a model; ids stay."""
    items = [{"id": name, "input": "zebraprompt", "target": "zebratarget"} for name in "abcd"]
    report, scores = made(tmp_path, items=items, gates=DECIDED)
    report["arms"]["base"]["worst_positions"] = {"m": [{"item": "a", "at": 3, "value": 1.0, "context": "zebracontext"}]}
    report["arms"]["base"]["errors"] = [{"kind": "ModelError", "message": "zebraerror", "count": 1}]
    report["arms"]["base"]["facts"] = {"said": "zebrafact"}
    report["gates"]["base_floor"].update(rows=["a (seed 0)", "a at 3 (0.1): zebrarow"], n_rows=2)
    for arm in report["arms"].values():
        arm["conditions"]["model"]["system"] = "zebrasystem"
    report["instrument"]["metrics"]["exact"]["settings"] = {"judge": "zebrasetting"}
    told = page(report, scores.rows, scores.plan.items)
    for word in ("prompt", "target", "context", "error", "fact", "row", "system", "setting"):
        assert f"zebra{word}" in told, word
    private = page(report, scores.rows, scores.plan.items, private=True)
    assert "zebra" not in private
    found = read(private)
    assert found.one("header").one("p", kind="part").text.startswith("Private copy: prompts, targets, answers and")
    failing = found.one("section", id="failing")
    assert next(row.one("h3").text for row in failing.every("article")) == "d base, seed 0, error"
    assert "ModelError" in failing.text
    assert "a (seed 0)" in [one.text for one in found.every("ol", kind="decided")]
    assert "wrong" not in failing.text


def test_it_can_be_read_by_heading_and_table(tmp_path: Path):
    """One first heading and no level left out; headers of tables say what they head; boxes that scroll have a name."""
    found = page_of(tmp_path)
    levels = [int(one.tag[1]) for one in found.every() if re.fullmatch("h[1-6]", one.tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(head.attributes.get("scope") in ("col", "row", "rowgroup") for head in found.every("th"))
    for table in found.every("table"):
        widths = {
            sum(int(c.attributes.get("colspan", "1")) for c in line.inside if isinstance(c, Element))
            for line in table.every("tr")
        }
        assert len(widths) == 1, table.text[:100]
    boxes = found.every("div", kind="scroll")
    assert boxes and all(box.attributes["aria-label"] and box.attributes["tabindex"] == "0" for box in boxes)
    assert all(svg.attributes["aria-label"] for svg in found.every("svg"))
    assert found.one("html").attributes["lang"] == "en"
