"""What people said, on the page of a run."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import StoredRunError
from evalflow.report.html.page import page
from evalflow.report.html.page_file import PAGE, write_page
from evalflow.report.html.review import review_of
from evalflow.report.review import REVIEW, write_review
from evalflow.runner.review_import import Said
from tests.conftest import Cli, Lab
from tests.report.by_hand import RUN_ID, made
from tests.report.html.reading import Element, read
from tests.report.html.test_hostile import HOSTILE, shape
from tests.report.test_review import chosen, document, rated


def told(**changes: Any) -> dict[str, Any]:
    """A review of pairs and ratings by two people."""
    ratings = (*rated("ann", 2.0, 4.0), *rated("bob", 3.0, 4.0))
    return {**document(Said(ratings, (*chosen("ann"), *chosen("bob", n=7)))), **changes}


def section(folder: Path, review: dict[str, Any], private: bool = False) -> Element:
    report, scores = made(folder)
    return read(page(report, scores.rows, scores.plan.items, private, review)).one("section", id="review")


def test_it_has_a_section_where_somebody_said_something(tmp_path: Path) -> None:
    """What was asked, each pair of arms in words, a table of each kind, and notes; without a review it is absent."""
    report, scores = made(tmp_path)
    assert not read(page(report, scores.rows, scores.plan.items)).every("section", id="review")
    found = section(tmp_path, told())
    assert found.one("h2").text == "What people said"
    assert "Which answer is better?" in found.text and "from 1 (worst) to 5 (best)" in found.text
    assert found.every("li")[0].text.startswith("better. new is liked better than old: new has ")
    captions = [one.text for one in found.every("caption")]
    assert captions == ["Raters", "Choices", "Ratings", "Severity", "Agreement of raters"]
    assert found.every("li")[-1].text == "1 answer of new not shown (empty): q01"


def test_a_private_page_names_nobody(tmp_path: Path) -> None:
    """Raters are numbered; their figures stay."""
    text = section(tmp_path, told(), private=True).text
    assert "ann" not in text.split() and "bob" not in text.split()
    assert "rater 1" in text and "kappa rater 1 | rater 2" in text
    shown = review_of(told(), private=True)
    assert shown is not None and shown.tables[0].lines[1][0] == "rater 2"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_raters_name_is_text(tmp_path: Path, text: str) -> None:
    """And so is a question: the page has the same elements as with harmless ones."""

    def renamed(name: str) -> dict[str, Any]:
        review = copy.deepcopy(told())
        review["raters"][0]["rater"] = review["preferences"][0]["by_rater"][0]["rater"] = name
        review["sheets"][0]["question"] = name
        review["preferences"][0]["words"] = review["notes"][0] = name
        return review

    assert shape(section(tmp_path, renamed(text))) == shape(section(tmp_path, renamed("x")))


def test_scoring_writes_the_page_with_it(tmp_path: Path) -> None:
    """As long as it is this run's and whole; else there is no page, and a line says how to mend it."""
    report, scores = made(tmp_path)
    write_review(tmp_path, told(run_id=RUN_ID))
    assert write_page(tmp_path, report, scores.rows, scores.plan.items) is None
    assert "What people said" in (tmp_path / PAGE).read_text(encoding="utf-8")
    write_review(tmp_path, told())
    said = write_page(tmp_path, report, scores.rows, scores.plan.items)
    assert said is not None and "review.json: it is of run" in said


def test_the_page_of_a_reviewed_run_is_written_anew(lab: Lab, cli: Cli, home: Path) -> None:
    """`evalflow report` puts it there; one that is damaged is refused by name."""
    arms = {name: {"model": {"answers": {"a": name, "b": name}, "otherwise": "same"}} for name in ("old", "new")}
    folder = lab(model={"_target_": "evalflow.model.scripted.Scripted"}, arms=arms).folder
    assert folder is not None
    table = (
        "rater,item,left_arm,left_seed,right_arm,right_seed,choice\nann,a,old,0,new,0,right\nann,b,new,0,old,0,left\n"
    )
    (folder / "choices.csv").write_text(table, encoding="utf-8")
    assert cli("review", str(folder)).code == 0
    assert cli("report", str(folder)).code == 0
    assert "What people said" in (folder / PAGE).read_text(encoding="utf-8")
    told = json.loads((folder / REVIEW).read_text(encoding="utf-8"))
    (folder / REVIEW).write_text(json.dumps({**told, "schema_version": 2}), encoding="utf-8")
    refused = cli("report", str(folder))
    assert (refused.code, len(refused.faults)) == (StoredRunError.exit_code, 1)
    assert "schema version 2 is unknown here" in refused.faults[0]
