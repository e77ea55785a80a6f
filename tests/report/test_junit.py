"""JUnit XML: what a CI system reads, whatever is in the names."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from evalflow.report.junit import junit
from tests.report.by_hand import bare, gate

GATES = {
    "good": gate("pass"),
    "low": gate("fail", value=0.5, rows=["b (seed 0)", "c (seed 1)"], on_fail="train longer"),
    "blind": gate("unreadable", value=None, reason="p95 needs n >= 20, has 19"),
    "elsewhere": gate("skipped", value=None, reason="concurrency is 6"),
    "shown_low": gate("fail", value=0.5, report_only=True),
    "shown_blind": gate("unreadable", value=None, reason="why", report_only=True),
    "shown_good": gate("pass", report_only=True),
    "control": gate("pass", expected="fail", reason="failed, as it should"),
}


def parsed(**changes: Any) -> ElementTree.Element:
    text = junit(bare(**changes))
    text.encode("utf-8", "strict")
    return ElementTree.fromstring(text)


def children(suite: ElementTree.Element) -> dict[str, list[ElementTree.Element]]:
    return {case.attrib["name"]: list(case) for case in suite}


def test_every_gate_is_a_case_of_its_outcome():
    """Pass has nothing inside, fail a failure, unreadable an error; skipped and report-only faults are skipped."""
    suite = parsed(gates=GATES)
    assert suite.tag == "testsuite"
    assert suite.attrib["name"] == "evalflow.four"
    assert {case.attrib["classname"] for case in suite} == {"four"}
    assert {name: [child.tag for child in inside] for name, inside in children(suite).items()} == {
        "good": [],
        "low": ["failure"],
        "blind": ["error"],
        "elsewhere": ["skipped"],
        "shown_low": ["skipped"],
        "shown_blind": ["skipped"],
        "shown_good": [],
        "control": [],
    }


def test_the_counts_are_those_of_the_cases():
    """tests, failures, errors and skipped add up as a CI system expects them."""
    suite = parsed(gates=GATES)
    counts = {name: suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "8", "failures": "1", "errors": "1", "skipped": "3"}
    for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert len(suite.findall(f"testcase/{tag}")) == int(counts[name])


def test_a_failure_tells_value_threshold_rows_and_what_to_do():
    """The message holds what was wanted and what came, the text the rows that decided."""
    inside = children(parsed(gates=GATES))
    (failure,) = inside["low"]
    assert failure.attrib["message"] == "fail: quality/exact is 0.5, wanted >= 0.7; train longer"
    assert failure.text == "b (seed 0)\nc (seed 1)"
    (error,) = inside["blind"]
    assert error.attrib["message"] == (
        "unreadable: quality/exact is undefined, wanted >= 0.7; p95 needs n >= 20, has 19"
    )


def test_what_made_the_run_incomplete_is_an_error():
    """A run that could not be completed is red in CI even if every gate passed."""
    suite = parsed(reasons=["arm new has 7 of 8 rows", "arm old is unavailable: gone"])
    assert (suite.attrib["tests"], suite.attrib["errors"]) == ("3", "2")
    messages = [error.attrib["message"] for error in suite.findall("testcase/error")]
    assert messages == ["arm new has 7 of 8 rows", "arm old is unavailable: gone"]


@pytest.mark.parametrize(
    "text",
    ['<gate name="x">&amp;\'</gate>', "]]><!--", "[red]tags[/red]", "été \u4e2d \U0001f600", "a\tb", "\u2028", " "],
)
def test_hostile_names_come_back_as_they_are(text: str):
    """Markup in names, rows, reasons and advice is text to an XML reader."""
    suite = parsed(experiment=text, gates={text: gate("fail", rows=[text, text], reason=text, on_fail=text)})
    (case,) = suite
    assert (case.attrib["name"], case.attrib["classname"]) == (text, text)
    assert case[0].text == f"{text}\n{text}"
    assert case[0].attrib["message"].endswith(f"; {text}; {text}")


@pytest.mark.parametrize("code", [0x0, 0x1, 0x8, 0xB, 0xC, 0x1B, 0x1F, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF])
def test_what_xml_cannot_hold_is_replaced(code: int):
    """Control characters and lone surrogates, which XML cannot hold even escaped, become a replacement character."""
    name = f"x{chr(code)}y"
    suite = parsed(experiment=name, gates={name: gate("fail", rows=[name], reason=name)}, reasons=[name])
    case, run = suite
    assert case.attrib["name"] == case.attrib["classname"] == "x\ufffdy"
    assert case[0].text == "x\ufffdy"
    assert case[0].attrib["message"].endswith("x\ufffdy")
    assert run[0].attrib["message"] == "x\ufffdy"


def test_no_gates_are_no_cases():
    """A report without gates is a suite of none."""
    suite = parsed(gates={})
    assert (list(suite), suite.attrib["tests"]) == ([], "0")


def test_an_end_of_an_interval_is_named():
    """A gate on an end held that number, not the figure's own; unread, it is what would have been held."""
    gates = {"low": gate("fail", value=0.5, bound="lower"), "none": gate("unreadable", value=None, bound="lower")}
    told = {name: one.attrib["message"] for name, (one,) in children(parsed(gates=gates)).items()}
    assert told["low"] == "fail: quality/exact is 0.5 (low end), wanted >= 0.7"
    assert told["none"].startswith("unreadable: low end of quality/exact is undefined, wanted >= 0.7")
