"""The list for an adjudicator, by hand."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalflow.errors import OutputError
from evalflow.metric.protocol import Answer
from evalflow.numeric.text_profile import NFC, TextProfile
from evalflow.report.adjudication import (
    Side,
    adjudication,
    adjudication_csv,
    annotators_confusions,
    confusion_lines,
    write_adjudication,
)
from tests.metric.transcribed import document

SIDE = Side("grapheme", NFC, context=4)


def listed(*units: Answer, side: Side = SIDE, **arms: str | None) -> list[dict[str, Any]]:
    """The records of documents, each with the same answer from every arm."""
    answers = {
        arm: {} if text is None else {unit.item.id: Answer(unit.item, document(text).row) for unit in units}
        for arm, text in arms.items()
    }
    return adjudication([unit.item for unit in units], answers, side)[0]


def test_a_disagreement_stands_in_its_context() -> None:
    """Where it begins in the first annotator's text, what each reads, and what a system has there."""
    (place,) = listed(document(A="in the houſe of", B="in the house of"), ocr="in tbe houfe of", blind=None)
    assert place == {
        "document": "d",
        "offset": 10,
        "left": " hou",
        "annotator A": "ſ",
        "annotator B": "s",
        "right": "e of",
        "arm ocr": "f",
        "arm blind": "(no answer)",
        "decision": "",
    }


def test_neighbouring_differences_are_one_place() -> None:
    """And a place where one reads nothing is one too, with what others have more."""
    places = listed(document(A="ye & we", B="ye and we"), ocr="ye anb we")
    assert [(one["annotator A"], one["annotator B"], one["arm ocr"]) for one in places] == [("&", "and", "anb")]
    (more,) = listed(document(A="ab", B="axyb"), ocr="axb")
    assert (more["offset"], more["annotator A"], more["annotator B"], more["arm ocr"]) == (1, "", "xy", "x")
    (end,) = listed(document(A="ab", B="abc"), ocr="ab")
    assert (end["offset"], end["annotator B"], end["arm ocr"], end["right"]) == (2, "c", "", "")


def test_where_all_agree_nothing_is_listed() -> None:
    """However wrong a system is there; nor is a document that one alone read."""
    assert listed(document(A="ab", B="ab"), ocr="xy") == []
    assert listed(document(A="ab", B=None)) == []


def test_of_three_annotators_each_has_a_column() -> None:
    """Whoever did not read the document says so, which is not the same as nothing."""
    first, second = document(name="x", A="abc", B="ac", C="adc"), document(name="y", A=None, B="m", C="n")
    places = listed(first, second)
    assert [[one[f"annotator {name}"] for name in "ABC"] for one in places] == [
        ["b", "", "d"],
        ["(not read)", "m", "n"],
    ]
    assert [one["document"] for one in places] == ["x", "y"]


def test_what_does_not_show_in_a_cell_is_shown() -> None:
    """Line ends, tabs, and a reading of blanks alone."""
    places = listed(document(A="a b\nc\td", B="ab c d"))
    assert [(one["annotator A"], one["annotator B"]) for one in places] == [("␣", ""), ("⏎", "␣"), ("⇥", "␣")]
    assert places[2]["left"] == " b⏎c"


def test_texts_are_brought_to_the_profile_and_cut_in_the_unit() -> None:
    """Words with a blank between; a label as a whole."""
    even = Side("word", TextProfile(long_s=True), context=1)
    (place,) = listed(document(A="ſo it was not", B="so he was not"), side=even)
    assert [place[key] for key in ("offset", "left", "annotator A", "annotator B", "right")] == [
        1,
        "so",
        "it",
        "he",
        "was",
    ]
    (label,) = listed(document(A="very good", B="good"), side=Side("label", NFC))
    assert (label["annotator A"], label["annotator B"], label["left"]) == ("very good", "good", "")


@given(st.text(alphabet="abc", max_size=8), st.text(alphabet="abc", max_size=8), st.text(alphabet="abcd", max_size=8))
@settings(deadline=None)
def test_both_readings_can_be_put_together_again(a: str, b: str, draft: str) -> None:
    """A's text with every place of it replaced by B's reading is B's text."""
    made, at = "", 0
    for place in listed(document(A=a, B=b), ocr=draft):
        made += a[at : place["offset"]] + place["annotator B"]
        at = place["offset"] + len(place["annotator A"])
    assert made + a[at:] == b


def test_a_spreadsheet_takes_no_cell_for_a_formula() -> None:
    """A quote stands before what would be one, and before a quote; numbers and other texts are as they are."""
    records, heads = adjudication([document(A="=1+2", B="-1'2").item], {}, Side("grapheme", NFC))
    rows = list(csv.DictReader(io.StringIO(adjudication_csv(records, heads), newline="")))
    assert [(row["annotator A"], row["annotator B"], row["left"]) for row in rows] == [
        ("'=", "'-", ""),
        ("'+", "''", "'=1"),
    ]
    assert [row["offset"] for row in rows] == ["0", "2"]


def test_a_list_is_written_whole(tmp_path: Path) -> None:
    """As UTF-8, into a folder that is made; where that cannot be, one line says so."""
    write_adjudication(tmp_path / "new" / "list.csv", "ſ\r\n")
    assert (tmp_path / "new" / "list.csv").read_bytes() == "ſ\r\n".encode()
    with pytest.raises(OutputError, match=r"cannot be written \(Is a directory\); give another file"):
        write_adjudication(tmp_path / "new", "")


def test_confusions_are_counted_over_documents() -> None:
    """Every two annotators by themselves, in the order of their names."""
    items = [document(A="ſo", B="so", C="so").item, document(A="iſ", B="is", C=None).item]
    assert annotators_confusions(items, SIDE) == {"A | B": {("ſ", "s"): 2}, "A | C": {("ſ", "s"): 1}, "B | C": {}}


def test_the_commonest_confusions_come_first() -> None:
    """Of equals the first in the alphabet; what is left is counted, and nothing is a sign of its own."""
    found = Counter({("b", ""): 1, ("a", ""): 1, ("", " "): 3})
    assert list(confusion_lines("A | B", found, SIDE, most=2)) == [
        "A | B: 5 edits, 3 kinds",
        "     3  ∅ | ␣",
        "     1  a | ∅",
        "        and 1 kind more",
    ]
