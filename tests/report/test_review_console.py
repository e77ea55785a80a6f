"""What a review found, on one screen."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from evalflow.ratings import Choice
from evalflow.report.review_console import print_review, print_review_answer
from evalflow.runner.review_import import Said
from tests.report.test_review import chosen, document, rated


def shown(told: dict[str, object], brief: bool = False) -> str:
    out = io.StringIO()
    show = print_review_answer if brief else print_review
    show(told, Console(file=out, width=400, highlight=False, markup=False))
    return out.getvalue()


def test_everything_has_its_line() -> None:
    """Raters, pairs by rater and in all, arms, agreement with what it is of, notes, and the answer last."""
    ratings = (*rated("ann", 2.0, 4.0), *rated("bob", 3.0, 4.0))
    lines = [
        " ".join(line.split()) for line in shown(document(Said(ratings, (*chosen("ann"), *chosen("bob"))))).splitlines()
    ]
    assert lines[0] == "reviewed · review of run 20261130-101112-abcdef"
    assert "ann 32 32 0" in lines
    assert "new against old ann (10 choices) 10 0 0 100 % [72, 100]" in lines
    (whole,) = [line for line in lines if line.startswith("all (")]
    assert whole.startswith("all (20 choices; shares over 11 items, 1 of them ties by design) 20 0 0 95 % [")
    assert "rater mean rating answers (a text counts for each arm that gave it)" in lines
    assert any(line.startswith("old 2.") and line.endswith("2: 12, 3: 12") for line in lines)
    assert "kappa ann | bob undefined: chance agreement is 1 10 of 10" in lines
    assert any(line.startswith("note: intervals and tests are over items") for line in lines)
    assert lines[-1].startswith(("new is better than old on rating", "new is liked better"))


def test_the_answer_alone() -> None:
    """A sentence per pair of arms, pairs first."""
    told = shown(document(Said((), tuple(chosen("ann")))), brief=True)
    assert " ".join(told.split()).startswith("new is liked better than old: new has 95.5 % [")


def test_names_drive_no_terminal() -> None:
    """A rater's name is somebody else's text."""
    said = [replace(one, rater="\x1b[2J\u202eann") for one in chosen("ann")]
    told = shown(document(Said((), tuple[Choice, ...](said))))
    assert "\x1b" not in told and "\u202e" not in told and "\\x1b[2J\\u202eann" in told
