"""A run in several sessions: stopped anywhere, gone on with, and in the end what one session would have given."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import ConfigError, DataError, ModelError, OutputLostError
from evalflow.job import scored, track
from evalflow.model.protocol import Model
from evalflow.record import Completion, Request, Row
from evalflow.runner.lock import is_held
from evalflow.runner.plan import Plan
from evalflow.runner.session import SweepJob, carry_out, stored_plan
from evalflow.runner.stored_run import StoredRun, load_run
from tests.conftest import ITEMS, plan_of
from tests.runner.test_execute import Listener, limits

pytestmark = pytest.mark.usefixtures("home")
SCRIPTED = "evalflow.model.scripted.Scripted"
TWO = {"one": {"seeds": [0, 1]}, "two": {"decoding": {"temperature": 1.0}}}
"""18 rows: two passes of one arm and one of another, over six items."""


def here(name: str, **settings: Any) -> dict[str, Any]:
    return {"_target_": f"tests.runner.test_session.{name}", **settings}


class Stopper(Listener):
    """Does something when the row number `at` (from 1) is done, as the user would."""

    def __init__(self, at: int, act: Any = signal.SIGINT) -> None:
        super().__init__()
        self.at, self.act = at, act

    def row(self, row: Row) -> None:
        super().row(row)
        if len(self.rows) == self.at:
            if isinstance(self.act, int):
                os.kill(os.getpid(), self.act)
            else:
                raise self.act


def session(
    plan: Plan, listener: Listener | None = None, job: SweepJob | None = None, report: bool = True
) -> tuple[StoredRun, list[str]]:
    """The run after one session of it, scored, reported and not to be tracked, and what was said."""
    said: list[str] = []
    held = carry_out(plan, listener or Listener(), said.append, job)
    assert is_held(held.run.folder)
    if report:
        track(None, scored(plan, held.run), Path(plan.runner.outputs))
    held.lock.release()
    assert not is_held(held.run.folder)
    return held.run, said


def answers(stored: StoredRun) -> dict[tuple[str, int, str], tuple[str | None, int | None]]:
    return {row.key: (row.draft, row.seed_sent) for row in stored.rows}


def noting(**parts: Any) -> Plan:
    """A plan whose model notes every call in `calls`."""
    return plan_of(model={"_target_": SCRIPTED, "otherwise": "{seed}", "calls": "calls"}, **{"arms": TWO, **parts})


def calls() -> Counter[str]:
    path = Path("calls")
    return Counter(path.read_text(encoding="utf-8").splitlines() if path.exists() else [])


@pytest.mark.parametrize("concurrency", [1, 3, 8])
@pytest.mark.parametrize("at", [1, 2, 5, 6, 7, 11, 12, 13, 17])
def test_stopped_anywhere_and_gone_on_with_is_one_run(at: int, concurrency: int) -> None:
    """Every row is asked once, in one session or the other, and all are what one session would have given."""
    arms = {name: {**arm, "concurrency": concurrency} for name, arm in TWO.items()}
    plan = noting(arms=arms)
    whole, _ = session(noting(arms=arms, runner=limits(outputs="whole")))
    asked = calls()
    Path("calls").unlink()
    stopper = Stopper(at)
    half, said = session(plan, stopper)
    through = len(half.rows) == 18  # what was in flight was all that was left
    assert (half.state["state"], said, stopper.stops) == ("finished" if through else "interrupted", [], [True])
    assert at <= len(half.rows) <= at + 2 * concurrency  # what was in flight, and what each worker began meanwhile
    if through:
        assert (answers(half), calls()) == (answers(whole), asked)
        return
    listener = Listener()
    full, said = session(plan, listener)
    assert said == [f"resuming run {half.run_id}: {len(half.rows)} of 18 rows are there"]
    assert (full.run_id, full.state["state"]) == (half.run_id, "finished")
    assert full.rows[: len(half.rows)] == half.rows
    assert len(full.rows) == 18
    assert answers(full) == answers(whole)
    assert calls() == asked
    first, second = (one["session"] for one in full.state["sessions"])
    assert Counter(row.session for row in full.rows) == +Counter({first: len(half.rows), second: 18 - len(half.rows)})
    assert sum(total - done for _, total, done in listener.arms) == len(listener.rows) == 18 - len(half.rows)


def test_a_run_may_be_stopped_again_and_again() -> None:
    """Each session adds what it came to."""
    plan = noting()
    ids, counts = set(), []
    for _ in range(5):
        stored, _ = session(plan, Stopper(2))
        ids.add(stored.run_id)
        counts.append(len(stored.rows))
    stored, said = session(plan)
    assert said == [f"resuming run {stored.run_id}: {counts[-1]} of 18 rows are there"]
    assert counts == sorted(set(counts))
    assert (ids, len(stored.rows), stored.state["state"]) == ({stored.run_id}, 18, "finished")
    assert [one["state"] for one in stored.state["sessions"]] == ["interrupted"] * 5 + ["finished"]
    assert set(calls().values()) <= {1, 2}  # a greedy arm's two passes send one sampling seed each


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), LookupError("the terminal is gone")])
def test_a_run_that_breaks_off_keeps_its_rows_and_can_be_gone_on_with(fault: BaseException) -> None:
    """A second Ctrl-C, or a defect of ours, ends the session at once; the next one asks what is missing."""
    plan = noting()
    with pytest.raises(type(fault)):
        session(plan, Stopper(4, fault))
    (folder,) = Path("outputs/case").glob("2*")
    half = load_run(folder)
    assert (half.state["state"], len(half.rows), is_held(folder)) == ("interrupted", 4, False)
    full, said = session(plan)
    assert said == [f"resuming run {folder.name}: 4 of 18 rows are there"]
    assert (len(full.rows), full.state["state"]) == (18, "finished")


def test_a_row_that_was_cut_off_is_asked_again() -> None:
    """A process that was killed while it wrote a row left half of it; and its run is still marked as running."""
    plan = noting()
    half, _ = session(plan, Stopper(3))
    path = half.folder / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    state = json.loads((half.folder / "run.json").read_text(encoding="utf-8"))
    (half.folder / "run.json").write_text(json.dumps({**state, "state": "running"}), encoding="utf-8")
    full, said = session(plan)
    assert said == [f"resuming run {half.run_id}: {len(half.rows) - 1} of 18 rows are there"]
    assert len(full.rows) == 18
    assert full.rows[: len(half.rows) - 1] == half.rows[:-1]


def test_a_finished_run_is_never_taken_for_a_new_one() -> None:
    """The same command again asks everything again."""
    first, _ = session(noting())
    second, said = session(noting())
    assert (second.run_id != first.run_id, said) == (True, [])
    assert not {row.session for row in first.rows} & {row.session for row in second.rows}


def test_a_finished_run_that_nobody_reported_on_is_only_to_be_scored() -> None:
    """Its process died after the last row: the same command asks nothing, and its report is made at last."""
    first, _ = session(noting(), report=False)
    asked = calls()
    listener = Listener()
    second, said = session(noting(), listener)
    assert (second.run_id, second.rows, listener.rows, calls()) == (first.run_id, first.rows, [], asked)
    assert said == [f"all rows of run {first.run_id} are there; they are used again"]
    third, said = session(noting())
    assert (third.run_id != first.run_id, said) == (True, [])


def test_arms_that_came_to_their_end_are_not_started_again() -> None:
    """The second session begins with the arm in which the first one stopped."""
    plan = plan_of(arms={"one": {"model": here("Counted", note="one")}, "two": {"model": here("Counted", note="two")}})
    session(plan, Stopper(8))
    assert Path("starts").read_text(encoding="utf-8") == "one two "
    listener = Listener()
    full, _ = session(plan, listener)
    assert Path("starts").read_text(encoding="utf-8") == "one two two "
    assert listener.arms == [("two", 6, 3)]
    assert [len(full.traces[name]) for name in ("one", "two")] == [1, 2]
    assert (full.traces["two"][0].ended, full.traces["two"][1].ended is None) == (None, False)


def test_an_arm_that_was_stopped_at_its_last_row_has_come_to_its_end() -> None:
    """Nothing of it is missing, so the run is finished."""
    stored, _ = session(noting(arms={"one": {}}), Stopper(6))
    assert (len(stored.rows), stored.state["state"]) == (6, "finished")
    assert stored.traces["one"][-1].ended is not None


def test_no_arm_is_begun_once_a_stop_was_asked() -> None:
    """Nothing is known of the arms after the one that was at work, and nothing was started for them."""
    plan = plan_of(arms={name: {"model": here("Counted", note=name)} for name in ("one", "two")})
    stopper = Stopper(5)
    half, _ = session(plan, stopper)
    assert (set(half.traces), Path("starts").read_text(encoding="utf-8")) == ({"one"}, "one ")
    assert stopper.arms == [("one", 6, 0)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_start_need_not_finish(number: int) -> None:
    """A model that trains for an hour is let go at the first signal; its arm begins anew."""
    plan = plan_of(arms={"one": {}, "two": {"model": here("Training", number=int(number))}})
    began = time.monotonic()
    half, _ = session(plan)
    assert time.monotonic() - began < 20
    assert (half.state["state"], len(half.rows), set(half.traces)) == ("interrupted", 6, {"one"})
    Path("trained").touch()
    full, said = session(plan)
    assert said == [f"resuming run {half.run_id}: 6 of 12 rows are there"]
    assert (full.state["state"], len(full.rows)) == ("finished", 12)


@pytest.mark.parametrize(("number", "kept"), [(signal.SIGINT, list("abcd")), (signal.SIGTERM, ["a"])])
def test_what_is_in_flight_finishes_or_is_cancelled(number: int, kept: list[str]) -> None:
    """Ctrl-C waits for the answers that were asked for; a termination drops them, and they are asked again."""
    model = {"_target_": SCRIPTED, "otherwise": "right", "delay_s": 0.2, "delays": {"a": 0.0}, "calls": "calls"}
    plan = plan_of(model=model, arms={"one": {"concurrency": 3}})
    stopper = Stopper(1, number)
    half, _ = session(plan, stopper)  # d was asked for as soon as a had come, before the signal was heard
    assert (sorted(row.item_id for row in half.rows), stopper.stops) == (kept, [number == signal.SIGINT])
    assert all(row.status == "ok" for row in half.rows)
    full, _ = session(plan)
    assert sorted(row.item_id for row in full.rows) == list("abcdef")
    asked = Counter(json.loads(line)[0] for line in calls().elements())
    assert asked == Counter("abcdef" + ("" if number == signal.SIGINT else "bcd"))


def test_an_arm_that_could_not_run_may_run_in_a_later_session() -> None:
    """A model that was not there is tried again; what kept it away is past."""
    plan = plan_of(arms={"one": {"model": here("Absent")}, "two": {}})
    half, _ = session(plan, Stopper(2))
    assert half.traces["one"][-1].unavailable == "no device"
    Path("device").touch()
    full, _ = session(plan)
    assert Counter(row.arm for row in full.rows) == {"one": 6, "two": 6}
    assert [part.unavailable for part in full.traces["one"]] == ["no device", None]


def test_an_arm_that_could_not_come_to_its_end_is_tried_again() -> None:
    """Its model was not there, in the session that had only a few rows to add."""
    plan = plan_of(arms={"one": {"model": here("Absent")}})
    Path("device").touch()
    half, _ = session(plan, Stopper(3))
    Path("device").unlink()
    absent, _ = session(plan)
    assert 3 <= len(half.rows) < 6
    assert (absent.run_id, absent.traces["one"][-1].unavailable) == (half.run_id, "no device")
    Path("device").touch()
    full, _ = session(plan_of(arms={"one": {"model": here("Absent")}}, resume=half.run_id))
    assert (full.rows[: len(half.rows)], len(full.rows)) == (half.rows, 6)
    assert full.traces["one"][-1].unavailable is None
    assert len(full.traces["one"]) == 3


def test_a_finished_run_is_gone_on_with_where_it_is_named() -> None:
    """Its absent arm is tried again; where nothing is missing, nothing is asked."""
    arms = {"one": {"model": here("Absent")}, "two": {}}
    first, _ = session(plan_of(arms=arms))
    assert (first.state["state"], len(first.rows)) == ("finished", 6)
    Path("device").touch()
    second, said = session(plan_of(arms=arms, resume=first.run_id))
    assert (second.run_id, len(second.rows)) == (first.run_id, 12)
    assert said == [f"resuming run {first.run_id}: 6 of 12 rows are there"]
    listener = Listener()
    third, _ = session(plan_of(arms=arms, resume=first.run_id), listener)
    assert (third.rows, listener.arms, listener.rows) == (second.rows, [], [])


def test_measurements_are_those_of_the_session_that_finished_the_arm() -> None:
    """An arm that is begun again is measured again, and what an earlier session measured of it is let go."""
    metrics = {"bytes": {"_target_": "evalflow.metric.memory.ParamBytes"}}
    arms = {name: {"model": {"_target_": "tests.stand_ins.Measured"}} for name in ("one", "two")}
    plan = plan_of(arms=arms, metrics=metrics)
    half, _ = session(plan, Stopper(8))
    first = half.state["sessions"][0]["session"]
    assert {probe.arm: probe.session for probe in half.probes} == {"one": first, "two": first}
    full, _ = session(plan)
    second = full.state["sessions"][1]["session"]
    assert [(probe.arm, probe.session) for probe in full.probes] == [("one", first), ("two", second)]


def test_a_warm_arm_begins_again_with_warming() -> None:
    """The group in which it stopped is warmed again before its other items are asked."""
    groups = {"a": "p", "b": "p", "c": "p", "d": "q", "e": "q"}
    items = [{"id": i, "input": f"page {g} asks {i}", "target": "right", "prefix_group": g} for i, g in groups.items()]
    plan = plan_of(items, model={"_target_": "tests.stand_ins.Warmed"}, arms={"one": {"cache": "warm"}})
    half, _ = session(plan, Stopper(1))
    assert [row.item_id for row in half.rows] == ["a", "b"]
    full, _ = session(plan_of(items, model={"_target_": "tests.stand_ins.Warmed"}, arms={"one": {"cache": "warm"}}))
    prompts = ["page p asks ", "page p asks c", "page q asks ", "page q asks d", "page q asks e"]
    assert full.traces["one"][-1].facts["prompts"] == prompts
    assert [part.driver["warm_calls"] for part in full.traces["one"]] == [1, 2]


def test_another_level_goes_on_with_the_run_where_it_cannot_matter() -> None:
    """The scripted model answers alike at any concurrency; both levels are kept, and both configs."""
    half, _ = session(noting(arms={"one": {"concurrency": 1}}), Stopper(2))
    full, said = session(noting(arms={"one": {"concurrency": 4}}))
    assert said == [f"resuming run {half.run_id}: {len(half.rows)} of 6 rows are there"]
    assert [part.concurrency for part in full.traces["one"]] == [1, 4]
    first = full.state["sessions"][0]["session"]
    assert sorted(path.name for path in full.folder.glob("config*")) == [f"config.{first}.yaml", "config.yaml"]


def test_the_new_gates_judge_a_run_that_is_gone_on_with() -> None:
    """Gates, metrics and names of an experiment's texts decide no row: the config of the last session holds."""
    half, _ = session(noting(), Stopper(2))
    gates = {"g": {"figure": "quality/exact", "floor": 0.5}}
    full, _ = session(noting(gates=gates, limits=["little"]))
    assert full.run_id == half.run_id
    assert set(stored_plan(full, ()).gates) == {"g"}


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"arms": {**TWO, "one": {"seeds": [0, 2]}}},
        {"arms": {**TWO, "three": {}}},
        {"limit": 5},
        {"decoding": {"_target_": "evalflow.record.Decoding", "max_tokens": 7}},
        {"items": [*ITEMS[:5], {**ITEMS[5], "input": "another question"}]},
        {"name": "other"},
    ],
)
def test_a_changed_config_never_takes_up_anothers_rows(change: dict[str, Any]) -> None:
    """What gives other rows, or lies under another name, is a new run, and the unfinished one stays as it was."""
    half, _ = session(noting(), Stopper(2))
    before = {path.name: path.read_bytes() for path in half.folder.iterdir()}
    other, said = session(noting(**change))
    told = f"unfinished run {half.run_id} has other rows and is left alone ("
    assert other.run_id != half.run_id
    assert [line[: len(told)] for line in said] == ([] if "name" in change else [told])
    assert {path.name: path.read_bytes() for path in half.folder.iterdir()} == before


def test_resume_new_leaves_what_is_unfinished() -> None:
    """It starts a run of its own, and the unfinished one can still be gone on with."""
    half, _ = session(noting(), Stopper(2))
    new, said = session(noting(resume="new"))
    assert (new.run_id != half.run_id, said) == (True, [])
    again, _ = session(noting())
    assert again.run_id == half.run_id


def test_a_run_of_the_same_rows_at_work_elsewhere_is_told() -> None:
    """Its rows are not taken; this is a new run, and says so."""
    plan = noting()
    half, _ = session(plan, Stopper(2))
    held = carry_out(plan, Listener(), [].append)
    other, said = session(plan)
    assert held.run.run_id == half.run_id != other.run_id
    assert said == [f"run {half.run_id} of the same rows is at work in another process; this is a new one"]
    held.lock.release()


def test_a_sweeps_run_knows_its_sweep() -> None:
    """What it was given is in its state; a run on its own has none."""
    plan = noting()
    stored, _ = session(plan, job=SweepJob("s1", {"seed": "0"}, shared=True))
    assert [stored.state[key] for key in ("sweep_id", "swept", "shared")] == ["s1", {"seed": "0"}, True]
    stored, _ = session(plan)
    assert [stored.state[key] for key in ("sweep_id", "swept", "shared")] == [None, {}, False]


def test_a_shard_knows_what_it_is_a_shard_of() -> None:
    """Its index, how many there are, and the whole dataset's fingerprints, which its own are not."""
    stored, _ = session(noting(shard={"index": 1, "of": 2}))
    whole = noting().fingerprints
    assert stored.state["shard"] == {"index": 1, "of": 2, "unsharded": dict(whole)}
    assert stored.state["fingerprints"] != whole
    assert [item.id for item in stored.items] == ["b", "d", "f"]


def test_a_plan_that_cannot_be_stored_holds_nothing() -> None:
    """The dataset is refused before a run is looked for."""
    half, _ = session(noting(), Stopper(2))
    plan = noting()
    odd = replace(plan, selection=replace(plan.selection, items=(replace(plan.items[0], prompt=5),)))  # type: ignore[arg-type]
    with pytest.raises(DataError):
        session(odd)
    assert not is_held(half.folder)


def test_a_run_that_breaks_off_is_let_go() -> None:
    """Whatever ended it, the next session can have it."""

    class Spoiler(Listener):
        def row(self, row: Row) -> None:
            for path in Path("outputs").glob("case/*/items.jsonl"):
                path.unlink()

    with pytest.raises(OutputLostError):
        session(noting(), Spoiler())
    (folder,) = Path("outputs/case").glob("2*")
    assert not is_held(folder)
    with pytest.raises(ConfigError):
        session(noting(resume=session(noting())[0].run_id, seed=3))
    assert not any(is_held(path) for path in Path("outputs/case").iterdir())


@dataclass(frozen=True)
class Counted(Model):
    """Notes each start in `starts`."""

    note: str

    def identity(self) -> Mapping[str, Any]:
        return {"model": "counted"}

    async def start(self) -> None:
        with Path("starts").open("a", encoding="utf-8") as starts:
            starts.write(f"{self.note} ")

    async def complete(self, request: Request) -> Completion:
        return Completion("right", "stop")


@dataclass(frozen=True)
class Training(Model):
    """Is asked to stop while it starts, unless `trained` is there."""

    number: int

    def identity(self) -> Mapping[str, Any]:
        return {"model": "training"}

    async def start(self) -> None:
        if not Path("trained").exists():
            os.kill(os.getpid(), self.number)
            await asyncio.sleep(60)

    async def complete(self, request: Request) -> Completion:
        return Completion("right", "stop")


@dataclass(frozen=True)
class Absent(Model):
    """Cannot be started until `device` is there."""

    def identity(self) -> Mapping[str, Any]:
        return {"model": "absent"}

    async def start(self) -> None:
        if not Path("device").exists():
            raise ModelError("no device")

    async def complete(self, request: Request) -> Completion:
        return Completion("right", "stop")
