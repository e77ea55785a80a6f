"""Rows become figures: denominators, exclusions, seeds and groupings."""

from __future__ import annotations

import asyncio
import math
import sys
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from evalflow.errors import MetricError
from evalflow.metric.protocol import Answer, Grain, Metric, RowPair
from evalflow.numeric.interval import Interval
from evalflow.record import Item, Probe, Row, RowError, Times, to_json
from evalflow.runner.plan import Plan
from evalflow.runner.score import Scores, score
from evalflow.runner.trace import ArmTrace, Traces
from evalflow.serving.protocol import Served
from tests.conftest import ITEMS, config, faults_of, plan_of

pytestmark = pytest.mark.usefixtures("home")
EXACT = {"exact": {"_target_": "evalflow.metric.exact_match.ExactMatch"}}
HOLED = "tests.stand_ins.Holed"


def row(item: str, draft: str | None = "right", seed: int = 0, arm: str = "one", **fields: Any) -> Row:
    failed = {"status": "error", "error": RowError("x", "y")} if draft is None else {"status": "ok"}
    stop = None if draft is None else "stop"
    settings = {"run_id": "r", "session": "s", "arm": arm, "seed": seed, "item_id": item, "draft": draft}
    return Row(**{**settings, "served": draft, "finish_reason": stop, **failed, **fields})


def trace(session: str = "s", ended: str | None = "then", saturated: bool | None = False, **known: Any) -> ArmTrace:
    """An arm's account of one session: by default it came to its end under a driver that was on time."""
    return ArmTrace(session, 0, "now", 1, ended, **{"driver": {"saturated": saturated}, **known})


def ended(plan: Plan, *sessions: str) -> dict[str, tuple[ArmTrace, ...]]:
    """Every arm, run to its end in session `s`, or in several sessions of which only the last came to the end."""
    *before, last = sessions or ("s",)
    return {name: (*(trace(one, None) for one in before), trace(last)) for name in plan.arms}


def unavailable(why: str = "no device") -> tuple[ArmTrace, ...]:
    return (trace(driver={}, unavailable=why),)


def scored(plan: Plan, rows: list[Row], traces: Traces | None = None, probes: Any = ()) -> Scores:
    return score(plan, rows, probes, ended(plan) if traces is None else traces)


def counts(scores: Scores, figure: str, **kwargs: Any) -> tuple[int, int, int, int]:
    found = scores.figures("one", **kwargs)[figure]
    return (found.n_total, found.n_scored, found.n_excluded, found.n_error)


def test_a_figure_counts_what_it_left_out() -> None:
    """hc04: of five items two right, one wrong, one in error, one NaN: 2 of 3 scored, and coverage 3 of 5."""
    plan = plan_of(ITEMS[:5], metrics={"h": {"_target_": HOLED, "holes": ["d"]}})
    scores = scored(plan, [row("a"), row("b", "wrong"), row("c", None), row("d"), row("e")])
    figures = scores.figures("one")
    assert figures["quality/h"].value == pytest.approx(2 / 3)
    assert counts(scores, "quality/h") == (5, 3, 1, 1)
    assert figures["n/coverage"].value == pytest.approx(0.6)
    assert figures["n/error_share"].value == pytest.approx(0.2)


def test_a_planned_row_that_never_came_counts_as_failed() -> None:
    """A row that is not there is in the total and among the errors, never left out of both."""
    assert counts(scored(plan_of(ITEMS[:3]), [row("a")]), "quality/exact") == (3, 1, 0, 2)


def test_rows_that_the_plan_does_not_know_are_left_out() -> None:
    """Other arms, other seeds and other items are nothing to this plan."""
    rows = [row("a"), row("a", arm="two"), row("a", seed=9), row("zzz")]
    scores = scored(plan_of(ITEMS[:1]), rows)
    assert [one.key for one in scores.rows] == [("one", 0, "a")]


def test_the_last_row_of_a_key_stands() -> None:
    """Of two answers to one question the later one in the file is scored."""
    scores = scored(plan_of(ITEMS[:1]), [row("a", "wrong"), row("a", "right")])
    assert scores.figures("one")["quality/exact"].value == 1.0


def test_rows_are_kept_in_the_plans_order_however_they_came() -> None:
    """Completion order is forgotten: rows stand by seed, then item."""
    plan = plan_of(ITEMS[:3], arms={"one": {"seeds": [1, 0]}})
    rows = [row(item, seed=seed) for seed in (0, 1) for item in "cab"]
    assert [(one.seed, one.item_id) for one in scored(plan, rows).rows] == [
        *((1, item) for item in "abc"),
        *((0, item) for item in "abc"),
    ]


def test_seeds_of_one_item_are_averaged_before_items_are() -> None:
    """Item a is right under 1 of 2 seeds, item b under its only scored one: (0.5 + 1) / 2, not 2 of 3."""
    plan = plan_of(ITEMS[:2], arms={"one": {"seeds": [0, 1]}})
    scores = scored(plan, [row("a"), row("a", "wrong", 1), row("b"), row("b", None, 1)])
    assert scores.figures("one")["quality/exact"].value == pytest.approx(0.75)
    # for a pair, an item that lacks a seed is left out: it would be compared on what it happened to answer
    assert scores.item_stats("one", "exact") == {"a": (0.5,)}


def test_a_figure_of_one_seed_reads_that_seed_alone() -> None:
    """By seed, the figure is over that pass."""
    plan = plan_of(ITEMS[:2], arms={"one": {"seeds": [0, 1]}})
    scores = scored(plan, [row("a"), row("b"), row("a", "wrong", 1), row("b", "right", 1)])
    assert [scores.figures("one", seeds=(seed,))["quality/exact"].value for seed in (0, 1)] == [1.0, 0.5]


@pytest.mark.parametrize(
    ("where", "n", "value"),
    [({"kind": "x"}, 2, 0.5), ({"kind": ["x", "y"]}, 3, 2 / 3), ({"id": "c"}, 1, 1.0), ({"status": "ok"}, 3, 2 / 3)],
)
def test_where_chooses_rows(where: dict[str, Any], n: int, value: float) -> None:
    """A value, or any of a list of values, by kind, id or status; the denominator follows."""
    kinds = {"a": "x", "b": "x", "c": "y"}
    plan = plan_of([{**item, "kind": kinds[item["id"]]} for item in ITEMS[:3]])
    scores = scored(plan, [row("a", kind="x"), row("b", "wrong", kind="x"), row("c", kind="y")])
    figure = scores.figures("one", where)["quality/exact"]
    assert (figure.n_total, figure.value) == (n, pytest.approx(value))


def test_where_that_matches_nothing_is_undefined_and_says_so() -> None:
    """An empty denominator has no value, never 0."""
    figure = scored(plan_of(ITEMS[:1]), [row("a")]).figures("one", {"kind": "zzz"})["quality/exact"]
    assert (figure.value, figure.n_total, figure.reason) == (None, 0, "empty: no row is kind zzz")


def test_nothing_scored_is_undefined_and_says_why() -> None:
    """All rows in error: no value, and the reason counts them."""
    figure = scored(plan_of(ITEMS[:2]), [row("a", None), row("b", None)]).figures("one")["quality/exact"]
    assert (figure.value, figure.reason) == (None, "nothing scored (2 errors, 0 excluded)")


@pytest.mark.parametrize("gives", ["nan", "inf", "-inf"])
def test_a_value_that_is_not_finite_is_undefined(gives: str) -> None:
    """Whatever a metric returns, no figure is NaN or infinite."""
    plan = plan_of(ITEMS[:1], metrics={"h": {"_target_": "tests.stand_ins.NotANumber", "gives": gives}})
    figure = scored(plan, [row("a")]).figures("one")["quality/h"]
    assert figure.value is None
    assert figure.reason is not None
    assert math.isnan(float(gives)) or "inf" in figure.reason


def test_an_arm_that_could_not_run_has_no_figure() -> None:
    """Each of its figures is undefined with the arm's reason."""
    figures = scored(plan_of(), [], {"one": unavailable()}).figures("one")
    assert {figure.reason for figure in figures.values()} == {"arm unavailable: no device"}


def test_a_saturated_driver_makes_times_unreadable_and_nothing_else() -> None:
    """Times measured by a late driver are undefined; what was answered is not."""
    plan = plan_of(ITEMS[:1], metrics={**EXACT, "e2e": {"_target_": "evalflow.metric.latency.E2e"}})
    figures = scored(plan, [row("a")], {"one": (trace(saturated=True),)}).figures("one")
    assert {name for name, figure in figures.items() if figure.reason == "the driver was saturated"} == {
        "lat/e2e_s/p50",
        "lat/e2e_s/p95",
    }
    assert figures["quality/exact"].value == 1.0


def test_an_arm_that_did_not_finish_has_no_times() -> None:
    """Killed while it ran, an arm left rows and no word of its driver's lag: what was answered is read, times not."""
    plan = plan_of(ITEMS[:1], metrics={**EXACT, "e2e": {"_target_": "evalflow.metric.latency.E2e"}})
    figures = scored(plan, [row("a", times=Times(sent=1.0, end=2.0))], {}).figures("one")
    assert figures["lat/e2e_s/p50"].reason == "the driver's own lag is not known"
    assert figures["quality/exact"].value == 1.0
    assert scored(plan, [row("a", times=Times(sent=1.0, end=2.0))]).figures("one")["lat/e2e_s/p50"].value == 1.0


def test_an_arm_that_was_not_run_says_so() -> None:
    """No trace and no row: nothing of it is read."""
    figures = scored(plan_of(), [], {}).figures("one")
    assert {figure.reason for figure in figures.values()} == {"the arm was not run"}


def test_what_a_row_is_of_is_its_items_to_say() -> None:
    """A row's copy of kind, cluster and prefix group counts for nothing in `where`, in clusters and for metrics."""
    items = [{**ITEMS[i], "kind": "x", "cluster": f"c{i}", "prefix_group": "g"} for i in range(4)]
    sound = [row(item["id"], "right" if i else "wrong") for i, item in enumerate(items)]
    edited = [replace(one, kind="y", cluster="same", prefix_group="h") for one in sound]
    plan = plan_of(items)
    wanted, found = scored(plan, sound), scored(plan, edited)
    for where in ({"kind": "x"}, {"kind": "y"}, {"cluster": "c0"}, {"prefix_group": "g"}, {"id": ["a", "b"]}, {}):
        assert found.figures("one", where) == wanted.figures("one", where)
    assert found.rows == wanted.rows
    assert next((one.kind, one.cluster, one.prefix_group) for one in found.rows) == ("x", "c0", "g")


@pytest.mark.parametrize("gives", ["float32", "int64", "bool", "bool_", "int", "list", "array", "half"])
def test_any_number_is_a_statistic(gives: str) -> None:
    """Numpy's scalars, whole numbers and truths become floats; so does the value over them."""
    plan = plan_of(ITEMS[:1], metrics={"odd": {"_target_": "tests.runner.test_score.Odd", "gives": gives}})
    scores = scored(plan, [row("a")])
    (stats,) = [one.stats["odd"] for one in scores.rows]
    assert stats is not None and [type(number) for number in stats] == [float]
    figure = scores.figures("one")["quality/odd"]
    assert (figure.value, type(figure.value), type(figure.low)) == (1.0, float, float)
    assert scores.rows[0].detail["odd"] == {"array": [1.0, 2.0], "number": 0.5, "tuple": [1]}
    to_json(scores.rows[0])
    to_json(figure)


@pytest.mark.parametrize("gives", ["float", "str", "text", "object", "exit", "cancel", "empty", "value", "bound"])
def test_what_is_no_statistic_names_the_metric(gives: str) -> None:
    """A bare number, a text, or an attempt to end the process is that metric's fault, told in one sentence."""
    plan = plan_of(ITEMS[:1], metrics={"odd": {"_target_": "tests.runner.test_score.Odd", "gives": gives}})
    with pytest.raises(MetricError, match=r"^metrics\.odd: .*; mend the metric and score the run again"):
        scored(plan, [row("a")]).figures("one")


def test_an_interval_that_is_not_finite_is_none() -> None:
    """The value stays, and no infinity gets into a report."""
    plan = plan_of(ITEMS[:1], metrics={"odd": {"_target_": "tests.runner.test_score.Odd", "gives": "wide"}})
    figure = scored(plan, [row("a")]).figures("one")["quality/odd"]
    assert (figure.value, figure.low, figure.high) == (1.0, None, None)


@dataclass(frozen=True)
class Odd(Metric):
    """Gives statistics of odd types."""

    gives: str

    def stats(self, unit: Answer) -> Any:
        if self.gives == "exit":
            sys.exit(0)
        if self.gives == "cancel":
            raise asyncio.CancelledError
        odd: dict[str, Any] = {
            "float32": (np.float32(1.0),),
            "int64": (np.int64(1),),
            "bool": (True,),
            "bool_": (np.bool_(True),),
            "int": (1,),
            "list": [1.0],
            "array": np.array([1.0]),
            "half": (np.float16(1.0),),
            "float": 1.0,
            "str": ("1.0",),
            "text": "1.0",
            "object": (object(),),
            "empty": (),
        }
        return odd.get(self.gives, (1.0,))

    def value(self, stack: Any) -> Any:
        return "1.0" if self.gives == "value" else np.float32(super().value(stack))

    def interval(self, stack: Any, clusters: Any, level: float) -> Any:
        low = {"bound": "0", "wide": -math.inf}.get(self.gives, np.float32(0))
        return Interval(low, np.float64(2), level, "made up")  # type: ignore[arg-type]

    def detail(self, unit: Answer) -> Any:
        return {"array": np.array([1.0, 2.0]), "number": np.float32(0.5), "tuple": (np.int64(1),)}


def test_a_measurement_that_the_model_has_not_is_undefined() -> None:
    """A figure over measurements says which one is absent, and has a value once it is there."""
    plan = plan_of(ITEMS[:1], metrics={"b": {"_target_": "evalflow.metric.memory.ParamBytes"}})
    absent = scored(plan, [row("a")]).figures("one")["mem/param_bytes"]
    assert (absent.value, absent.reason) == (None, "no measurement memory was taken, or the model has none")
    probes = [Probe("one", "memory", {"param_bytes": 8.0}), Probe("two", "memory", {"param_bytes": 99.0})]
    assert scored(plan, [row("a")], probes=probes).figures("one")["mem/param_bytes"].value == 8.0


def test_the_worst_rows_are_named_worst_first() -> None:
    """Rows below the best one, with their seed; in a figure where less is better, those above it."""
    scores = scored(plan_of(ITEMS[:3]), [row("a", "wrong"), row("b"), row("c", None)])
    assert scores.worst("one", "exact", {}) == ("a (seed 0)",)
    assert scores.worst("one", "error_share", {}) == ("c (seed 0)",)
    assert scores.worst("one", "exact", {"id": "b"}) == ()


def test_where_every_row_is_wrong_every_row_is_named() -> None:
    """The best of a share is known, so equal failure is not taken for the best there is."""
    scores = scored(plan_of(ITEMS[:2]), [row("a", "wrong"), row("b", "wrong")])
    assert scores.worst("one", "exact", {}) == ("a (seed 0)", "b (seed 0)")


def test_scoring_again_gives_the_same() -> None:
    """Rows that were scored before are scored afresh, to the same rows."""
    plan = plan_of(ITEMS[:2])
    once = scored(plan, [row("a"), row("b", "wrong")])
    again = scored(plan, once.rows)
    assert again.rows == once.rows
    assert again.figures("one") == once.figures("one")


def test_what_an_unfinished_arm_never_measured_is_not_called_unmeasurable() -> None:
    """Measurements are kept when an arm ends: one that was killed has none, whatever its model can do."""
    plan = plan_of(ITEMS[:1], metrics={"bytes": {"_target_": "evalflow.metric.memory.ParamBytes"}})
    figures = score(plan, [row("a")], (), {}).figures("one")
    assert figures["mem/param_bytes"].reason == "the arm did not finish"


E2E = {"e2e": {"_target_": "evalflow.metric.latency.E2e", "percentiles": [50]}}
SPEED = {"fixed": {"_target_": "evalflow.metric.fixed_length.FixedDecode"}}


def test_a_time_counts_the_sessions_that_it_was_taken_in() -> None:
    """Only rows that gave a time count, only figures of time count, and one session is one."""
    plan = plan_of(ITEMS[:3], metrics={**EXACT, **E2E})
    times = Times(sent=1.0, end=2.0)
    rows = [row("a", times=times), row("b", times=times), row("c", None, session="t")]
    figures = scored(plan, rows, ended(plan, "s", "t")).figures("one")
    timed = {name: figure.n_sessions for name, figure in figures.items() if figure.n_sessions is not None}
    assert set(timed.values()) == {1} and all(name.startswith("lat/") for name in timed)
    rows[1] = replace(rows[1], session="t")
    found = scored(plan, rows, ended(plan, "s", "t"))
    figures = found.figures("one")
    assert figures["lat/e2e_s/p50"].n_sessions == 2
    assert {figure.n_sessions for name, figure in figures.items() if name != "lat/e2e_s/p50"} == {None}
    assert found.figure("one", "lat/e2e_s/p50", {"id": "a"}).n_sessions == 1
    assert found.figure("one", "lat/e2e_s/p50", {"id": "c"}).n_sessions is None  # nothing was timed there


def test_a_measurement_counts_its_sessions_too() -> None:
    """A speed that was measured twice, before and after an interruption, is no one measurement; a size is."""
    plan = plan_of(ITEMS[:1], metrics={**SPEED, "b": {"_target_": "evalflow.metric.memory.ParamBytes"}})
    values = {"ttft_s": 0.1, "decode_s": 2.0, "tokens": 10.0}
    probes = [
        probe
        for session in "st"
        for probe in (
            Probe("one", "fixed_length", values, session),
            Probe("one", "memory", {"param_bytes": 8.0}, session),
        )
    ]
    figures = scored(plan, [row("a")], probes=probes).figures("one")
    assert (figures["tps/fixed_decode/p50"].value, figures["tps/fixed_decode/p50"].n_sessions) == (5.0, 2)
    assert (figures["mem/param_bytes"].value, figures["mem/param_bytes"].n_sessions) == (8.0, None)


def test_times_are_unreadable_where_one_of_their_sessions_left_no_word() -> None:
    """Rows of a session that was killed before it noted anything: nobody knows whether the driver kept up."""
    plan = plan_of(ITEMS[:2], metrics={**EXACT, **E2E})
    times = Times(sent=1.0, end=2.0)
    rows = [row("a", times=times), row("b", times=times, session="killed")]
    figures = scored(plan, rows).figures("one")
    assert figures["lat/e2e_s/p50"].reason == "the driver's own lag is not known"
    assert figures["quality/exact"].value == 1.0
    known = scored(plan, rows, ended(plan, "killed", "s")).figures("one")
    assert known["lat/e2e_s/p50"].value == 1.0
    late = {"one": (trace("killed", None, saturated=True), trace("s"))}
    assert scored(plan, rows, late).figures("one")["lat/e2e_s/p50"].reason == "the driver was saturated"


@pytest.mark.parametrize("averages", [True, False])
def test_no_order_moves_a_figure(averages: bool) -> None:
    """Seeds of the config and items of the dataset in any order, and rows as they came: a metric sees one order."""
    metrics = {"m": {"_target_": f"tests.runner.test_score.{'Placed' if averages else 'PlacedRows'}"}}
    answers = dict(zip("abcdef", "135246", strict=True))
    found = []
    for items, seeds in ((ITEMS, [0, 1, 2]), (ITEMS[::-1], [2, 0, 1])):
        plan = plan_of(items, arms={"one": {"seeds": seeds}}, metrics={**EXACT, **metrics})
        rows = [row(item["id"], f"{int(answers[item['id']]) + 10 * seed}", seed) for seed in seeds for item in items]
        scores = scored(plan, rows)
        found.append((scores.figures("one"), scores.item_stats("one", "m"), scores.worst("one", "exact", {})))
    assert found[0] == found[1]
    # per item over its seeds: 10 more than the answer; else the rows of seed 0 first, then 1, then 2
    each = [float(answers[item]) for item in "abcdef"]
    placed = [x + 10 for x in each] if averages else [x + 10 * seed for seed in (0, 1, 2) for x in each]
    assert found[0][0]["quality/m"].value == sum(place * x for place, x in enumerate(placed, start=1))
    assert found[0][2] == tuple(f"{item} (seed {seed})" for seed in (0, 1, 2) for item in "abcdef")


@dataclass(frozen=True)
class Placed(Metric):
    """The numbers that the answers are, each times its place: any other order is another value."""

    def stats(self, unit: Answer) -> Any:
        return None if unit.row.draft is None else (float(unit.row.draft),)

    def value(self, stack: Any) -> float:
        return float(sum(place * x for place, x in enumerate(stack[:, 0].tolist(), start=1)))


@dataclass(frozen=True)
class PlacedRows(Placed):
    """The same over single rows."""

    averages_seeds: ClassVar[bool] = False


def test_a_measurement_of_an_arm_that_was_stopped_is_not_read() -> None:
    """It is measured again when the arm is; the one that is there is of a session that did not finish it."""
    plan = plan_of(ITEMS[:1], metrics={"b": {"_target_": "evalflow.metric.memory.ParamBytes"}})
    probes = [Probe("one", "memory", {"param_bytes": 8.0}, "s")]
    figure = scored(plan, [row("a")], {"one": (trace(ended=None),)}, probes).figures("one")["mem/param_bytes"]
    assert (figure.value, figure.reason) == (None, "the arm did not finish")


@dataclass(frozen=True)
class Longer(Metric):
    """How many characters an answer is longer than the reference arm's; empty answers are excluded."""

    grain: ClassVar[Grain] = "pair"
    reference: str = "one"

    def stats(self, unit: RowPair) -> tuple[float, ...] | None:
        assert unit.reference.draft is not None and unit.candidate.draft is not None
        assert unit.item.id == unit.reference.item_id == unit.candidate.item_id
        assert unit.reference.seed == unit.candidate.seed
        return (float(len(unit.candidate.draft) - len(unit.reference.draft)),) if unit.candidate.draft else None


@dataclass(frozen=True)
class Slower(Longer):
    """The same of times."""

    timed: ClassVar[bool] = True


LONGER = {"longer": {"_target_": "tests.runner.test_score.Longer"}}
SLOWER = {"slower": {"_target_": "tests.runner.test_score.Slower"}}


def test_a_metric_over_pairs_holds_each_arm_against_its_reference() -> None:
    """Item by item under the same seed: 2 and 4 characters longer under seed 0, 1 and excluded under seed 1.

    Items average their seeds first: (2 + 1) / 2 and 4, so 2.75. The third item has no partner and the fourth failed.
    """
    arms = {"one": {"seeds": [0, 1]}, "two": {"seeds": [0, 1]}}
    plan = plan_of(ITEMS[:4], arms=arms, metrics=LONGER)
    one = [row(item, "xx", seed) for item in "abd" for seed in (0, 1)]
    two = [row("a", "xxxx"), row("a", "xxx", 1), row("b", "xxxxxx"), row("b", "", 1)]
    two += [row(item, "xx", seed) for item in "c" for seed in (0, 1)] + [row("d", None, seed) for seed in (0, 1)]
    scores = scored(plan, one + [replace(each, arm="two") for each in two])
    figure = scores.figures("two")["quality/longer"]
    assert figure.value == pytest.approx((1.5 + 4.0) / 2)
    assert (figure.n_total, figure.n_scored, figure.n_excluded, figure.n_error) == (8, 3, 1, 4)
    assert scores.figures("two", seeds=(1,))["quality/longer"].value == 1.0
    assert scores.figures("two", {"id": "b"})["quality/longer"].value == 4.0


def test_the_reference_arm_itself_has_no_figure_over_pairs() -> None:
    """Held against itself it would be perfect; it is undefined, and says why."""
    plan = plan_of(ITEMS[:1], arms={"one": {}, "two": {}}, metrics=LONGER)
    figure = scored(plan, [row("a"), row("a", arm="two")]).figures("one")["quality/longer"]
    assert (figure.value, figure.reason) == (None, "the others are held against this arm")


def test_without_its_reference_no_arm_has_a_figure_over_pairs() -> None:
    """Where the reference could not run, could not be trusted or, of times, was too late, so is what is held to it."""
    plan = plan_of(ITEMS[:1], arms={"one": {}, "two": {}}, metrics={**LONGER, **SLOWER})
    both = [row("a"), row("a", "right!", arm="two")]

    def reasons(one: ArmTrace) -> list[str | None]:
        figures = scored(plan, both, {"one": (one,), "two": (trace(),)}).figures("two")
        return [figures[name].reason for name in ("quality/longer", "quality/slower")]

    assert reasons(trace()) == [None, None]
    assert reasons(trace(driver={}, unavailable="no device")) == ["arm unavailable: no device"] * 2
    assert reasons(trace(facts={"instrument_fault": "it changed"})) == ["it changed"] * 2
    assert reasons(trace(saturated=True)) == [None, "the driver was saturated"]


def test_the_reference_of_a_metric_over_pairs_must_be_an_arm() -> None:
    """A name that no arm has is a fault of the config, with the nearest one."""
    metrics = {"longer": {**LONGER["longer"], "reference": "won"}}
    assert faults_of(config(ITEMS, metrics=metrics)) == [
        "metrics.longer.reference: there is no arm won; did you mean one?"
    ]


def test_an_arm_that_was_not_one_instrument_has_no_figure() -> None:
    """A seat that changed while it answered: nothing of the arm is read, and the other arm is as it was."""
    plan = plan_of(ITEMS[:1], arms={"one": {}, "two": {}})
    changed = {"one": (trace(facts={"instrument_fault": "its version was 1, is 2"}),), "two": (trace(),)}
    scores = scored(plan, [row("a"), row("a", arm="two")], changed)
    assert {figure.reason for figure in scores.figures("one").values()} == {"its version was 1, is 2"}
    assert scores.figures("two")["quality/exact"].value == 1.0


@pytest.mark.parametrize(("cached", "readable"), [(0, True), (None, True), (90, False)])
def test_times_of_a_cache_that_was_another_are_unreadable(cached: int | None, readable: bool) -> None:
    """A cold arm whose only row was read from the cache was no cold arm: its times go, what was answered stays."""
    plan = plan_of(ITEMS[:1], metrics={**EXACT, **E2E})
    answered = row("a", times=Times(sent=1.0, end=2.0), tokens_in=100, cached_tokens=cached)
    figures = scored(plan, [answered]).figures("one")
    said = "1 of 1 first reads of a group hit the cache; a cold arm claims at most 0.1 of them"
    reason = f"the arm was not what it claims: {said}"
    assert figures["lat/e2e_s/p50"].reason == (None if readable else reason)
    assert figures["quality/exact"].value == 1.0


@dataclass(frozen=True)
class Curt:
    """Serves the first word of a draft, and says how many it left out."""

    def serve(self, item: Item, draft: str) -> Served:
        if draft == "breaks":
            raise LookupError("no word")
        return Served(draft.split()[0], {"left_out": len(draft.split()) - 1, "item": item.id})


@dataclass(frozen=True)
class ServedLength(Metric):
    """Characters of what is served, and of what serving said it left out."""

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        if unit.row.served is None:
            return None
        return (float(len(unit.row.served)) + unit.row.detail["serving"]["left_out"],)


CURT = {"_target_": "tests.runner.test_score.Curt"}


def test_what_is_served_is_decided_before_metrics_read_it() -> None:
    """The draft stays as it was written, an error serves nothing, and serving's own words are kept with the row."""
    plan = plan_of(ITEMS[:2], serving=CURT, metrics={"n": {"_target_": "tests.runner.test_score.ServedLength"}})
    scores = scored(plan, [row("a", "right or not"), row("b", None)])
    a, b = scores.rows
    assert (a.draft, a.served, a.detail["serving"]) == ("right or not", "right", {"left_out": 2, "item": "a"})
    assert (b.served, "serving" in b.detail) == (None, False)
    assert a.stats["n"] == (7.0,)
    assert scored(plan, scores.rows).rows == scores.rows


def test_serving_that_raises_is_named() -> None:
    """With the item, as a metric is."""
    with pytest.raises(MetricError, match=r"serving: LookupError: no word on item 'a'"):
        scored(plan_of(ITEMS[:1], serving=CURT), [row("a", "breaks")])
