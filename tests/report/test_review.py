"""What a review found, as a document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalflow.errors import DataError
from evalflow.ratings import Choice, Rating
from evalflow.report.review import review_document, review_schema, reviewed, write_review
from evalflow.runner.review_import import Said
from evalflow.runner.review_result import review_result
from evalflow.runner.review_sheet import Sheet
from tests.runner.reviewed import answers, sheet, stored

NAMES = [f"q{n:02}" for n in range(12)]
RUN = stored(NAMES)
TEXTS = answers(RUN, old_q00="same", new_q00="same", new_q01=None)
PAIRS, SINGLE = sheet(RUN, TEXTS), sheet(RUN, TEXTS, kind="single")
SHEETS = {one.sheet: one for one in (PAIRS, SINGLE)}


def chosen(rater: str, drawn: Sheet = PAIRS, side: str = "", n: int = 10) -> list[Choice]:
    """The first `n` tickets: each for `new`, or for a side."""
    found = []
    for ticket in drawn.tickets[:n]:
        left, right = ticket.answers
        liked: Any = side or ("left" if left[0] == "new" else "right")
        found.append(Choice(rater, ticket.item_id, left, right, liked, "why" if n < 10 else "", drawn.sheet))
    return found


def rated(rater: str, old: float, new: float) -> list[Rating]:
    """Every answer on the sheet, by its arm."""
    values = {"old": old, "new": new}
    return [
        Rating(rater, ticket.item_id, arm, seed, values[ticket.answers[0][0]], "", SINGLE.sheet)
        for ticket in SINGLE.tickets
        for arm, seed in ticket.answers
    ]


def document(said: Said) -> dict[str, Any]:
    """The document, valid under the shipped schema."""
    made = review_document(RUN, review_result(RUN, said, SHEETS))
    assert [error.message for error in Draft202012Validator(review_schema()).iter_errors(made)] == []
    return made


def test_pairs_and_ratings_stand_in_one_document() -> None:
    """Who rated how much of which sheets, every pair of arms, every arm, and what is missing."""
    ratings = [*rated("ann", 2.0, 4.0), *rated("bob", 3.0, 4.0)]
    told = document(Said(tuple(ratings), (*chosen("ann"), *chosen("bob", n=7))))
    assert [(one["rater"], one["n_rated"], one["n_shown"], one["n_comments"]) for one in told["raters"]] == [
        ("ann", 32, 32, 0),
        ("bob", 29, 32, 7),
    ]
    (pair,) = told["preferences"]
    assert (pair["choices"], pair["items"]["won"], pair["n_identical"]) == ({"won": 17, "lost": 0, "tied": 0}, 10, 1)
    assert pair["conclusion"] == "better"
    assert [(arm["arm"], arm["mean"]["n_scored"]) for arm in told["ratings"]["arms"]] == [("old", 12), ("new", 11)]
    assert told["ratings"]["scale"] == [1, 5]
    assert told["left_out"] == [{"item_id": "q01", "arm": "new", "seed": 0, "why": "empty"}]
    assert {one["kind"]: one["n_tickets"] for one in told["sheets"]} == {"pairs": 10, "single": 22}
    assert told["notes"] == [
        "intervals and tests are over items: of other raters than these 2 they say nothing",
        "not all was rated: 3 of 64 are missing",
        "1 answer of new not shown (empty): q01",
    ]


def test_a_sheet_that_nobody_rated_counts_nowhere() -> None:
    """Neither its ties by design nor what is missing on it."""
    other = sheet(stored(NAMES), n_items=6, seed=3)
    result = review_result(RUN, Said((), tuple(chosen("ann"))), {**SHEETS, other.sheet: other})
    assert [one.sheet for one in result.sheets] == [PAIRS.sheet]


def test_raters_who_look_at_the_side_are_named() -> None:
    """All for the left: told in a note, and there is no preference."""
    told = document(Said((), tuple(chosen("ann", side="left"))))
    assert told["notes"][0] == "one rater: nothing here says how far another would agree"
    assert "new against old: raters lean to the left side (100.0 % of choices fell on the left)" in told["notes"]
    assert told["preferences"][0]["conclusion"] == "not shown"


def test_tables_written_by_hand_need_no_sheet() -> None:
    """What was said elsewhere is added up too; of how much is then unknown, and on no scale."""
    told = document(Said((Rating("ann", "q02", "old", 0, 0.25), Rating("ann", "q02", "new", 0, 7.5)), ()))
    assert (told["raters"][0]["n_shown"], told["ratings"]["scale"], told["sheets"]) == (None, None, [])
    assert told["ratings"]["differences"][0]["delta"]["delta"] == 7.25


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Said((Rating("ann", "qx", "old", 0, 1.0),)), "ratings.csv: 'ann' on 'qx': the run has no answer of arm 'old'"),
        (Said((Rating("ann", "q02", "old", 1, 1.0),)), "the run has no answer of arm 'old', seed 1"),
        (Said((), (Choice("ann", "q02", ("old", 0), ("x", 0), "tie"),)), "choices.csv: 'ann' on 'q02': the run has no"),
        (Said((), (Choice("a", "q02", ("old", 0), ("old", 0), "tie"),)), "both answers are of arm 'old'; name two"),
    ],
)
def test_what_is_of_no_answer_is_refused(said: Said, why: str) -> None:
    """A table of another run, or a name that is misspelt."""
    with pytest.raises(DataError) as refused:
        review_result(RUN, said, SHEETS)
    assert why in str(refused.value)


def test_the_document_is_kept_beside_the_report(tmp_path: Path) -> None:
    """Read as it was written."""
    told = document(Said((), tuple(chosen("ann"))))
    assert json.loads(write_review(tmp_path, told).read_text(encoding="utf-8")) == told


def test_a_run_of_which_nobody_said_a_thing_has_no_review(tmp_path: Path) -> None:
    """A document that was left there does not count: it is of nothing."""
    write_review(tmp_path, document(Said((), tuple(chosen("ann")))))
    assert reviewed(tmp_path) is None
