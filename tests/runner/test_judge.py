"""Figures become outcomes, outcomes a verdict, and the verdict an exit code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evalflow.errors import MetricError
from evalflow.record import Row, Times
from evalflow.runner.judge import Judgement, judge
from evalflow.runner.score import score
from evalflow.runner.trace import Traces
from tests.conftest import ITEMS, plan_of
from tests.runner.test_score import ended, row, trace, unavailable

pytestmark = pytest.mark.usefixtures("home")
PASS = {"figure": "quality/exact", "floor": 0.5}
FAIL = {"figure": "quality/exact", "ceiling": 0.9}
UNREADABLE = {"figure": "quality/exact", "floor": 0.5, "where": {"kind": "nobody"}}
TWO = {"one": {}, "two": {}}


def rows(*arms: str, wrong: str = "") -> list[Row]:
    return [row(item["id"], "wrong" if item["id"] in wrong else "right", arm=arm) for arm in arms for item in ITEMS]


def judged(answers: list[Row], traces: Traces | None = None, **parts: Any) -> Judgement:
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
    found = judged([], {"one": unavailable()}, gates={"g": PASS})
    assert (found.verdict, found.gates["g"].outcome) == ("incomplete", "unreadable")
    assert found.reasons == ("arm one is unavailable: no device",)


def test_an_absent_optional_arm_skips_its_gates_alone() -> None:
    """Gates on it, and on comparisons with it, are skipped and say so; the others decide."""
    found = judged(
        rows("one"),
        {"two": unavailable()},
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
    assert (lonely.outcome, lonely.reason) == ("unreadable", "no arm but controls has this figure")


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
    late = {"two": (trace(saturated=True),)}
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


E2E = {"e2e": {"_target_": "evalflow.metric.latency.E2e", "percentiles": [50]}}
SLOW = {"figure": "lat/e2e_s/p50", "ceiling": 9.0}
GAP = {"figure": "lat/e2e_s/p50", "comparison": "c", "ceiling": 9.0}
EXACT = {"exact": {"_target_": "evalflow.metric.exact_match.ExactMatch"}}


def timed(arm: str, second: str = "") -> list[Row]:
    """A right answer to each item, in a second each; those to the items in `second` came in another session."""
    times = Times(sent=1.0, end=2.0)
    return [row(item["id"], arm=arm, times=times, session="t" if item["id"] in second else "s") for item in ITEMS]


def resumed(second: dict[str, str], gates: dict[str, Any]) -> Judgement:
    """Two arms, of which the items in `second[arm]` were answered after the run was taken up again."""
    plan = plan_of(
        arms=TWO,
        metrics={**EXACT, **E2E},
        comparisons={"c": {"reference": "one", "candidate": "two", "figures": ["quality/exact", "lat/e2e_s/p50"]}},
        gates=gates,
    )
    rows = [one for arm in TWO for one in timed(arm, second.get(arm, ""))]
    return judge(score(plan, rows, (), ended(plan, "s", "t")))


def test_a_time_of_two_sessions_is_not_read_unless_the_gate_allows_it() -> None:
    """Answers of two sessions are read as ever; a time that is no one measurement is unreadable, and says why."""
    gates = {"floor": PASS, "slow": SLOW, "mixed": {**SLOW, "allow_sessions": True}}
    found = resumed({"one": "ef"}, {name: {**gate, "arm": "one"} for name, gate in gates.items()})
    assert {name: gate.outcome for name, gate in found.gates.items()} == {
        "floor": "pass",
        "slow": "unreadable",
        "mixed": "pass",
    }
    assert found.gates["slow"].reason == "taken in 2 sessions (allow_sessions reads it)"
    assert (found.verdict, int(found.exit_code)) == ("unreadable", 2)


def test_an_arm_of_one_session_is_read_though_the_run_has_two() -> None:
    """Only the arm in which the run stopped has times of two sessions."""
    found = resumed({"one": "ef", "two": "abcdef"}, {"slow": {**SLOW, "arm": "two"}})
    assert (found.gates["slow"].outcome, found.gates["slow"].value) == ("pass", pytest.approx(1.0))


@pytest.mark.parametrize(
    ("second", "n"), [({}, 1), ({"one": "ef"}, 2), ({"two": "abcdef"}, 2), ({"one": "abcdef", "two": "abcdef"}, 1)]
)
def test_a_difference_of_times_counts_the_sessions_of_both_sides(second: dict[str, str], n: int) -> None:
    """One arm then and the other now are two sessions, though each is whole; a share has no sessions."""
    gates = {
        "gap": GAP,
        "mixed": {**GAP, "allow_sessions": True},
        "exact": {**GAP, "figure": "quality/exact", "ceiling": 0.5},
    }
    found = resumed(second, gates)
    deltas = found.comparisons["c"]
    assert (deltas["lat/e2e_s/p50"].n_sessions, deltas["quality/exact"].n_sessions) == (n, None)
    assert ("taken in 2 sessions" in deltas["lat/e2e_s/p50"].words) == (n == 2)
    outcomes = {name: gate.outcome for name, gate in found.gates.items()}
    assert outcomes == {"gap": "pass" if n == 1 else "unreadable", "mixed": "pass", "exact": "pass"}


def test_items_that_lost_equally_are_named_in_their_own_order() -> None:
    """However the dataset or the config orders them, the same rows are said to have decided."""
    gate = {"figure": "quality/exact", "comparison": "c", "floor": 0.0}
    comparison = {"reference": "one", "candidate": "two", "figures": ["quality/exact"]}
    answers = rows("one") + rows("two", wrong="bdf")
    for items in (ITEMS, ITEMS[::-1]):
        plan = plan_of(items, arms=TWO, comparisons={"c": comparison}, gates={"g": gate})
        found = judge(score(plan, answers, (), ended(plan))).gates["g"]
        assert found.rows == ("b", "d", "f")


def test_an_arm_that_was_stopped_before_its_end_makes_the_run_incomplete() -> None:
    """It has a trace, and rows, and not the end of its last session."""
    plan = plan_of(gates={"g": PASS})
    found = judge(score(plan, rows("one"), (), {"one": (trace("s", ended=None),)}))
    assert (found.verdict, found.reasons) == ("incomplete", ("arm one did not finish: it has 6 of 6 rows",))


def test_an_arm_that_runs_at_last_is_read() -> None:
    """What kept it from running in an earlier session is past."""
    plan = plan_of(gates={"g": PASS})
    found = judge(score(plan, rows("one"), (), {"one": (trace("r", unavailable="no device"), trace("s"))}))
    assert (found.verdict, found.gates["g"].outcome) == ("pass", "pass")


def test_an_arm_that_was_not_one_instrument_is_compared_with_nothing() -> None:
    """Whichever side it is on, of quality too: the difference and its gate are unreadable, with the arm's reason."""
    comparison = {"reference": "one", "candidate": "two", "figures": ["quality/exact"]}
    gate = {"figure": "quality/exact", "comparison": "c", "floor": -0.5}
    for side in TWO:
        found = judged(
            rows("one") + rows("two", wrong="b"),
            {side: (trace(facts={"instrument_fault": "its version was 1, is 2"}),)},
            arms=TWO,
            comparisons={"c": comparison},
            gates={"g": gate},
        )
        delta = found.comparisons["c"]["quality/exact"]
        assert (delta.delta, delta.reason) == (None, "its version was 1, is 2")
        assert (found.gates["g"].outcome, found.verdict) == ("unreadable", "unreadable")


def test_a_run_that_was_cut_short_says_by_what() -> None:
    """Of the arm that a spent budget ended, and of one that it kept from beginning."""
    spent = {"ended": None, "cut_short": "the budget of 6 requests (runner.budget.requests) is spent"}
    cut = {"one": (trace(**spent),), "two": (trace(driver={}, **spent),)}
    found = judged(rows("one")[:2], cut, arms=TWO, gates={"g": PASS})
    assert (found.verdict, int(found.exit_code)) == ("incomplete", 3)
    for reason, begun in zip(found.reasons, ("arm one did not finish: it has 2", "arm two did"), strict=True):
        assert reason.startswith(begun) and spent["cut_short"] in reason


def test_the_words_of_a_comparison_have_the_figures_unit() -> None:
    """Times below a second are told in ms, a share has no unit."""
    figures = ["quality/exact", "lat/e2e_s/p50"]
    compared = {"pair": {"reference": "one", "candidate": "two", "figures": figures}}
    answers = [
        replace(row(item["id"], "right", arm=arm), times=Times(sent=1.0, end=1.0 + took))
        for arm, took in (("one", 0.25), ("two", 0.5))
        for item in ITEMS
    ]
    found = judged(answers, arms=TWO, metrics={**EXACT, **E2E}, comparisons=compared).comparisons["pair"]
    assert ": 500 ms against 250 ms; +250 ms" in found["lat/e2e_s/p50"].words
    assert ": 1 against 1; " in found["quality/exact"].words
