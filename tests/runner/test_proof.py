"""No gate reads a model's opinion before its judge's agreement with people has passed a gate of its own."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalflow.record import GateResult, Row
from evalflow.runner.judge import Judgement, judge
from evalflow.runner.score import score
from tests.conftest import config, faults_of, plan_of
from tests.runner.test_score import ended, row, unavailable

pytestmark = pytest.mark.usefixtures("home", "rated")
PROMPT = "{input}"
ITEMS = tuple({"id": name, "input": f"question {name}", "target": "right"} for name in "abcdefgh")
PEOPLE = (1, 2, 3, 4, 5, 4, 3, 2)
AGREES = PEOPLE
DIFFERS = (5, 4, 3, 2, 1, 2, 3, 4)
KAPPA = {"figure": "agreement/judge/kappa", "floor": 0.6}
GOOD = {"figure": "quality/grade", "floor": 2.0}
METRICS = {
    "grade": {"_target_": "evalflow.metric.grade.Grade"},
    "agreement": {"_target_": "evalflow.metric.judge_agreement.JudgeAgreement", "ratings": "ratings.csv"},
}
ONE, TWO = {"arms": {"new": {}}}, {"arms": {"old": {}, "new": {}}}
OTHER = {"_target_": "evalflow.model.scripted.Scripted", "otherwise": "another judge"}
"""The judge of these tests is the arm's own model: what it wrote is its grade."""


EMPTY = "rater,item,arm,seed,rating,text\n"


@pytest.fixture
def rated(home: Path) -> None:
    """A file for ratings that is there, and has none yet."""
    Path("ratings.csv").write_text(EMPTY, encoding="utf-8")


def rows(**grades: Sequence[int]) -> list[Row]:
    """Each arm's grades of the items."""
    return [
        row(str(item["id"]), f"Rating: {grade}", arm=arm)
        for arm, given in grades.items()
        for item, grade in zip(ITEMS, given, strict=True)
    ]


def ratings(**by_arm: Sequence[int]) -> None:
    """What somebody gave each arm's answers."""
    with Path("ratings.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["rater", "item", "arm", "seed", "rating", "text"])
        for arm, given in by_arm.items():
            for item, value in zip(ITEMS, given, strict=True):
                lines.writerow(["ann", item["id"], arm, 0, value, PROMPT.format(**item)])


def judged(answers: list[Row], gates: Mapping[str, Any], **parts: Any) -> Judgement:
    """What comes of grades under these gates, where people rated the answers of every arm as `PEOPLE`."""
    parts = {**ONE, **parts}
    if Path("ratings.csv").read_text(encoding="utf-8") == EMPTY:
        ratings(**dict.fromkeys(parts["arms"], PEOPLE))
    plan = plan_of(ITEMS, metrics=METRICS, gates=dict(gates), **parts)
    gone = {name: unavailable() for name in parts["arms"] if not any(one.arm == name for one in answers)}
    return judge(score(plan, answers, (), {**ended(plan), **gone}))


def gate(answers: list[Row], gates: Mapping[str, Any], name: str = "good", **parts: Any) -> GateResult:
    return judged(answers, gates, **parts).gates[name]


def test_a_judge_that_agrees_is_read() -> None:
    """Grade and agreement alike: both gates pass, in whatever order they stand."""
    for gates in ({"good": GOOD, "agrees": KAPPA}, {"agrees": KAPPA, "good": GOOD}):
        found = judged(rows(new=AGREES), gates)
        assert (found.verdict, found.gates["good"].value, found.gates["agrees"].value) == ("pass", 3.0, 1.0)


def test_a_judge_that_differs_is_not_read() -> None:
    """The grades pass by themselves, and their gate is unreadable: the reason names the gate that did not pass."""
    found = judged(rows(new=DIFFERS), {"good": GOOD, "agrees": KAPPA})
    assert (found.verdict, found.gates["agrees"].outcome, found.gates["good"].outcome) == ("fail", "fail", "unreadable")
    assert found.gates["good"].value is None
    assert found.gates["good"].denominator == 8
    assert found.gates["good"].reason == "its judge's agreement gate agrees did not pass (fail: -1, wanted >= 0.6)"


def test_grades_that_fail_are_not_read_either() -> None:
    """A bad mark by a judge that nobody can trust is no more than a good one; where it can be trusted, it fails."""
    high = {**GOOD, "floor": 4.0}
    assert gate(rows(new=DIFFERS), {"good": high, "agrees": KAPPA}).outcome == "unreadable"
    assert gate(rows(new=AGREES), {"good": high, "agrees": KAPPA}).outcome == "fail"
    assert gate(rows(new=DIFFERS), {"good": {**high, "expect": "fail"}, "agrees": KAPPA}).outcome == "unreadable"


def test_where_agreement_cannot_be_read_neither_can_the_grades() -> None:
    """Without ratings, or with a judge that said one thing throughout, the reason is passed on."""
    constant = gate(rows(new=(3,) * 8), {"good": GOOD, "agrees": {**KAPPA, "figure": "agreement/judge/rank"}})
    assert constant.reason == "its judge's agreement gate agrees did not pass (unreadable: one value throughout)"
    plan = plan_of(ITEMS, metrics=METRICS, gates={"good": GOOD, "agrees": KAPPA}, **ONE)
    Path("ratings.csv").unlink()
    found = judge(score(plan, rows(new=AGREES), (), ended(plan))).gates
    why = "there are no ratings: ratings.csv is no run and no file"
    assert (found["agrees"].outcome, found["agrees"].reason) == ("unreadable", why)
    assert found["good"].reason == f"its judge's agreement gate agrees did not pass (unreadable: {why})"


def test_a_rated_answer_without_a_grade_makes_it_unreadable() -> None:
    """Agreement on what a judge could read is not agreement; a gate may say which share suffices."""
    some = [*rows(new=AGREES)[:7], row("h", "I would rather not say.", arm="new")]
    lost = gate(some, {"good": GOOD, "agrees": KAPPA}, "agrees")
    assert (lost.outcome, lost.reason) == ("unreadable", "1 of 8 were not scored")
    lenient = {name: {**one, "coverage": 0.8} for name, one in {"good": GOOD, "agrees": KAPPA}.items()}
    assert judged(some, lenient).verdict == "pass"


def test_without_a_gate_on_agreement_nothing_is_run() -> None:
    """It is a fault of the config, which says which gate to add; so is a metric that is not there."""
    where = "gates.good: quality/grade is the opinion of a model, and no gate holds arm new's judge against people"
    todo = "add gates.judge_agrees={figure: agreement/judge/kappa, arm: new, floor: 0.6, bound: lower}"
    parts = {"metrics": METRICS, "gates": {"good": GOOD}, **ONE}
    assert faults_of(config(ITEMS, **parts)) == [f"{where}; {todo}"]
    alone = {**parts, "metrics": {"grade": METRICS["grade"]}}
    todo = "add +metric@metrics.agreement=judge_agreement (its `of` being grade) and a gate on its kappa"
    assert faults_of(config(ITEMS, **alone)) == [f"{where}; {todo}"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"report_only": True}, "it is report_only"),
        ({"expect": "fail"}, "it passes by failing"),
        ({"floor": -1.0}, "it asks for no agreement above 0"),
        ({"floor": 0.0}, "it asks for no agreement above 0"),
        ({"floor": None, "ceiling": 0.9}, "it asks for no agreement above 0"),
        ({"arm": "poor"}, "it reads a control"),
        ({"where": {"kind": "easy"}}, "its where is another"),
    ],
)
def test_a_gate_that_asks_for_nothing_does_not_count(change: dict[str, Any], why: str) -> None:
    """Nor does one without a say; the fault says why."""
    gates = {"good": {**GOOD, "arm": "new"}, "agrees": {**KAPPA, **change}}
    arms = {"new": {}, "poor": {"control": True}}
    (fault,) = faults_of(config(ITEMS, metrics=METRICS, gates=gates, arms=arms))
    assert f"(gate agrees does not count: {why}); add gates.judge_agrees" in fault


@pytest.mark.parametrize("figure", ["exact", "within_one", "bias", "human_kappa", "human_alpha"])
def test_agreement_that_chance_gives_or_of_people_alone_does_not_count(figure: str) -> None:
    """Only what chance is taken out of, and the judge is in: kappa, alpha, rank."""
    gates = {"good": GOOD, "agrees": {"figure": f"agreement/judge/{figure}", "floor": 0.6}}
    (fault,) = faults_of(config(ITEMS, metrics=METRICS, gates=gates, **ONE))
    assert fault.startswith("gates.good: quality/grade is the opinion of a model")


@pytest.mark.parametrize("figure", ["kappa", "alpha", "rank"])
def test_each_of_them_counts(figure: str) -> None:
    """As a floor, above 0 where it is strict, or between two values."""
    for threshold in ({"floor": 0.6}, {"floor": 0.0, "strict": True}, {"between": [0.6, 1.0]}):
        gates = {"good": GOOD, "agrees": {"figure": f"agreement/judge/{figure}", **threshold}}
        assert judged(rows(new=AGREES), gates).verdict == "pass"


def test_agreement_on_the_same_rows_counts_for_them() -> None:
    """A gate on some rows is proved by agreement on those, or on all."""
    items = [{**item, "kind": "easy" if item["id"] in "abcd" else "hard"} for item in ITEMS]
    ratings(new=PEOPLE)
    easy = {"kind": "easy"}
    for proof in ({}, {"where": easy}):
        gates = {"good": {**GOOD, "where": easy}, "agrees": {**KAPPA, **proof}}
        plan = plan_of(items, metrics=METRICS, gates=gates, **ONE)
        answers = [row(str(i["id"]), f"Rating: {g}", arm="new") for i, g in zip(items, AGREES, strict=True)]
        assert judge(score(plan, answers, (), ended(plan))).verdict == "pass"


def test_every_gate_on_agreement_has_to_pass() -> None:
    """One that passed does not make up for one that did not."""
    strict = {"figure": "agreement/judge/alpha", "floor": 0.95}
    slightly = (1, 2, 3, 4, 5, 4, 4, 3)
    found = judged(rows(new=slightly), {"good": GOOD, "agrees": KAPPA, "strict": strict}).gates
    assert (found["agrees"].outcome, found["strict"].outcome) == ("pass", "fail")
    assert found["good"].reason is not None
    assert found["good"].reason.startswith("its judge's agreement gate strict did not pass (fail: 0.")


def test_the_lower_end_of_few_ratings_is_not_read() -> None:
    """Eight rated answers have a kappa and no interval; the gate says how many it needs."""
    found = judged(rows(new=AGREES), {"good": GOOD, "agrees": {**KAPPA, "bound": "lower"}}).gates
    why = "the figure has no interval: an interval needs 20 rated items, not all alike"
    assert (found["agrees"].outcome, found["good"].outcome) == ("unreadable", "unreadable")
    assert found["agrees"].reason is not None
    assert found["agrees"].reason.startswith(why)
    assert found["agrees"].reason.endswith("and it is of 8")


def test_one_judge_may_be_proved_on_another_arm() -> None:
    """People rated the old arm's answers; the same judge graded the new ones."""
    ratings(old=PEOPLE)
    gates = {"good": {**GOOD, "arm": "new"}, "agrees": {**KAPPA, "arm": "old"}}
    assert judged(rows(old=AGREES, new=DIFFERS), gates, **TWO).verdict == "pass"
    assert judged(rows(old=DIFFERS, new=AGREES), gates, **TWO).gates["good"].outcome == "unreadable"


@pytest.mark.parametrize("other", [{"model": OTHER}, {"decoding": {"temperature": 0.5}}])
def test_another_judge_proves_nothing(other: dict[str, Any]) -> None:
    """Another model, or the same one drawn from otherwise: what agrees with people is not what graded."""
    gates = {"good": {**GOOD, "arm": "new"}, "agrees": {**KAPPA, "arm": "old"}}
    (fault,) = faults_of(config(ITEMS, metrics=METRICS, gates=gates, arms={"old": other, "new": {}}))
    assert "(gate agrees does not count: it reads another judge); add gates.judge_agrees" in fault


def test_two_judges_are_proved_each_for_itself() -> None:
    """One gate on every arm holds both; only the one that differs from people is not read."""
    arms = {"by_one": {}, "by_other": {"model": OTHER}}
    gates = {"one": {**GOOD, "arm": "by_one"}, "other": {**GOOD, "arm": "by_other"}, "agrees": KAPPA}
    found = judged(rows(by_one=AGREES, by_other=DIFFERS), gates, arms=arms).gates
    assert {name: one.outcome for name, one in found.items()} == {
        "one": "pass",
        "other": "unreadable",
        "agrees": "fail",
    }


def test_a_gate_on_every_arm_needs_every_judge() -> None:
    """It names the arm whose judge is not proved; a control's judge is nobody's business."""
    arms = {"by_one": {}, "by_other": {"model": OTHER}, "poor": {"model": {**OTHER, "otherwise": "x"}, "control": True}}
    ratings(by_one=PEOPLE, by_other=PEOPLE)
    answers = rows(by_one=AGREES, by_other=DIFFERS, poor=DIFFERS)
    found = gate(answers, {"good": GOOD, "agrees": KAPPA}, arms=arms)
    assert found.reason == "its judge's agreement gate agrees did not pass (fail: -1, wanted >= 0.6)"
    assert found.arm == "by_other"


def test_a_comparison_of_grades_needs_the_judges_of_both_arms() -> None:
    """Its difference is as much an opinion as they are."""
    compared = {"c": {"reference": "old", "candidate": "new", "figures": ["quality/grade"]}}
    parts = {**TWO, "comparisons": compared}
    gates = {"better": {"comparison": "c", "figure": "quality/grade", "floor": -3.0}, "agrees": {**KAPPA, "arm": "old"}}
    assert judged(rows(old=AGREES, new=AGREES), gates, **parts).verdict == "pass"
    refused = gate(rows(old=DIFFERS, new=AGREES), gates, "better", **parts)
    assert (refused.outcome, refused.comparison, refused.arm) == ("unreadable", "c", None)
    assert refused.reason == "arm old: its judge's agreement gate agrees did not pass (fail: -1, wanted >= 0.6)"
    (fault,) = faults_of(config(ITEMS, metrics=METRICS, gates={"better": gates["better"]}, **parts))
    assert fault.startswith("gates.better: quality/grade is the opinion of a model, and no gate holds arm old's judge")


def test_the_spread_of_grades_over_seeds_is_an_opinion_too() -> None:
    """Whoever says 3 throughout has none; what a judge's spread is worth, people say first."""
    spread = {"_target_": "evalflow.metric.seed_sd.SeedSd", "of": "grade"}
    metrics = {**METRICS, "sd": spread}
    gates = {"stable": {"figure": "stability/seed_sd", "ceiling": 0.5}}
    (fault,) = faults_of(config(ITEMS, metrics=metrics, gates=gates, **ONE))
    assert fault.startswith("gates.stable: stability/seed_sd is the opinion of a model")


def test_other_figures_are_read_as_ever() -> None:
    """How many rows have a grade, or how many were rated, is nobody's opinion."""
    gates = {"coverage": {"figure": "n/coverage", "floor": 1.0}, "agrees": KAPPA}
    found = judged(rows(new=DIFFERS), gates).gates
    assert (found["coverage"].outcome, found["agrees"].outcome) == ("pass", "fail")


def test_of_a_smoke_run_neither_is_read() -> None:
    """A gate that may be read on a part needs one on agreement that may."""
    ratings(new=PEOPLE)

    def outcomes(good: dict[str, Any], agrees: dict[str, Any]) -> list[tuple[str, str | None]]:
        gates = {"good": {**GOOD, **good}, "agrees": {**KAPPA, **agrees}}
        plan = plan_of(ITEMS, metrics=METRICS, gates=gates, limit=4, **ONE)
        found = judge(score(plan, rows(new=AGREES)[:4], (), ended(plan))).gates
        return [(found[name].outcome, found[name].reason) for name in gates]

    part, smoke = {"allow_partial": True}, ("unreadable", "smoke run: limit 4")
    doubted = "its judge's agreement gate agrees did not pass (unreadable: smoke run: limit 4)"
    assert outcomes({}, {}) == [smoke, smoke]
    assert outcomes(part, {}) == [("unreadable", doubted), smoke]
    assert outcomes(part, part) == [("pass", None), ("pass", None)]


def test_where_its_proof_was_skipped_a_gate_is_not_read() -> None:
    """An optional arm that is absent proves nothing; another gate on the same judge may."""
    ratings(old=PEOPLE, new=PEOPLE)
    arms = {"old": {"optional": True}, "new": {}}
    gates = {"good": {**GOOD, "arm": "new"}, "agrees": {**KAPPA, "arm": "old"}}
    found = gate(rows(new=AGREES), gates, arms=arms)
    assert (found.outcome, found.reason) == ("unreadable", "no gate on its judge's agreement with people was read")
    assert judged(rows(new=AGREES), {**gates, "also": {**KAPPA, "arm": "new"}}, arms=arms).verdict == "pass"


def test_a_gate_that_is_skipped_stays_so() -> None:
    """Of an optional arm that is absent, or under another condition, there is nothing to read."""
    warm = {**GOOD, "when": {"cache": "warm"}}
    assert gate(rows(new=DIFFERS), {"good": warm, "agrees": KAPPA}).outcome == "skipped"
    arms = {"old": {}, "new": {"optional": True}}
    gates = {"good": {**GOOD, "arm": "new"}, "agrees": {**KAPPA, "arm": "old"}}
    Path("ratings.csv").write_text(EMPTY, encoding="utf-8")
    assert gate(rows(old=AGREES), gates, arms=arms).outcome == "skipped"


def test_each_criterion_is_proved_by_its_own_agreement() -> None:
    """One reply may hold two grades; that people agree on the one says nothing of the other."""
    field = {"_target_": "evalflow.metric.grade.Grade", "field": "tone"}
    agreement = {**METRICS["agreement"], "of": "tone"}
    gates = {"kind": {"figure": "quality/tone", "floor": 2.0}, "agrees": KAPPA}
    metrics = {**METRICS, "tone": field, "tone_agreement": agreement}
    (fault,) = faults_of(config(ITEMS, metrics=metrics, gates=gates, **ONE))
    assert fault.startswith("gates.kind: quality/tone is the opinion of a model")
    assert fault.endswith("add gates.judge_agrees={figure: agreement/tone/kappa, arm: new, floor: 0.6, bound: lower}")
    gates["tone_agrees"] = {"figure": "agreement/tone/kappa", "floor": 0.6}
    assert set(plan_of(ITEMS, metrics=metrics, gates=gates, **ONE).gates) == {"kind", "agrees", "tone_agrees"}


def test_a_floor_that_every_grade_meets_is_refused() -> None:
    """On a scale from 1 a floor of 1 decides nothing."""
    gates = {"good": {**GOOD, "floor": 1.0}, "agrees": KAPPA}
    (fault,) = faults_of(config(ITEMS, metrics=METRICS, gates=gates, **ONE))
    assert fault.startswith("gates.good: quality/grade cannot but be >= 1")
