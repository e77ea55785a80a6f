"""Sheets for raters: what is on them, in which order, on which side, and that none of it tells of an arm."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from evalflow.errors import DataError, MetricError
from evalflow.record import Row, RowError
from evalflow.runner.review_sheet import Asked, LeftOut, Sheet, answers_of, draw_sheets, shown_as
from tests.conftest import plan_of
from tests.runner.reviewed import RUN_ID, answers, sheet, stored

NAMES = [f"q{n}" for n in range(31)]


def sides(drawn: Sheet, *arms: str) -> Counter[str]:
    """How often each arm stands on the left, of the pairs of two arms."""
    found = [one.answers for one in drawn.tickets if {arm for arm, _ in one.answers} == set(arms)]
    return Counter(left[0] for left, _ in found)


def test_every_item_is_shown_once_and_in_no_order() -> None:
    """Each pair of answers has one ticket; neither the dataset's order nor the reverse is the sheet's."""
    drawn = sheet(stored(NAMES))
    shown = [one.item_id for one in drawn.tickets]
    assert sorted(shown) == sorted(NAMES)
    assert shown not in (NAMES, NAMES[::-1], sorted(NAMES))
    assert all({arm for arm, _ in one.answers} == {"old", "new"} for one in drawn.tickets)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [1, 2, 7, 30, 31])
def test_each_arm_is_on_the_left_in_half_of_the_pairs(n: int, seed: int) -> None:
    """One more or fewer where there is no half; of three arms in each of the three pairs."""
    drawn = sheet(stored(NAMES[:n], ("old", "new", "next")), seed=seed)
    assert len(drawn.tickets) == 3 * n
    for arms in (("old", "new"), ("old", "next"), ("new", "next")):
        found = sides(drawn, *arms)
        assert found.total() == n and abs(found[arms[0]] - found[arms[1]]) <= 1


def test_which_arm_is_left_follows_no_order() -> None:
    """Neither along the sheet nor along the dataset does it alternate or stand still."""
    drawn = sheet(stored(NAMES))
    for key in (lambda one: 0, lambda one: NAMES.index(one.item_id)):
        line = "".join(one.answers[0][0][0] for one in sorted(drawn.tickets, key=key))
        assert "oo" in line and "nn" in line and "on" in line and "no" in line
        assert len(set(re.findall("o+|n+", line))) > 2


def test_names_tell_nothing() -> None:
    """Twelve letters, none twice, that have no arm, item or run in them; another sheet has others."""
    drawn, other = sheet(stored(NAMES)), sheet(stored(NAMES), seed=1)
    names = [drawn.sheet, *(one.ticket for one in drawn.tickets)]
    assert all(re.fullmatch("[b-df-hjkmnp-tv-z]{12}", name) for name in names)
    assert len(set(names)) == len(names)
    assert not set(names) & {other.sheet, *(one.ticket for one in other.tickets)}
    assert [one.item_id for one in drawn.tickets] != [one.item_id for one in other.tickets]


def test_the_same_question_gives_the_same_sheet_whatever_the_order() -> None:
    """Rows and items may lie in any order; a time of one row that differs gives other names."""
    run = stored(NAMES)
    mixed = replace(run, rows=run.rows[::-1], items=run.items[::-1])
    first = sheet(run)
    assert sheet(run) == first
    assert sheet(mixed, arms=("old", "new")).tickets == first.tickets
    times = replace(run.rows[0].times, end=1.7500001)
    assert sheet(replace(run, rows=(replace(run.rows[0], times=times), *run.rows[1:]))).sheet != first.sheet


def test_one_text_twice_is_not_shown_as_a_pair() -> None:
    """It is a tie by design; one without an answer is left out with why, and neither is on the sheet."""
    run = stored(NAMES[:4])
    drawn = sheet(run, answers(run, old_q0="same", new_q0="same", new_q1=None))
    assert sorted(one.item_id for one in drawn.tickets) == ["q2", "q3"]
    assert drawn.identical == (("q0", ("old", 0), ("new", 0)),)
    assert drawn.left_out == (LeftOut("q1", "new", 0, "empty"),)


def test_one_text_of_two_arms_is_rated_once() -> None:
    """Its ticket is both arms'; where it is looked up, both lead to the one that was shown."""
    run = stored(NAMES[:3])
    drawn = sheet(run, answers(run, old_q0="same", new_q0="same", new_q1=None), kind="single")
    assert sorted((one.item_id, one.answers) for one in drawn.tickets) == [
        ("q0", (("old", 0), ("new", 0))),
        ("q1", (("old", 0),)),
        ("q2", (("new", 0),)),
        ("q2", (("old", 0),)),
    ]
    assert shown_as([drawn])["q0", "new", 0] == shown_as([drawn])["q0", "old", 0] == ("q0", "old", 0)


def test_some_items_are_drawn() -> None:
    """As many as asked for, those without an answer among them, so that they are no selection of the good ones."""
    run = stored(NAMES)
    drawn = sheet(run, answers(run, **{f"new_{name}": None for name in NAMES[:15]}), n_items=20)
    assert len(drawn.item_ids) == 20 and set(drawn.item_ids) != set(NAMES[:20])
    assert len(drawn.tickets) + len(drawn.left_out) == 20


def test_an_arm_of_several_seeds_is_shown_under_one_of_them() -> None:
    """Drawn for each item, and the same on every sheet of an export: raters of one item see one answer."""
    run = stored(NAMES)
    again = tuple(replace(row, seed=seed, draft=f"{row.draft} {seed}") for row in run.rows for seed in (0, 1, 2))
    whole = replace(run, rows=again)
    asked = Asked(("old", "new"), sheets=2)
    one, other = draw_sheets(whole, answers(whole), asked)
    seeds = {ticket.item_id: frozenset(ticket.answers) for ticket in one.tickets}
    assert seeds == {ticket.item_id: frozenset(ticket.answers) for ticket in other.tickets}
    assert {seed for of in seeds.values() for _, seed in of} == {0, 1, 2}
    assert [ticket.item_id for ticket in one.tickets] != [ticket.item_id for ticket in other.tickets]


@pytest.mark.parametrize(("sheets", "overlap"), [(3, 1), (3, 2), (3, None), (5, 2)])
def test_items_are_dealt_to_sheets(sheets: int, overlap: int | None) -> None:
    """Each is on as many as asked for, and no sheet has many more than another."""
    run = stored(NAMES)
    drawn = draw_sheets(run, answers(run), Asked(("old", "new"), sheets=sheets, overlap=overlap))
    times = Counter(ticket.item_id for one in drawn for ticket in one.tickets)
    assert set(times.values()) == {overlap or sheets} and len(times) == 31
    sizes = [len(one.tickets) for one in drawn]
    assert max(sizes) - min(sizes) <= (overlap or sheets)
    assert len({one.sheet for one in drawn}) == sheets


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"arms": ("old",)}, "pairs need two different arms"),
        ({"arms": ("old", "old")}, "pairs need two different arms"),
        ({"arms": (), "kind": "single"}, "arms is empty"),
        ({"kind": "single", "scale": (5, 1)}, "scale is 5-1; give two digits"),
        ({"kind": "single", "scale": (1, 10)}, "scale is 1-10; give two digits"),
        ({"n_items": 0}, "items is 0; give at least 1"),
        ({"sheets": 0}, "sheets is 0; give at least 1"),
        ({"sheets": 2, "overlap": 3}, "overlap is 3; give 1 to 2"),
    ],
)
def test_a_question_that_cannot_be_meant_is_refused(asked: dict[str, Any], said: str) -> None:
    """Before any sheet is drawn."""
    with pytest.raises(ValueError, match=re.escape(said)):
        Asked(**{"arms": ("old", "new"), **asked})


def test_a_sheet_with_nothing_to_judge_is_refused() -> None:
    """With why there is nothing; and so is an item whose id no file could hold."""
    run = stored(["q0", "q1"])
    with pytest.raises(DataError, match=r"sheet 1 has nothing to be judged \(1 pairs are identical, 1 answers missing"):
        sheet(run, answers(run, old_q0="same", new_q0="same", new_q1=None))
    with pytest.raises(DataError, match="its id holds half a character"):
        sheet(stored(["q\ud800"]))


@pytest.mark.usefixtures("home")
def test_what_is_served_is_what_is_judged() -> None:
    """A reader gets no draft where the experiment serves something else; errors and blanks are no answers."""
    items = [{"id": name, "input": "?", "target": "right"} for name in ("a", "b", "c", "d")]
    plan = plan_of(items, serving={"_target_": "tests.runner.test_score.Curt"})
    rows = [
        Row(RUN_ID, "s1", "one", 0, "a", "ok", "fine weather", "fine weather"),
        Row(RUN_ID, "s1", "one", 0, "b", "error", None, None, error=RowError("timeout", "late")),
        Row(RUN_ID, "s1", "one", 0, "c", "empty", " \n", " \n"),
    ]
    run = replace(stored("abcd"), rows=tuple(rows), items=plan.items)
    with pytest.raises(MetricError, match="serving"):
        answers_of(plan, replace(run, rows=(replace(rows[0], draft="breaks"),)), ["one"])
    assert answers_of(plan, replace(run, rows=tuple(rows[:2])), ["one"])["one", 0, "a"] == "fine"
    assert answers_of(plan_of(items), run, ["one"]) == {
        ("one", 0, "a"): "fine weather",
        ("one", 0, "b"): LeftOut("b", "one", 0, "error: timeout"),
        ("one", 0, "c"): LeftOut("c", "one", 0, "empty"),
        ("one", 0, "d"): LeftOut("d", "one", 0, "not answered"),
    }
