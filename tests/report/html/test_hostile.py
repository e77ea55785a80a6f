"""Whatever a model answers or a name holds is text on the page, seen, of bounded size, and changes nothing else."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.record import RowError
from evalflow.report.html.page import page
from tests.report.by_hand import GATES, made
from tests.report.html.reading import Element, read

HOSTILE = (
    "<script>document.title='owned'</script>",
    "</style></script><img src=x onerror=alert(1)>",
    "</pre></li></ol></section><h1>Pass</h1>",
    "javascript:alert(1)",
    "\"'><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% include 'x' %}",
    "&lt;b&gt; &amp;",
    "\u202egnp.exe\u202c",
    "a\0b\x1b[2J\ud800\udfff\ufffe",
    "<!-- --> ]]> <![CDATA[",
    "<plaintext><noscript><title>",
)
BOUND = 5_000_000
"""Bytes of a page."""


def shape(found: Element) -> list[tuple[str, tuple[str, ...]]]:
    """Every element and the names of its attributes, in order; where a name may be broken is the name's."""
    return [(one.tag, tuple(sorted(one.attributes))) for one in found.every() if one.tag != "wbr"]


@pytest.mark.parametrize("text", HOSTILE)
def test_an_answer_is_text(tmp_path: Path, text: str):
    """A page with it has the same elements as one with a harmless answer, and every text is there to be read."""
    report, scores = made(tmp_path)

    def with_texts(said: str) -> str:
        rows = [
            replace(
                row,
                draft=said,
                served=f"{said}.",
                error=RowError(said, said) if row.status == "error" else None,
                detail={"exact": {"expected": said}},
            )
            for row in scores.rows
        ]
        items = [replace(item, prompt=said, target=said) for item in scores.plan.items]
        return page(report, rows, items)

    hostile, harmless = read(with_texts(text)), read(with_texts("x"))
    assert shape(hostile) == shape(harmless)
    assert hostile.one("title").text == harmless.one("title").text
    written = [one.raw for one in hostile.one("section", id="failing").every("pre")]
    assert written and all(part.rstrip(".") == written[0].rstrip(".") for part in written)
    if text.isprintable():
        assert written[0] == text
    with_texts(text).encode("utf-8")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_name_is_text(tmp_path: Path, text: str):
    """An arm, a metric, a gate, a kind, an item, a note, a reason: wherever the report has words of somebody else's."""
    report, scores = made(tmp_path, gates={**GATES, "base_floor": {**GATES["base_floor"], "coverage": 0.5}})
    hostile, plain = (page(renamed(report, name), scores.rows, scores.plan.items) for name in (text, "plain"))
    assert shape(read(hostile)) == shape(read(plain))
    hostile.encode("utf-8")


def renamed(report: dict[str, Any], text: str) -> dict[str, Any]:
    """The report with `text` in every name, reason and sentence that a config, a model or a seat may have written."""
    told = copy.deepcopy(report)
    told.update(experiment=text, part=text, reasons=[text], notes=[text], limits=[text])
    told["dataset"]["name"] = text
    for arm in told["arms"].values():
        arm.update(unavailable=text, errors=[{"kind": text, "message": text, "count": 2}])
        arm["claims"] = {"cache": "broken", "cache_why": text}
        arm["conditions"]["model"] = {text: text, "inner": {text: [text]}}
        arm["figures"] = {f"{name}{text}": {**figure, "unit": text} for name, figure in arm["figures"].items()}
        arm["figures"][f"odd/{text}"] = {**next(iter(arm["figures"].values())), "value": None, "reason": text}
        arm["breakdown"] = {f"kind={text}": of for of in arm["breakdown"].values()}
        arm["worst_positions"] = {text: [{"item": text, "at": 1, "value": 2.0, "context": text}]}
        arm["facts"] = {text: text}
    told["arms"] = {f"{name}{text}": arm for name, arm in told["arms"].items()}
    (differences,) = told["comparisons"].values()
    told["comparisons"] = {text: differences}
    for delta in differences.values():
        delta["words"] = text
    told["gates"] = {
        f"{name}{text}": {**gate, "reason": text, "on_fail": text, "rows": [text], "n_rows": 3, "threshold": text}
        for name, gate in told["gates"].items()
        if gate["comparison"] is None
    }
    told["asked"]["gates"] = {name: {"where": {"kind": text}, "margin": None, "count": False} for name in told["gates"]}
    told["asked"]["comparisons"] = {text: {"reference": text, "candidate": text}}
    told["instrument"]["metrics"] = {text: {"class": text, "version": 1, "settings": {text: text}}}
    told["instrument"]["environment"] = {text: text}
    return told


def test_text_of_a_megabyte_does_not_make_a_page_of_one(tmp_path: Path):
    """In every name and in every text at once, the page stays bounded."""
    report, scores = made(tmp_path)
    text = "<\u202e" * 500_000
    rows = [replace(row, draft=text, served=text, detail={"exact": {"expected": text}}) for row in scores.rows]
    items = [replace(item, prompt=text, target=text) for item in scores.plan.items]
    assert len(page(renamed(report, text), rows, items).encode()) < BOUND


def test_what_was_cut_is_counted(tmp_path: Path):
    """A reader sees how much of a text there is and how much of it is not on the page."""
    report, scores = made(tmp_path)
    rows = [replace(row, draft="x" * 1_000_000) for row in scores.rows if (row.arm, row.item_id) == ("base", "b")]
    (answer,) = read(page(report, rows, scores.plan.items)).one("ol", id="rows").every("details", kind="long")
    assert answer.one("span", kind="more").text == "4,000 of 1,000,000 characters"
    assert answer.one("p", kind="beneath").text == "996,000 characters are left out here"


def test_ten_thousand_failing_rows_fit_on_a_page(tmp_path: Path):
    """Of ten thousand rows with a few kilobytes each, some are there, the rest is counted, and a command has all."""
    report, scores = made(tmp_path)
    (wrong,) = [row for row in scores.rows if (row.arm, row.item_id) == ("base", "b")]
    items = [replace(scores.plan.items[0], id=f"item {n}", prompt="why? " * 500) for n in range(10_000)]
    rows = [replace(wrong, item_id=item.id, draft=f"because {n} " * 200) for n, item in enumerate(items)]
    text = page(report, rows, items)
    assert len(text.encode()) < BOUND
    failing = read(text).one("section", id="failing")
    shown = len(failing.one("ol", id="rows").every("article"))
    assert 100 < shown < 10_000
    told = failing.text
    assert f"{10_000 - shown:,} of them are not on this page" in told
    assert "evalflow export 20261129-101112-abcdef --to DIR" in told
