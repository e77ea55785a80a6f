"""What a row of a pilot cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.model.imported import Imported
from evalflow.price import Prices
from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.pilot_cost import arm_cost, cost_of
from tests.runner.pilots import UP_6_DOWN_2, pilot_run, went


def counted(run: ComparedRun, **known: Any) -> ComparedRun:
    """The run with these in every row of the new arm."""
    arm = run.scores.arms["new"]
    rows = {key: replace(row, **known) for key, row in arm.rows.items()}
    return replace(run, scores=replace(run.scores, arms={**run.scores.arms, "new": replace(arm, rows=rows)}))


def test_a_row_on_average(tmp_path: Path) -> None:
    """Tokens by the rows, seconds by the arm's wall time: 4 s for 20."""
    cost = arm_cost(counted(pilot_run(tmp_path), tokens_in=100, tokens_out=7), "new")
    assert (cost.tokens_in, cost.tokens_out, cost.requests) == (100.0, 7.0, 1.0)
    assert cost.seconds == pytest.approx(0.2)
    assert cost.undefined == {"price": "the run has no prices"}


def test_retries_and_warm_calls_are_requests(tmp_path: Path) -> None:
    """Twenty rows of two attempts and five warm calls are 2.25 requests a row."""
    run = pilot_run(tmp_path, traces={"old": went("old"), "new": went("new", warm_calls=5)})
    assert arm_cost(counted(run, attempts=2), "new").requests == pytest.approx(2.25)


@pytest.mark.parametrize("driver", [{"saturated": True}, {"saturated": None}, {"wall_s": None}])
def test_a_driver_that_did_not_keep_up_has_no_times(tmp_path: Path, driver: dict[str, Any]) -> None:
    """Saturated, not known to have kept up, or without its wall time: undefined with a reason."""
    cost = arm_cost(pilot_run(tmp_path, traces={"old": went("old"), "new": went("new", **driver)}), "new")
    assert cost.seconds is None and cost.undefined["seconds"]


def test_recorded_answers_took_no_time(tmp_path: Path) -> None:
    """How long it took to look them up is no time of a model's: undefined with the reason, whatever the class."""
    run = pilot_run(tmp_path)
    arms = {
        name: replace(arm, planned=replace(arm.planned, model=Imported("log.json")))
        for name, arm in run.scores.arms.items()
    }
    run = replace(run, scores=replace(run.scores, arms=arms))
    cost = arm_cost(run, "new")
    assert (cost.seconds, cost.undefined["seconds"]) == (None, "its answers were recorded, and took no time")
    assert cost_of({"new": cost}, {"new": 40}).minutes is None


def test_times_of_several_sessions_are_no_speed(tmp_path: Path) -> None:
    """Nor are those of a machine that a sweep shared."""
    run = pilot_run(tmp_path, later=("q003",))
    assert arm_cost(run, "new").undefined["seconds"] == "its times were taken in 2 sessions"
    run = pilot_run(tmp_path)
    shared = replace(run, stored=replace(run.stored, state={**run.stored.state, "shared": True}))
    assert "other jobs of its sweep" in arm_cost(shared, "new").undefined["seconds"]


def test_answers_without_counts_have_no_tokens(tmp_path: Path) -> None:
    """Unknown, not 0, and how many lack them is told; errors and missing rows are counted."""
    said = {("old", 0): UP_6_DOWN_2["old", 0], ("new", 0): "ee-" + "r" * 17}
    cost = arm_cost(pilot_run(tmp_path, said), "new")
    assert (cost.n_planned, cost.n_rows, cost.n_error) == (20, 19, 2)
    assert (cost.tokens_in, cost.undefined["tokens_in"]) == (None, "17 of 17 answers lack a count of tokens")


def test_prices_of_a_metric_or_of_the_model(tmp_path: Path) -> None:
    """A hundred tokens in at 2 and ten out at 30 per million are 0.0005 a row."""
    prices = {"_target_": "evalflow.price.Prices", "input_per_million": 2.0, "output_per_million": 30.0}
    exact = {"_target_": "evalflow.metric.exact_match.ExactMatch"}
    metrics = {"exact": exact, "price": {"_target_": "evalflow.metric.cost.Price", "prices": prices}}
    run = counted(pilot_run(tmp_path, metrics=metrics), tokens_in=100, tokens_out=10)
    assert arm_cost(run, "new").price == pytest.approx(0.0005)
    own = counted(pilot_run(tmp_path), tokens_in=100, tokens_out=10)
    object.__setattr__(own.plan.arms["new"].model, "prices", Prices(4.0, None, 60.0))
    assert arm_cost(own, "new").price == pytest.approx(0.001)


def test_arms_together(tmp_path: Path) -> None:
    """Rows of both add up; what one of them does not say, nobody says of both."""
    run = counted(pilot_run(tmp_path), tokens_in=100, tokens_out=7)
    costs = {name: arm_cost(run, name) for name in ("old", "new")}
    cost = cost_of(costs, {"old": 300, "new": 600})
    assert (cost.rows, cost.requests, cost.tokens_in) == (900, 900, None)
    assert cost.minutes == pytest.approx(3.0)
    assert cost_of(costs, {"new": 600}).tokens_in == 60_000
