"""What people said, on the page of a run."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from evalflow.report.html.page import page
from evalflow.report.html.page_file import PAGE
from evalflow.report.html.review import review_of
from evalflow.report.review import REVIEW
from evalflow.runner.review_import import Said
from tests.conftest import Cli, Lab
from tests.report.by_hand import made
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


TABLE = "rater,item,left_arm,left_seed,right_arm,right_seed,choice\nann,a,old,0,new,0,right\nann,b,new,0,old,0,left\n"


def chosen_of(lab: Lab, cli: Cli) -> Path:
    """A run of two arms of which somebody chose."""
    arms = {name: {"model": {"answers": {"a": name, "b": name}, "otherwise": "same"}} for name in ("old", "new")}
    folder = lab(model={"_target_": "evalflow.model.scripted.Scripted"}, arms=arms).folder
    assert folder is not None
    (folder / "choices.csv").write_text(TABLE, encoding="utf-8")
    assert cli("review", str(folder)).code == 0
    return folder


@pytest.mark.parametrize(("command", "code"), [("report", 0), ("score", 2)])
def test_the_page_tells_what_was_said_as_it_stands_now(lab: Lab, cli: Cli, command: str, code: int) -> None:
    """Not what an import that was killed, or a table since mended by hand, has left in review.json."""
    folder = chosen_of(lab, cli)
    before = (folder / REVIEW).read_bytes()
    (folder / "choices.csv").write_text(f"{TABLE}zoe,a,old,0,new,0,left\n", encoding="utf-8")
    for stale in (before, b"{"):
        (folder / REVIEW).write_bytes(stale)
        assert cli(command, str(folder)).code == code
        text = (folder / PAGE).read_text(encoding="utf-8")
        assert "What people said" in text and "ann" in text and "zoe" in text
    (folder / "choices.csv").unlink()
    assert cli(command, str(folder)).code == code
    assert "What people said" not in (folder / PAGE).read_text(encoding="utf-8")


def test_what_was_said_and_is_damaged_is_refused_by_name(lab: Lab, cli: Cli) -> None:
    """By `evalflow report`; a run that is scored has its verdict without a page, and a line says why."""
    folder = chosen_of(lab, cli)
    (folder / "choices.csv").write_text(TABLE.replace("right\n", "up\n"), encoding="utf-8")
    refused = cli("report", str(folder))
    assert (refused.code, len(refused.faults)) == (64, 1)
    assert "choices.csv" in refused.faults[0]
    scored = cli("score", str(folder))
    assert scored.code == 2 and "no page: " in scored.out + scored.err
