"""A rater's sheet: it tells nothing of the arms, and nothing on it is alive but its own script."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest

from evalflow.record import Item
from evalflow.report.html.review_sheet import sheet_page, sheet_table
from evalflow.runner.review_sheet import Answers, Sheet
from tests.report.html.reading import Element, read
from tests.report.html.test_hostile import HOSTILE, shape
from tests.runner.reviewed import RUN_ID, answers, sheet, stored

ITEMS = ("item-zq-one", "item-zq-two", "item-zq-three")
ARMS = ("arm-zq-old", "arm-zq-new")


def made(text: str = "It depends.", **asked: Any) -> tuple[Sheet, dict[str, Item], Answers]:
    """A sheet of three items whose prompts, targets and answers are `text`, each with a number of its own."""
    run = stored(ITEMS, ARMS)
    items = {item.id: replace(item, prompt=f"{text}{n}", target=f"{text} t{n}") for n, item in enumerate(run.items)}
    said = {f"{row.arm}_{row.item_id}": f"{text}{len(row.arm)}{n}" for n, row in enumerate(run.rows)}
    texts = answers(run, **said)
    return sheet(run, texts, **asked), items, texts


def data(page: str) -> dict[str, Any]:
    """What the page's script reads."""
    told: dict[str, Any] = json.loads(read(page).one("script", id="data").raw)
    return told


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


@pytest.mark.parametrize("kind", ["pairs", "single"])
def test_neither_file_tells_of_arms_items_or_the_run(kind: str) -> None:
    """No name of them, nor a part of one, in the text, an attribute, the data or a column; the page has no comment."""
    made_of = made(kind=kind)
    for text in (sheet_page(*made_of, with_target=True), sheet_table(*made_of, with_target=True)):
        assert "It depends." in text
        for name in (*ARMS, *ITEMS, "zq", RUN_ID, RUN_ID[:15], RUN_ID[-6:], "reviewed", "<!--"):
            assert name not in text


def test_the_page_holds_what_is_to_be_judged_in_the_sheets_order() -> None:
    """Prompt and answers by ticket; the expected answer only where it is asked for."""
    drawn, items, texts = made()
    told = data(sheet_page(drawn, items, texts))
    assert (told["sheet"], told["scale"]) == (drawn.sheet, [])
    assert [one["ticket"] for one in told["tickets"]] == [one.ticket for one in drawn.tickets]
    for shown, ticket in zip(told["tickets"], drawn.tickets, strict=True):
        assert shown["answers"] == [texts[arm, seed, ticket.item_id] for arm, seed in ticket.answers]
        assert (shown["prompt"], shown["target"]) == (items[ticket.item_id].prompt, "")
    assert all(one["target"] for one in data(sheet_page(drawn, items, texts, with_target=True))["tickets"])


def test_the_same_sheet_is_the_same_bytes() -> None:
    """No time, no counter, nothing of the machine."""
    assert sheet_page(*made()) == sheet_page(*made()) and sheet_table(*made()) == sheet_table(*made())


def test_the_page_asks_for_what_the_sheet_asks() -> None:
    """A key and a button for each number of the scale, or for left, tie and right; and the question, escaped."""

    def choices(page: Element) -> list[str]:
        return [one.attributes["data-rating"] for one in page.every("button", kind="choice")]

    pairs, single = read(sheet_page(*made())), read(sheet_page(*made(kind="single", scale=(0, 3), question="<b>?")))
    assert (choices(pairs), choices(single)) == (["left", "tie", "right"], ["0", "1", "2", "3"])
    assert (len(pairs.every("article")), len(single.every("article"))) == (2, 1)
    assert pairs.one("p", kind="asks").text == "Which answer is better?"
    assert single.one("p", kind="asks").text == "<b>?"
    assert "from 1 (worst) to 5 (best)" in sheet_page(*made(kind="single"))


@pytest.mark.parametrize("text", [*HOSTILE, "</script><script>window.owned = 1</script>", "\u2028"])
@pytest.mark.parametrize("kind", ["pairs", "single"])
def test_an_answer_is_data(text: str, kind: str) -> None:
    """The page has the same elements as one with harmless answers, and every text is in it to be read."""
    hostile, harmless = sheet_page(*made(text, kind=kind)), sheet_page(*made("x", kind=kind))
    assert shape(read(hostile)) == shape(read(harmless))
    hostile.encode("utf-8")
    if text.isprintable():
        assert data(hostile)["tickets"][0]["prompt"][:-1] == text
    else:
        assert "‹U+" in data(hostile)["tickets"][0]["prompt"]


@pytest.mark.parametrize("text", [*HOSTILE, '=HYPERLINK("x")', "@x", 'a "b",\r\nc;d'])
def test_an_answer_is_a_cell(text: str) -> None:
    """One cell, no formula; the columns to fill in are empty."""
    drawn, items, texts = made(text)
    written = sheet_table(drawn, items, texts)
    assert written.startswith("\ufeffsheet,ticket,prompt,left,right,rating,comment,rater\r\n")
    lines = table(written)
    assert [line["ticket"] for line in lines] == [one.ticket for one in drawn.tickets]
    for line, ticket in zip(lines, drawn.tickets, strict=True):
        assert not line["prompt"].startswith(("=", "+", "-", "@"))
        wanted = items[ticket.item_id].prompt.encode("utf-8", "backslashreplace").decode()
        assert line["prompt"].removeprefix("'" if line["prompt"][1:2] in "=+-@'" else "") == wanted
        assert (line["rating"], line["comment"], line["rater"]) == ("", "", "")


def test_a_single_answer_stands_once() -> None:
    """However many arms gave it."""
    run = stored(["q0"], ARMS)
    texts = answers(run, **{f"{arm}_q0": "same" for arm in ARMS})
    drawn = sheet(run, texts, kind="single")
    items = {item.id: item for item in run.items}
    (shown,) = data(sheet_page(drawn, items, texts))["tickets"]
    assert shown["answers"] == ["same"]
    (line,) = table(sheet_table(drawn, items, texts))
    assert line["answer"] == "same"
