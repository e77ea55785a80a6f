"""A candidate gated against a baseline: what passes, fails, and cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import ExitCode
from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.regression import Held, Regression, held_against, outcome_of
from evalflow.runner.run_pair import Asked, pair_runs
from tests.runner.compared import EXACT, ITEMS, compared, one

RIGHT = "r" * 12
CONTAINS = {"_target_": "evalflow.metric.contains.Contains"}
Outcomes = Mapping[tuple[str, str | None], str]


def held(reference: ComparedRun, *candidates: ComparedRun, **gate: Any) -> list[Held]:
    return held_against(Regression(**gate), pair_runs(reference, candidates, Asked()))


def outcomes(*runs: ComparedRun, **gate: Any) -> Outcomes:
    return {(found.arms[0], found.figure): found.outcome for found in held(*runs, **gate)}


@pytest.mark.parametrize(("said", "outcome"), [(RIGHT, "pass"), ("w" + "r" * 11, "pass"), ("w" * 10 + "rr", "fail")])
def test_a_figure_that_is_shown_worse_fails(tmp_path: Path, said: str, outcome: str) -> None:
    """The same answers pass, and so does a loss that nothing shows; ten of twelve lost do not."""
    found = outcomes(one(tmp_path, "A", RIGHT), one(tmp_path, "B", said))
    assert found == {("base", "quality/exact"): outcome}


def test_a_gain_passes(tmp_path: Path) -> None:
    """Better is not worse."""
    assert set(outcomes(one(tmp_path, "A", "w" * 12), one(tmp_path, "B", RIGHT)).values()) == {"pass"}


@pytest.mark.parametrize(("margin", "outcome"), [(0.3, "pass"), (0.2, "unreadable")])
def test_a_margin_must_be_within_reach(tmp_path: Path, margin: float, outcome: str) -> None:
    """Twelve level pairs exclude a loss of 1 - 0.05^(1/12) = 0.221; to ask for less is beyond what they can show."""
    (found,) = held(one(tmp_path, "A", RIGHT), one(tmp_path, "B", RIGHT), max_loss=margin)
    assert found.outcome == outcome
    if outcome == "unreadable":
        assert found.reason == "a margin of 0.2 is beyond this run's reach (0.221)"


def test_a_loss_within_nothing_fails_the_margin(tmp_path: Path) -> None:
    """All lost is beyond any margin."""
    (found,) = held(one(tmp_path, "A", RIGHT), one(tmp_path, "B", "w" * 12), max_loss=0.5)
    assert found.outcome == "fail"


def test_what_was_lost_on_the_way_is_no_pass(tmp_path: Path) -> None:
    """Errors, fewer items and changed ones leave items of the baseline unpaired, which a share may allow for."""
    whole, part = one(tmp_path, "A", RIGHT), one(tmp_path, "B", "r" * 11, items=ITEMS[:11])
    failing = one(tmp_path, "C", "e" + "r" * 11)
    for run in (part, failing):
        (found,) = held(whole, run)
        assert (found.outcome, found.reason) == ("unreadable", "1 of 12 items are unpaired")
        assert [one.outcome for one in held(whole, run, coverage=0.9)] == ["pass"]
    (more,) = held(part, whole)
    assert more.outcome == "pass"


def test_what_the_baseline_lacked_is_nobodys_loss(tmp_path: Path) -> None:
    """An item that failed there pairs with nothing, whatever came of it since, and the gate is read on the rest."""
    failing = one(tmp_path, "A", "e" + "r" * 11)
    for label, said in (("B", RIGHT), ("C", "e" + "r" * 11)):
        assert [one.outcome for one in held(failing, one(tmp_path, label, said))] == ["pass"]
    (found,) = held(failing, one(tmp_path, "D", "ee" + "r" * 10))
    assert (found.outcome, found.reason) == ("unreadable", "1 of 11 items are unpaired")


def test_what_is_refused_is_no_pass(tmp_path: Path) -> None:
    """A metric that changed, or is gone, cannot be held; one that only the candidate has is not."""
    parts = [{"metrics": {"exact": metric, "contains": CONTAINS}} for metric in (EXACT, CONTAINS)]
    changed = (one(tmp_path, "A", RIGHT, **parts[0]), one(tmp_path, "B", RIGHT, **parts[1]))
    assert outcomes(*changed) == {("base", "quality/exact"): "unreadable", ("base", "quality/contains"): "pass"}
    gone = one(tmp_path, "C", RIGHT)
    assert outcomes(changed[0], gone) == {("base", "quality/exact"): "pass", ("base", "quality/contains"): "unreadable"}
    assert outcomes(gone, changed[0]) == {("base", "quality/exact"): "pass"}


def test_an_arm_that_is_gone_is_no_pass(tmp_path: Path) -> None:
    """Unless it was there to fail, or may be absent; one that only the candidate has is not held."""

    def two(label: str, said: str = RIGHT, **settings: Any) -> ComparedRun:
        arms = {"base": {}, "next": settings}
        plain = {"metrics": {"exact": EXACT}, "comparisons": {}, "gates": {}, "later": (), "items": ITEMS}
        return compared(tmp_path, label, arms=arms, said={("base", 0): RIGHT, ("next", 0): said}, **plain)

    alone = one(tmp_path, "B", RIGHT)
    assert outcomes(two("A"), alone) == {("next", None): "unreadable", ("base", "quality/exact"): "pass"}
    assert outcomes(alone, two("C", "w" * 12)) == {("base", "quality/exact"): "pass"}
    for settings in ({"control": True}, {"optional": True}):
        assert outcomes(two("D", **settings), alone) == {("base", "quality/exact"): "pass"}


def test_controls_times_and_counts_are_not_held(tmp_path: Path) -> None:
    """Of the four questions with three arms, quality of the two that are meant: and undefined figures of neither."""
    found = outcomes(compared(tmp_path, "A"), compared(tmp_path, "B"))
    assert found == {("base", "quality/exact"): "pass", ("new", "quality/exact"): "pass"}


def test_several_candidates_are_all_held(tmp_path: Path) -> None:
    """The worst of them decides, a failure before what cannot be read, and nothing held is unreadable."""
    runs = [
        one(tmp_path, label, said)
        for label, said in (("A", RIGHT), ("B", RIGHT), ("C", "w" * 12), ("D", "e" * 6 + "r" * 6))
    ]
    found = held(*runs)
    assert [(one.candidate, one.outcome) for one in found] == [("B", "pass"), ("C", "fail"), ("D", "unreadable")]
    assert outcome_of(found) == ("fail", ExitCode.FAIL)
    assert outcome_of([one for one in found if one.candidate != "C"]) == ("unreadable", ExitCode.UNREADABLE)
    assert outcome_of(found[:1]) == ("pass", ExitCode.PASS)
    assert outcome_of([]) == ("unreadable", ExitCode.UNREADABLE)


@pytest.mark.parametrize("gate", [{"max_loss": 0.0}, {"max_loss": -1.0}, {"coverage": 0.0}, {"coverage": 1.5}])
def test_a_gate_that_makes_no_sense_is_refused(gate: dict[str, float]) -> None:
    """A margin of nothing cannot be shown, and a share lies above 0 and not above 1."""
    with pytest.raises(ValueError, match="give a"):
        Regression(**gate)
