"""Asking the arms: what a model may do, and what becomes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalflow.record import Row
from evalflow.runner.journal import StoredRun
from evalflow.runner.session import carry_out
from tests.conftest import ITEMS, plan_of

pytestmark = pytest.mark.usefixtures("home")
SCRIPTED = "evalflow.model.scripted.Scripted"
BYTES = {"bytes": {"_target_": "evalflow.metric.memory.ParamBytes"}}


def stand_in(name: str, **settings: Any) -> dict[str, Any]:
    return {"_target_": f"tests.stand_ins.{name}", **settings}


class Listener:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.arms: list[tuple[str, int]] = []
        self.rows: list[str] = []

    def arm(self, name: str, total: int) -> None:
        self.arms.append((name, total))

    def row(self, row: Row) -> None:
        self.rows.append(f"{row.arm}/{row.seed}/{row.item_id}")


def run(listener: Listener | None = None, **parts: Any) -> StoredRun:
    return carry_out(plan_of(**parts), listener or Listener())


def statuses(stored: StoredRun) -> dict[str, str]:
    return {row.item_id: row.status for row in stored.rows}


def test_every_arm_seed_and_item_has_one_row_in_order() -> None:
    """Arms run one after another in the plan's order, each a full pass per seed, and the listener hears it so."""
    listener = Listener()
    stored = run(listener, items=ITEMS[:2], arms={"two": {"seeds": [5, 4]}, "one": {}})
    expected = ["two/5/a", "two/5/b", "two/4/a", "two/4/b", "one/0/a", "one/0/b"]
    assert [f"{row.arm}/{row.seed}/{row.item_id}" for row in stored.rows] == expected
    assert listener.rows == expected
    assert listener.arms == [("two", 4), ("one", 2)]
    assert {name: trace.order for name, trace in stored.traces.items()} == {"two": 0, "one": 1}


def test_a_row_carries_its_items_groupings_and_the_seed_that_was_sent() -> None:
    """What a row needs to be scored, grouped and repeated is in it."""
    items = [{**ITEMS[0], "kind": "k", "cluster": "c", "prefix_group": "p"}]
    model = {"_target_": SCRIPTED, "otherwise": "{seed}"}
    (row,) = run(items=items, model=model, decoding={"_target_": "evalflow.record.Decoding", "temperature": 1.0}).rows
    assert (row.kind, row.cluster, row.prefix_group) == ("k", "c", "p")
    assert row.draft == row.served == str(row.seed_sent)
    assert row.session and row.times.sent is not None and row.times.end is not None


def test_answers_are_told_apart_by_how_they_ended() -> None:
    """A cut answer is truncated, one of blanks is empty, any other is ok."""
    cut = stand_in("Fixed", right=["a"], cut=["b"])
    assert statuses(run(items=ITEMS[:2], model=cut)) == {"a": "ok", "b": "truncated"}
    blank = {"_target_": SCRIPTED, "answers": {"a": " \n", "b": "x"}}
    assert statuses(run(items=ITEMS[:2], model=blank)) == {"a": "empty", "b": "ok"}


@pytest.mark.parametrize("error", ["RuntimeError", "ModelError", "TimeoutError"])
def test_a_model_that_raises_gives_an_error_row_and_the_run_goes_on(error: str) -> None:
    """Whatever the model raises is that row's error, with its class and words; the others are answered."""
    stored = run(model=stand_in("Raising", fails=["b"], error=error))
    failed = [row for row in stored.rows if row.status == "error"]
    assert [row.item_id for row in failed] == ["b"]
    assert failed[0].draft is None
    assert failed[0].error is not None
    assert (failed[0].error.kind, failed[0].error.message) == (error, "no luck with b")
    assert len(stored.rows) == 6


@pytest.mark.parametrize("kind", ["text", "none", "no_text", "bytes", "nan_time", "object"])
def test_garbage_from_a_model_gives_an_error_row_and_the_run_goes_on(kind: str) -> None:
    """What is no completion, or could not be stored, is an error of that row alone."""
    stored = run(model=stand_in("Garbage", kind=kind))
    assert statuses(stored) == {name: "error" if name == "b" else "ok" for name in "abcdef"}
    error = next(row.error for row in stored.rows if row.item_id == "b")
    assert error is not None
    assert error.kind == "ModelError"
    assert "mend the model" in error.message


def test_a_request_that_hangs_is_given_up() -> None:
    """After `timeout_s` it is an error row; the others of the arm were not held up."""
    runner = {"_target_": "evalflow.runner.settings.Runner", "timeout_s": 0.05}
    stored = run(model=stand_in("Hanging", hangs=["c"]), arms={"one": {"concurrency": 2}}, runner=runner)
    assert statuses(stored) == {name: "error" if name == "c" else "ok" for name in "abcdef"}
    error = next(row.error for row in stored.rows if row.item_id == "c")
    assert error is not None
    assert (error.kind, error.message) == ("timeout", "no answer in 0.05 s")


@pytest.mark.parametrize(("error", "said"), [("ModelError", "no such device"), ("OSError", "OSError: no such device")])
def test_an_arm_that_cannot_start_is_noted_and_the_next_one_runs(error: str, said: str) -> None:
    """Its rows do not exist; the reason does."""
    stored = run(arms={"bad": {"model": stand_in("Unstartable", error=error)}, "good": {}})
    assert {row.arm for row in stored.rows} == {"good"}
    assert stored.traces["bad"].unavailable == said
    assert stored.traces["good"].unavailable is None


def test_a_measurement_that_breaks_costs_its_arm_alone() -> None:
    """An arm whose measuring fails is unavailable with that reason, and the next one runs."""
    arms = {"bad": {"model": stand_in("Measured", fails=True)}, "good": {"model": stand_in("Measured")}}
    stored = run(arms=arms, metrics=BYTES)
    assert stored.traces["bad"].unavailable == "measuring memory: the measurement broke"
    assert {row.arm for row in stored.rows} == {"good"}
    assert [(probe.arm, probe.name, probe.values) for probe in stored.probes] == [
        ("good", "memory", {"param_bytes": 12.0})
    ]


def test_nothing_is_measured_that_no_metric_reads() -> None:
    """Without a metric over measurements the model is not asked for one, broken or not."""
    stored = run(model=stand_in("Measured", fails=True))
    assert stored.probes == ()
    assert len(stored.rows) == 6


def test_no_more_is_in_flight_than_the_arm_allows() -> None:
    """Concurrency 3 has three requests in flight at most, and at some time three."""
    model = {"_target_": SCRIPTED, "otherwise": "x", "delay_s": 0.01}
    stored = run(model=model, arms={"one": {"concurrency": 3}, "two": {"concurrency": 1}})
    assert {name: trace.driver["in_flight_max"] for name, trace in stored.traces.items()} == {"one": 3.0, "two": 1.0}


@pytest.mark.parametrize("breaks", [False, True])
def test_a_warm_call_leaves_no_row(breaks: bool) -> None:
    """A group that shares a prefix is warmed before its items: counted, and no answer. A lone item is not warmed."""
    groups = {"a": "p", "b": "q", "c": "p"}
    items = [{"id": i, "input": f"page {g} asks {i}", "target": "right", "prefix_group": g} for i, g in groups.items()]
    stored = run(items=items, model=stand_in("Warmed", breaks=breaks), arms={"one": {"cache": "warm"}})
    trace = stored.traces["one"]
    assert trace.facts["prompts"] == [
        "page p asks ",
        "page p asks a",
        "page p asks c",
        "page q asks b",
    ]
    assert (trace.driver["warm_calls"], trace.driver["warm_errors"]) == (1, 1 if breaks else 0)
    assert [row.item_id for row in stored.rows] == ["a", "c", "b"]


def test_an_output_folder_that_vanishes_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that cannot be written ends the run with the folder's name, and the run is marked interrupted."""
    from evalflow.errors import OutputError
    from evalflow.runner.journal import Journal

    def full(self: Journal, row: Row) -> None:
        raise OutputError(f"{self.folder}: cannot be written (No space left on device); give another")

    monkeypatch.setattr(Journal, "append", full)
    with pytest.raises(OutputError, match="No space left on device"):
        run(arms={"one": {"concurrency": 4}})
    (state,) = Path("outputs").glob("case/*/run.json")
    assert '"state": "interrupted"' in state.read_text(encoding="utf-8")
