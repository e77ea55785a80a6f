"""Gates: what passes, what fails, what cannot be read, and what cannot be asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from evalflow.gate import Gate, Judged
from evalflow.record import Delta, Figure

NAME = "quality/exact"


def share(value: float, n: int = 60, low: float | None = None, high: float | None = None) -> Figure:
    return Figure(value, "share", low, high, n_total=n, n_scored=n)


def outcome(figure: Figure, **threshold: Any) -> str:
    return Gate(NAME, **threshold).on_figure(figure).outcome


@pytest.mark.parametrize(
    ("threshold", "value", "wanted"),
    [
        ({"floor": 0.7}, 0.7, "pass"),
        ({"floor": 0.7}, 0.699, "fail"),
        ({"floor": 0.7}, 0.8, "pass"),
        ({"floor": 0.7, "strict": True}, 0.7, "fail"),
        ({"floor": 0.7, "strict": True}, 0.701, "pass"),
        ({"floor": 0.0, "strict": True}, 0.0, "fail"),
        ({"ceiling": 0.05}, 0.05, "pass"),
        ({"ceiling": 0.05}, 0.051, "fail"),
        ({"ceiling": 0.05}, 0.0, "pass"),
        ({"ceiling": 0.05, "strict": True}, 0.05, "fail"),
        ({"ceiling": 0.05, "strict": True}, 0.049, "pass"),
        ({"equals": 1.0}, 1.0, "pass"),
        ({"equals": 1.0}, 0.999, "fail"),
        ({"equals": 0.0}, 0.0, "pass"),
        ({"between": (0.2, 0.4)}, 0.2, "pass"),
        ({"between": (0.2, 0.4)}, 0.4, "pass"),
        ({"between": (0.2, 0.4)}, 0.3, "pass"),
        ({"between": (0.2, 0.4)}, 0.19, "fail"),
        ({"between": (0.2, 0.4)}, 0.41, "fail"),
        ({"between": (0.3, 0.3)}, 0.3, "pass"),
    ],
)
def test_a_value_is_held_against_the_threshold(threshold: Mapping[str, Any], value: float, wanted: str):
    """Floors, ceilings and ranges include their ends, unless strict."""
    judged = Gate(NAME, **threshold).on_figure(share(value))
    assert judged == Judged(wanted, value, 60)


@pytest.mark.parametrize(
    ("threshold", "value"),
    [
        ({"floor": 0.15}, 42 / 60 - 33 / 60),  # 0.1499999999999999 in floats
        ({"ceiling": 0.3}, 0.1 + 0.2),  # 0.30000000000000004
        ({"equals": 0.3}, 0.1 + 0.2),
        ({"between": (0.0, 0.3)}, 0.1 + 0.2),
        ({"floor": 0.0}, -1e-17),
    ],
)
def test_rounding_decides_no_gate(threshold: Mapping[str, Any], value: float):
    """A value that is the threshold but for its last binary digit is the threshold."""
    assert outcome(share(value), **threshold) == "pass"
    delta = Delta(value, n_pairs=60)
    assert Gate(NAME, comparison="c", **threshold).on_delta(delta).outcome == "pass"


def test_rounding_does_not_make_a_strict_gate_pass():
    """A spread that is 0 but for rounding is not above 0."""
    assert outcome(share(1e-17), floor=0.0, strict=True) == "fail"
    assert outcome(share(0.1 + 0.2), floor=0.3, strict=True) == "fail"


@pytest.mark.parametrize(("bound", "wanted"), [("value", "pass"), ("lower", "fail"), ("upper", "pass")])
def test_a_bound_reads_an_end_of_the_interval(bound: str, wanted: str):
    """The lower end of [0.5, 0.9] is below a floor of 0.6, the value and the upper end are not."""
    judged = Gate(NAME, floor=0.6, bound=bound).on_figure(share(0.7, low=0.5, high=0.9))
    assert (judged.outcome, judged.value) == (wanted, {"value": 0.7, "lower": 0.5, "upper": 0.9}[bound])


def test_a_bound_of_no_interval_cannot_be_read():
    """A figure or delta without an interval has no end to gate on."""
    gate = Gate("mem/kv_bytes", ceiling=1e9, bound="upper")
    assert gate.on_figure(share(0.5)) == Judged("unreadable", None, 60, "the figure has no interval")
    delta = Delta(0.1, n_pairs=9)
    judged = Gate(NAME, comparison="c", floor=0.0, bound="lower").on_delta(delta)
    assert judged == Judged("unreadable", None, 9, "the delta has no interval")


@pytest.mark.parametrize(("value", "wanted"), [(37 / 41, "pass"), (36 / 41, "fail"), (1.0, "pass")])
def test_a_count_is_held_against_a_count(value: float, wanted: str):
    """37 of 41 meet a floor of 37, although 37/41 times 41 is no whole float."""
    gate = Gate(NAME, arm="warm", floor=37, count=True, of=41)
    judged = gate.on_figure(share(value, 41))
    assert (judged.outcome, judged.denominator) == (wanted, 41)
    assert judged.value == round(value * 41)


def test_a_count_with_rows_missing_cannot_be_read():
    """A share of items averaged over unequal numbers of seeds is no count, even where it comes out whole."""
    # item a wrong under three seeds, item b right under the one that answered: 0.5 of 4 rows, where 1 row is right
    figure = Figure(0.5, "share", n_total=6, n_scored=4, n_error=2)
    assert Gate(NAME, floor=2, count=True, coverage=0.5).on_figure(figure) == Judged(
        "unreadable", None, 4, "no count, 2 of 6 not scored"
    )


@pytest.mark.parametrize(("lost", "coverage", "wanted"), [(0, 1.0, "pass"), (1, 1.0, "unreadable"), (1, 0.9, "pass")])
@pytest.mark.parametrize("how", ["n_error", "n_excluded"])
def test_a_score_that_rose_because_items_failed_is_not_read(how: str, lost: int, coverage: float, wanted: str):
    """Whatever was not scored makes the gate unreadable, unless it says how much may be missing."""
    figure = Figure(1.0, n_total=10, n_scored=10 - lost, **{how: lost})
    judged = Gate(NAME, floor=0.5, coverage=coverage).on_figure(figure)
    assert judged.outcome == wanted
    assert wanted == "pass" or judged.reason == "1 of 10 were not scored"
    unpaired = Delta(0.2, n_pairs=10 - lost, unpaired=("x",) * lost)
    assert Gate(NAME, comparison="c", floor=0.1, coverage=coverage).on_delta(unpaired).outcome == wanted


def test_a_control_that_mostly_failed_to_answer_has_not_failed():
    """`expect: fail` is read on what was scored too: one wrong answer of sixty proves nothing."""
    gate = Gate(NAME, floor=0.6, expect="fail")
    assert gate.result(gate.on_figure(Figure(0.0, n_total=60, n_scored=1, n_error=59))).outcome == "unreadable"


def test_a_missing_row_makes_the_denominator_wrong():
    """With 40 of 41 rows scored, all of them right, the gate cannot be read, and says both numbers."""
    figure = Figure(1.0, n_total=41, n_scored=40, n_error=1)
    for count in (True, False):
        judged = Gate(NAME, floor=0.5, count=count, of=41, coverage=0.9).on_figure(figure)
        assert judged == Judged("unreadable", None, 40, "denominator 40, not 41")


def test_nothing_undefined_passes():
    """An undefined figure or delta is unreadable with its reason, whatever the threshold."""
    figure = Figure(None, n_total=19, reason="p95 needs n >= 20, has 19")
    for threshold in ({"floor": -1e9}, {"ceiling": 1e9}, {"equals": 0}, {"between": (-1e9, 1e9)}):
        assert Gate(NAME, **threshold).on_figure(figure) == Judged("unreadable", None, 19, "p95 needs n >= 20, has 19")
    delta = Delta(None, n_pairs=3, reason="no item was scored in both arms")
    judged = Gate(NAME, comparison="c", verdict="better").on_delta(delta)
    assert judged == Judged("unreadable", None, 3, "no item was scored in both arms")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_nothing_that_is_not_finite_passes(number: float):
    """NaN and the infinities are unreadable on either side of any threshold."""
    for threshold in ({"floor": 0.0}, {"ceiling": 0.0}, {"equals": 0.0}, {"between": (0.0, 1.0)}):
        assert outcome(share(number), **threshold) == "unreadable"
    assert Gate(NAME, comparison="c", floor=0.0).on_delta(Delta(number)).outcome == "unreadable"


def test_a_named_reason_passes_and_no_other():
    """`allow_reason` lets that one reason pass, once everything was scored; defined figures are still held."""
    gate = Gate("stability/seed_sd", floor=0.0, strict=True, allow_reason="saturated")
    saturated = Figure(None, n_total=60, n_scored=60, reason="saturated")
    assert gate.on_figure(saturated) == Judged("pass", None, 60, "saturated (allowed)")
    partly = Figure(None, n_total=60, n_scored=1, n_error=59, reason="saturated")
    assert gate.on_figure(partly) == Judged("unreadable", None, 1, "59 of 60 were not scored")
    assert gate.on_figure(Figure(None, reason="one seed")).outcome == "unreadable"
    assert gate.on_figure(share(0.0)).outcome == "fail"


@pytest.mark.parametrize(
    ("judged", "wanted", "reason"),
    [
        ("pass", "fail", "passed, where it should have failed"),
        ("fail", "pass", "failed, as it should"),
        ("unreadable", "unreadable", "why"),
        ("skipped", "skipped", "why"),
    ],
)
def test_a_control_is_expected_to_fail(judged: Any, wanted: str, reason: str):
    """`expect: fail` turns pass and fail round; what cannot be read stays so."""
    gate = Gate(NAME, floor=0.6, expect="fail", on_fail="look")
    result = gate.result(Judged(judged, 0.5, 60, "why"), arm="untrained", rows=("i (seed 0)",))
    assert (result.outcome, result.expected, result.reason) == (wanted, "fail", reason)
    assert result.rows == (("i (seed 0)",) if wanted == "fail" else ())
    assert result.on_fail == ("look" if wanted == "fail" else None)


def test_a_result_carries_what_was_held():
    """Figure, bound, threshold, denominator, arm and report_only go into the result; rows only where it failed."""
    gate = Gate(NAME, arm="warm", ceiling=8.0, bound="upper", report_only=True, on_fail="ship it off")
    failed = gate.result(Judged("fail", 9.0, 62), rows=("b (seed 0)", "a (seed 1)"))
    assert (failed.figure, failed.arm, failed.comparison) == (NAME, "warm", None)
    assert (failed.value, failed.bound, failed.threshold, failed.denominator) == (9.0, "upper", "<= 8", 62)
    assert (failed.rows, failed.on_fail) == (("b (seed 0)", "a (seed 1)"), "ship it off")
    assert failed.report_only
    passed = gate.result(Judged("pass", 7.0, 62), rows=("b (seed 0)",))
    assert (passed.rows, passed.on_fail, passed.outcome) == ((), None, "pass")
    named = Gate(NAME, floor=0.1).result(Judged("fail", 0.0, 1), arm="second")
    assert named.arm == "second"


@pytest.mark.parametrize(
    ("threshold", "text"),
    [
        ({"floor": 0.7}, ">= 0.7"),
        ({"floor": 0.0, "strict": True}, "> 0"),
        ({"ceiling": 8.0}, "<= 8"),
        ({"ceiling": 8.0, "strict": True}, "< 8"),
        ({"equals": 3}, "= 3"),
        ({"between": (0.2, 0.4)}, "in [0.2, 0.4]"),
        ({"comparison": "c", "verdict": "better"}, "better"),
        ({"comparison": "c", "verdict": "non_inferior", "margin": 0.1}, "non_inferior within 0.1"),
    ],
)
def test_the_threshold_reads_as_written(threshold: Mapping[str, Any], text: str):
    """The condition is told as a reader would write it."""
    assert Gate(NAME, **threshold).threshold == text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "it has no threshold; give one of"),
        ({"floor": 0.1, "ceiling": 0.2}, "it has floor and ceiling"),
        ({"equals": 0.0, "between": (0.0, 1.0)}, "it has equals and between"),
        ({"floor": 0.1, "verdict": "better", "comparison": "c"}, "it has floor and verdict"),
        ({"floor": 0.1, "arm": "a", "comparison": "c"}, "arm a and comparison c are both named"),
        ({"floor": math.nan}, "not finite"),
        ({"ceiling": math.inf}, "not finite"),
        ({"equals": -math.inf}, "not finite"),
        ({"between": (0.0, math.nan)}, "not finite"),
        ({"between": (-math.inf, 0.0)}, "not finite"),
        ({"verdict": "non_inferior", "comparison": "c", "margin": math.nan}, "not finite"),
        ({"between": (0.4, 0.2)}, r"between is \[0.4, 0.2\]; give the lower end first"),
        ({"verdict": "better"}, "verdict better without a comparison"),
        ({"verdict": "better", "comparison": "c", "margin": 0.1}, "margin belongs to"),
        ({"verdict": "non_inferior", "comparison": "c"}, "verdict non_inferior has no margin; give"),
        ({"verdict": "equivalent", "comparison": "c"}, "verdict equivalent has no margin; give"),
        ({"floor": 0.1, "margin": 0.1}, "margin belongs to"),
        ({"floor": 0.1, "coverage": 0.0}, "coverage is 0.0; give"),
        ({"floor": 0.1, "coverage": 1.1}, "coverage is 1.1; give"),
        ({"floor": 0.1, "comparison": "c", "allow_reason": "saturated"}, "allow_reason on a comparison"),
        ({"verdict": "non_inferior", "comparison": "c", "margin": 0.0}, "margin is 0.0; give a number above 0"),
        ({"verdict": "equivalent", "comparison": "c", "margin": -0.1}, "margin is -0.1"),
        ({"verdict": "better", "comparison": "c", "bound": "lower"}, "bound lower with a verdict"),
        ({"equals": 1.0, "strict": True}, "strict without a floor or ceiling"),
        ({"between": (0.0, 1.0), "strict": True}, "strict without a floor or ceiling"),
        ({"floor": 1, "count": True, "comparison": "c"}, "count reads the value of an arm's figure"),
        ({"floor": 1, "count": True, "bound": "lower"}, "count reads the value of an arm's figure"),
        ({"floor": 0.1, "comparison": "c", "where": {"kind": "x"}}, "where on a comparison"),
        ({"floor": 0.1, "comparison": "c", "when": {"concurrency": 1}}, "when on a comparison"),
        ({"floor": 0.1, "of": 0}, "of is 0; give at least 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings: Mapping[str, Any], said: str):
    """A gate that could not be held, or would ignore a setting, is refused with what to do."""
    with pytest.raises(ValueError, match=said) as refused:
        Gate(NAME, **settings)
    assert "; " in str(refused.value)


def delta(low: float, high: float, higher: bool = True, conclusion: Any = "not shown", clusters: int = 62) -> Delta:
    """A delta of 62 pairs with these one-sided bounds."""
    return Delta(
        (low + high) / 2,
        bound_low=low,
        bound_high=high,
        n_pairs=62,
        n_clusters=clusters,
        higher_is_better=higher,
        conclusion=conclusion,
    )


def verdict(name: Any, judged: Delta, margin: float | None = 0.1) -> str:
    return Gate(NAME, comparison="c", verdict=name, margin=margin).on_delta(judged).outcome


# for a metric of which more is better: (lower bound, upper bound) -> non-inferior, equivalent within 0.1
CASES = [
    (-0.05, 0.05, "pass", "pass"),
    (-0.05, 0.15, "pass", "unreadable"),  # half the width is 0.1: no smaller margin could pass
    (0.02, 0.15, "pass", "fail"),
    (0.12, 0.30, "pass", "fail"),  # clearly better: non-inferior, clearly not equivalent
    (-0.15, 0.02, "fail", "fail"),
    (-0.30, -0.12, "fail", "fail"),  # clearly worse
    (-0.60, -0.12, "fail", "fail"),  # clearly worse, however wide
    (0.12, 0.60, "pass", "fail"),
    (-0.20, 0.20, "unreadable", "unreadable"),
    (-0.10, 0.08, "fail", "fail"),  # the bound is the margin: not within it
]


@pytest.mark.parametrize(("low", "high", "non_inferior", "equivalent"), CASES)
def test_verdicts_with_a_margin_where_more_is_better(low: float, high: float, non_inferior: str, equivalent: str):
    """Non-inferior looks at the loss alone, equivalent at both; a margin beyond reach cannot be read."""
    assert verdict("non_inferior", delta(low, high)) == non_inferior
    assert verdict("equivalent", delta(low, high)) == equivalent


@pytest.mark.parametrize(("low", "high", "non_inferior", "equivalent"), CASES)
def test_verdicts_with_a_margin_where_less_is_better(low: float, high: float, non_inferior: str, equivalent: str):
    """The mirrored bounds of a time or an error share give the same answers."""
    assert verdict("non_inferior", delta(-high, -low, higher=False)) == non_inferior
    assert verdict("equivalent", delta(-high, -low, higher=False)) == equivalent


def test_a_time_that_rose_is_not_non_inferior():
    """Where less is better a rise beyond the margin fails, and a fall as large passes."""
    assert verdict("non_inferior", delta(0.12, 0.30, higher=False)) == "fail"
    assert verdict("non_inferior", delta(-0.30, -0.12, higher=False)) == "pass"


def test_a_margin_beyond_reach_says_so():
    """62 identical pairs exclude 1 - 0.05^(1/62) = 4.7 %: a margin of 4 % is unreadable, one of 5 % passes."""
    reach = 1 - 0.05 ** (1 / 62)
    assert reach == pytest.approx(0.0472, abs=1e-4)
    judged = Gate(NAME, comparison="c", verdict="non_inferior", margin=0.04).on_delta(delta(-reach, reach))
    assert judged.outcome == "unreadable"
    assert judged.reason == "a margin of 0.04 is beyond this run's reach (0.0472)"
    assert verdict("non_inferior", delta(-reach, reach), 0.05) == "pass"


def test_a_delta_without_bounds_cannot_be_within_a_margin():
    """A percentile's delta has no one-sided bound, so no margin can be read off it."""
    judged = Gate(NAME, comparison="c", verdict="equivalent", margin=0.1).on_delta(Delta(0.0, n_pairs=9))
    assert judged == Judged("unreadable", 0.0, 9, "the delta has no one-sided bound")


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize(
    ("conclusion", "wanted"), [("better", "pass"), ("worse", "fail"), ("not shown", "fail"), ("identical", "fail")]
)
def test_better_is_what_the_comparison_concluded(conclusion: str, wanted: str, higher: bool):
    """Only a shown improvement passes, in either direction, and the conclusion is the reason."""
    judged = Gate(NAME, comparison="c", verdict="better").on_delta(delta(0.0, 0.1, higher, conclusion))
    assert (judged.outcome, judged.reason) == (wanted, None if wanted == "pass" else conclusion)


def test_better_on_too_few_clusters_is_unreadable():
    """Five clusters can at best give p = 0.0625: at 0.05 the gate could never pass, so it was not failed either."""
    few = delta(0.0, 0.1, conclusion="not shown", clusters=5)
    judged = Gate(NAME, comparison="c", verdict="better").on_delta(few)
    assert judged == Judged("unreadable", 0.05, 62, "5 clusters can never show a difference at 0.05")


def test_a_comparison_is_held_by_its_delta():
    """On a comparison floors and ceilings read candidate minus reference, or an end of its interval."""
    rise = Delta(0.15, low=0.03, high=0.27, n_pairs=60)
    assert Gate(NAME, comparison="c", floor=0.1).on_delta(rise) == Judged("pass", 0.15, 60)
    assert Gate(NAME, comparison="c", ceiling=0.1).on_delta(rise) == Judged("fail", 0.15, 60)
    assert Gate(NAME, comparison="c", floor=0.1, bound="lower").on_delta(rise) == Judged("fail", 0.03, 60)
    assert Gate(NAME, comparison="c", ceiling=0.3, bound="upper").on_delta(rise) == Judged("pass", 0.27, 60)


def test_a_comparison_of_fewer_pairs_than_wanted_cannot_be_read():
    """`of` wants that many pairs, whatever the threshold."""
    judged = Gate(NAME, comparison="c", floor=0.0, of=62).on_delta(Delta(0.5, n_pairs=60))
    assert judged == Judged("unreadable", None, 60, "60 pairs, not 62")
    better = Gate(NAME, comparison="c", verdict="better", of=62)
    assert better.on_delta(delta(0.0, 0.1, conclusion="better")).outcome == "pass"


def test_the_worst_of_several_arms_has_the_least_slack():
    """Under a floor the lowest value is nearest to failing, over a ceiling the highest; other gates have no order."""
    assert min([0.5, 0.2, 0.9], key=Gate(NAME, floor=0.1).slack) == 0.2
    assert min([0.5, 0.2, 0.9], key=Gate(NAME, ceiling=1.0).slack) == 0.9
    assert Gate(NAME, equals=0.5).slack(0.7) == Gate(NAME, floor=0.1).slack(None) == 0.0


SESSIONS = "taken in 2 sessions (allow_sessions reads it)"


@pytest.mark.parametrize("allow", [True, False])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize(
    "threshold", [{"ceiling": 0.9}, {"floor": 0.1, "bound": "lower"}, {"equals": 0.7}, {"between": (0.6, 0.8)}]
)
def test_a_time_of_several_sessions_is_read_only_where_that_is_allowed(threshold: Any, n: int, allow: bool):
    """It is no one measurement: unreadable with the reason, whatever the threshold, unless the gate allows it."""
    taken = Figure(0.7, "s", 0.5, 0.9, n_total=9, n_scored=9, n_sessions=n)
    judged = Gate("lat/e2e_s/p50", allow_sessions=allow, **threshold).on_figure(taken)
    assert (judged.outcome, judged.reason) == (("pass", None) if n == 1 or allow else ("unreadable", SESSIONS))
    assert judged.denominator == 9


@pytest.mark.parametrize("allow", [True, False])
@pytest.mark.parametrize(
    "threshold", [{"floor": 0.0}, {"verdict": "better"}, {"verdict": "non_inferior", "margin": 1.0}]
)
def test_a_difference_over_several_sessions_is_read_only_where_that_is_allowed(threshold: Any, allow: bool):
    """What came between the sessions may be the difference."""
    taken = replace(delta(0.01, 0.1, conclusion="better"), n_sessions=2)
    judged = Gate(NAME, comparison="c", allow_sessions=allow, **threshold).on_delta(taken)
    assert (judged.outcome, judged.reason) == (("pass", None) if allow else ("unreadable", SESSIONS))


def test_a_control_over_several_sessions_has_not_failed():
    """`expect: fail` on a time that cannot be read is unreadable too."""
    gate = Gate("lat/e2e_s/p50", ceiling=0.1, expect="fail")
    taken = Figure(0.7, "s", n_total=9, n_scored=9, n_sessions=2)
    assert gate.result(gate.on_figure(taken)).outcome == "unreadable"
    assert gate.result(gate.on_figure(replace(taken, n_sessions=1))).outcome == "pass"


def test_an_undefined_time_says_why_it_is_undefined():
    """How many sessions it was taken in is beside the point."""
    judged = Gate("lat/e2e_s/p50", ceiling=9.0).on_figure(Figure(None, n_total=9, reason="too few", n_sessions=2))
    assert judged == Judged("unreadable", None, 9, "too few")


def test_between_two_bounds_the_nearest_has_the_least_slack():
    """Inside, outside and at either end: the distance to the nearer bound, below 0 beyond it."""
    gate = Gate(NAME, between=(0.2, 0.8))
    slacks = [gate.slack(value) for value in (0.5, 0.3, 0.7, 0.2, 0.8, 0.1, 1.0)]
    assert slacks == pytest.approx([0.3, 0.1, 0.1, 0.0, 0.0, -0.1, -0.2])
    assert gate.slack(None) == 0.0
    assert min([0.5, 0.75, 0.3], key=gate.slack) == 0.75


def test_two_arms_that_choose_alike_may_pass():
    """`no disagreement` is allowed by name, and only where nothing was lost on the way."""
    gate = Gate("parity/gap_disagree_nats", ceiling=0.1, allow_reason="no disagreement")
    assert gate.on_figure(Figure(None, reason="no disagreement")) == Judged(
        "pass", None, 0, "no disagreement (allowed)"
    )
    for reason in ("no disagreement (1 errors, 0 excluded)", "saturated", "empty: no row is kind x"):
        assert gate.on_figure(Figure(None, reason=reason)).outcome == "unreadable"
    assert gate.on_figure(Figure(0.05, n_total=3, n_scored=3)).outcome == "pass"
    assert gate.on_figure(Figure(0.2, n_total=3, n_scored=3)).outcome == "fail"
    control = replace(gate, expect="fail")
    assert control.result(control.on_figure(Figure(None, reason="no disagreement"))).outcome == "fail"


@pytest.mark.parametrize(
    ("low", "high", "outcome", "value"),
    [(-0.4, 0.5, "pass", 0.5), (-0.5, 1.5, "fail", 1.5), (-2.0, 0.5, "fail", -2.0), (-0.9, 0.5, "pass", -0.9)],
)
def test_both_ends_of_an_interval_have_to_hold(low: float, high: float, outcome: str, value: float) -> None:
    """What is between two thresholds is so with its whole interval; the end that decides is the one that is told."""
    held = Gate("x", between=(-1.0, 1.0), bound="both").on_figure(
        Figure(0.0, low=low, high=high, n_total=9, n_scored=9)
    )
    assert (held.outcome, held.value) == (outcome, value)


def test_both_ends_of_no_interval_are_unreadable() -> None:
    """A figure that has a value and no interval has not shown that it lies within anything."""
    held = Gate("x", between=(-1.0, 1.0), bound="both").on_figure(Figure(0.0, n_total=9, n_scored=9))
    assert (held.outcome, held.reason) == ("unreadable", "the figure has no interval")
