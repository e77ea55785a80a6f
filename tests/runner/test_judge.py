"""Figures become outcomes, outcomes a verdict, and the verdict an exit code."""

from __future__ import annotations

from typing import Any

import pytest

from evalflow.errors import MetricError
from evalflow.record import Row
from evalflow.runner.journal import ArmTrace
from evalflow.runner.judge import Judgement, judge
from evalflow.runner.score import score
from tests.conftest import ITEMS, plan_of
from tests.runner.test_score import ended, row

pytestmark = pytest.mark.usefixtures("home")
PASS = {"figure": "quality/exact", "floor": 0.5}
FAIL = {"figure": "quality/exact", "ceiling": 0.9}
UNREADABLE = {"figure": "quality/exact", "floor": 0.5, "where": {"kind": "nobody"}}
TWO = {"one": {}, "two": {}}


def rows(*arms: str, wrong: str = "") -> list[Row]:
    return [row(item["id"], "wrong" if item["id"] in wrong else "right", arm=arm) for arm in arms for item in ITEMS]


def judged(answers: list[Row], traces: dict[str, ArmTrace] | None = None, **parts: Any) -> Judgement:
    plan = plan_of(**parts)
    return judge(score(plan, answers, (), {**ended(plan), **(traces or {})}))


@pytest.mark.parametrize(
    ("gates", "verdict", "code"),
    [
        ([PASS], "pass", 0),
        ([PASS, FAIL], "fail", 1),
        ([PASS, UNREADABLE], "unreadable", 2),
        ([UNREADABLE, FAIL, PASS], "fail", 1),
        ([PASS, {**FAIL, "report_only": True}], "pass", 0),
        ([PASS, {**UNREADABLE, "report_only": True}], "pass", 0),
        ([{**PASS, "report_only": True}], "unreadable", 2),
        ([], "unreadable", 2),
        ([{**PASS, "when": {"cache": "warm"}}], "unreadable", 2),
        ([{**FAIL, "when": {"cache": "warm"}}, PASS], "pass", 0),
        ([{**FAIL, "expect": "fail"}], "pass", 0),
        ([{**PASS, "expect": "fail"}], "fail", 1),
        ([{**UNREADABLE, "expect": "fail"}], "unreadable", 2),
    ],
)
def test_the_worst_deciding_gate_is_the_verdict(gates: list[dict[str, Any]], verdict: str, code: int) -> None:
    """Fail before unreadable before pass; report-only and skipped gates decide nothing; no gate, no verdict."""
    found = judged(rows("one"), gates={f"g{i}": gate for i, gate in enumerate(gates)})
    assert (found.verdict, int(found.exit_code)) == (verdict, code)


def test_a_run_that_no_gate_decided_says_so() -> None:
    """Without a deciding gate the reason stands beside the verdict."""
    assert judged(rows("one")).reasons == ("no gate decided anything",)


def test_a_missing_row_makes_the_run_incomplete() -> None:
    """A passing gate does not hide that an arm lacks rows; the arm and the count are named."""
    found = judged(rows("one")[:5], gates={"g": PASS})
    assert (found.verdict, int(found.exit_code)) == ("incomplete", 3)
    assert found.reasons == ("arm one has 5 of 6 rows",)


def test_an_arm_that_did_not_finish_makes_the_run_incomplete() -> None:
    """Without a word that it ended an arm is not finished, whether it left all of its rows, some or none."""
    plan = plan_of(arms={"one": {}, "two": {}, "three": {"optional": True}}, gates={"g": {**PASS, "arm": "one"}})
    answers = rows("one", "two")[:10]
    found = judge(score(plan, answers, (), {name: trace for name, trace in ended(plan).items() if name == "zzz"}))
    assert (found.verdict, int(found.exit_code), found.gates["g"].outcome) == ("incomplete", 3, "pass")
    assert found.reasons == (
        "arm one did not finish: it has 6 of 6 rows",
        "arm two did not finish: it has 4 of 6 rows",
        "arm three did not finish: it has 0 of 6 rows",
    )


def test_an_absent_arm_makes_its_gates_unreadable_and_the_run_incomplete() -> None:
    """The reason is the arm's own."""
    found = judged([], {"one": ArmTrace(0, "now", unavailable="no device")}, gates={"g": PASS})
    assert (found.verdict, found.gates["g"].outcome) == ("incomplete", "unreadable")
    assert found.reasons == ("arm one is unavailable: no device",)


def test_an_absent_optional_arm_skips_its_gates_alone() -> None:
    """Gates on it, and on comparisons with it, are skipped and say so; the others decide."""
    found = judged(
        rows("one"),
        {"two": ArmTrace(1, "now", unavailable="no device")},
        arms={"one": {}, "two": {"optional": True}},
        comparisons={"c": {"reference": "one", "candidate": "two", "figures": ["quality/exact"]}},
        gates={
            "own": {**PASS, "arm": "two"},
            "both": {"figure": "quality/exact", "comparison": "c", "floor": 0},
            "one": {**PASS, "arm": "one"},
        },
    )
    assert {name: gate.outcome for name, gate in found.gates.items()} == {
        "own": "skipped",
        "both": "skipped",
        "one": "pass",
    }
    assert found.gates["own"].reason == "arm two: no device"
    assert int(found.exit_code) == 0


def test_a_gate_without_an_arm_holds_for_every_arm() -> None:
    """One arm below the floor fails it, and is named with its rows."""
    found = judged(rows("one") + rows("two", wrong="abcd"), arms=TWO, gates={"g": PASS}).gates["g"]
    assert (found.outcome, found.arm, found.value) == ("fail", "two", pytest.approx(1 / 3))
    assert found.rows == ("a (seed 0)", "b (seed 0)", "c (seed 0)", "d (seed 0)")


def test_a_gate_without_an_arm_passes_over_controls() -> None:
    """A control is there to fail; where all arms are controls nothing can be read."""
    arms = {"one": {}, "two": {"control": True}}
    assert judged(rows("one") + rows("two", wrong="abcdef"), arms=arms, gates={"g": PASS}).verdict == "pass"
    lonely = judged(rows("one"), arms={"one": {"control": True}}, gates={"g": PASS}).gates["g"]
    assert (lonely.outcome, lonely.reason) == ("unreadable", "every arm is a control")


@pytest.mark.parametrize(
    ("figure", "lost"),
    [("quality/exact", ("b", "d")), ("n/error_share", ("c",))],
)
def test_a_failed_comparison_names_the_items_that_were_lost(figure: str, lost: tuple[str, ...]) -> None:
    """What the candidate got wrong and the reference got right, worst first; what both got wrong decided nothing."""
    arms = {"one": {"seeds": [0, 1]}, "two": {"seeds": [0, 1]}}
    wrong = {("one", 0): "ae", ("one", 1): "a", ("two", 0): "abd", ("two", 1): "abe"}
    answers = [
        row(item["id"], "wrong" if item["id"] in said else "right", seed, arm)
        for (arm, seed), said in wrong.items()
        for item in ITEMS
    ]
    failed = {("two", 1, "c"): "error"} if figure == "n/error_share" else {}
    answers = [row(one.item_id, None, one.seed, one.arm) if one.key in failed else one for one in answers]
    gate = {"figure": figure, "comparison": "c", "between": [0.9, 1.0]}
    comparison = {"reference": "one", "candidate": "two", "figures": [figure]}
    found = judged(answers, arms=arms, comparisons={"c": comparison}, gates={"g": gate}).gates["g"]
    assert (found.outcome, found.rows) == ("fail", lost)


def test_a_failed_comparison_without_a_loss_names_nothing() -> None:
    """Arms that are wrong on the same items differ on none."""
    gate = {"figure": "quality/exact", "comparison": "c", "verdict": "better"}
    comparison = {"reference": "one", "candidate": "two", "figures": ["quality/exact"]}
    answers = rows("one", "two", wrong="abcdef")
    found = judged(answers, arms=TWO, comparisons={"c": comparison}, gates={"g": gate}).gates["g"]
    assert (found.outcome, found.rows) == ("fail", ())


def test_a_metric_that_breaks_in_a_comparison_is_named() -> None:
    """Its value is foreign code there too."""
    metrics = {"odd": {"_target_": "tests.runner.test_score.Odd", "gives": "value"}}
    comparison = {"reference": "one", "candidate": "two", "figures": ["quality/odd"]}
    with pytest.raises(MetricError, match=r"^metrics\.odd: TypeError: '1\.0' is no number"):
        judged(rows("one", "two"), arms=TWO, metrics=metrics, comparisons={"c": comparison})


def test_a_passing_gate_names_no_rows() -> None:
    """Rows are listed where they decided against."""
    assert judged(rows("one", wrong="a"), gates={"g": PASS}).gates["g"].rows == ()


def test_a_smoke_run_leaves_its_gates_unread() -> None:
    """On a part of the dataset a gate is unreadable and names the part, unless it allows that."""
    gates = {"g": PASS, "h": {**PASS, "allow_partial": True}}
    found = judged(rows("one")[:3], limit=3, gates=gates)
    assert (found.gates["g"].outcome, found.gates["g"].reason) == ("unreadable", "smoke run: limit 3")
    assert found.gates["h"].outcome == "pass"
    assert int(found.exit_code) == 2


def test_every_compared_figure_is_one_family() -> None:
    """Two comparisons of 6 wins each have p = 2 x 0.5^6 = 0.03125, and Holm doubles both to 0.0625: not shown."""
    arms = {"one": {}, "two": {}, "three": {}}
    pair = {"reference": "one", "figures": ["quality/exact"]}
    comparisons = {"c": {**pair, "candidate": "two"}, "d": {**pair, "candidate": "three"}}
    answers = rows("one", wrong="abcdef") + rows("two", "three")
    alone = judged(answers, arms=arms, comparisons={"c": comparisons["c"]}).comparisons["c"]["quality/exact"]
    assert (alone.p, alone.conclusion) == (pytest.approx(0.03125), "better")
    both = judged(answers, arms=arms, comparisons=comparisons).comparisons
    for name in ("c", "d"):
        delta = both[name]["quality/exact"]
        assert (delta.p_adjusted, delta.conclusion) == (pytest.approx(0.0625), "not shown")


def test_a_saturated_side_makes_a_timed_comparison_undefined() -> None:
    """Either arm's driver spoils the difference of times, and leaves that of answers."""
    metrics = {
        "exact": {"_target_": "evalflow.metric.exact_match.ExactMatch"},
        "e2e": {"_target_": "evalflow.metric.latency.E2e"},
    }
    comparison = {"reference": "one", "candidate": "two", "figures": ["quality/exact", "lat/e2e_s/p50"]}
    late = {"two": ArmTrace(1, "now", {"saturated": True})}
    found = judged(rows("one", "two"), late, arms=TWO, metrics=metrics, comparisons={"c": comparison}).comparisons["c"]
    assert found["lat/e2e_s/p50"].reason == "the driver was saturated"
    assert found["quality/exact"].conclusion == "identical"


def test_a_side_that_did_not_finish_makes_a_timed_comparison_undefined() -> None:
    """Its driver's lag is not known."""
    metrics = {"e2e": {"_target_": "evalflow.metric.latency.E2e"}}
    comparison = {"reference": "one", "candidate": "two", "figures": ["lat/e2e_s/p50"]}
    plan = plan_of(arms=TWO, metrics=metrics, comparisons={"c": comparison})
    traces = {"one": ended(plan)["one"]}
    delta = judge(score(plan, rows("one", "two"), (), traces)).comparisons["c"]["lat/e2e_s/p50"]
    assert delta.reason == "the driver's own lag is not known"
