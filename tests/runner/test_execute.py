"""Asking the arms: what a model may do, and what becomes of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from evalflow.dataset.protocol import Selection
from evalflow.errors import DataError, ExitCode, ModelError, OutputLostError
from evalflow.model.protocol import Model
from evalflow.record import Completion, Item, Request, Row, Times
from evalflow.runner import stop
from evalflow.runner.plan import Plan
from evalflow.runner.session import carry_out
from evalflow.runner.stored_run import StoredRun
from evalflow.runner.trace import ArmTrace
from tests.conftest import ITEMS, plan_of

pytestmark = pytest.mark.usefixtures("home")
SCRIPTED = "evalflow.model.scripted.Scripted"
BYTES = {"bytes": {"_target_": "evalflow.metric.memory.ParamBytes"}}


def stand_in(name: str, **settings: Any) -> dict[str, Any]:
    return {"_target_": f"tests.stand_ins.{name}", **settings}


class Listener:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.arms: list[tuple[str, int, int]] = []
        self.rows: list[str] = []
        self.stops: list[bool] = []

    def arm(self, name: str, total: int, done: int) -> None:
        self.arms.append((name, total, done))

    def row(self, row: Row) -> None:
        self.rows.append(f"{row.arm}/{row.seed}/{row.item_id}")

    def stopping(self, finishing: bool) -> None:
        self.stops.append(finishing)


def carried(plan: Plan, listener: Listener | None = None) -> StoredRun:
    """What a plan gave, in one session of its own."""
    said: list[str] = []
    held = carry_out(plan, listener or Listener(), said.append)
    held.lock.release()
    assert said == []
    return held.run


def run(listener: Listener | None = None, **parts: Any) -> StoredRun:
    return carried(plan_of(**parts), listener)


def trace(stored: StoredRun, arm: str = "one") -> ArmTrace:
    """The arm's account of the only session."""
    (only,) = stored.traces[arm]
    return only


def limits(**seconds: float) -> dict[str, Any]:
    return {"_target_": "evalflow.runner.settings.Runner", **seconds}


def statuses(stored: StoredRun) -> dict[str, str]:
    return {row.item_id: row.status for row in stored.rows}


def test_every_arm_seed_and_item_has_one_row_in_order() -> None:
    """Arms run one after another in the plan's order, each a full pass per seed, and the listener hears it so."""
    listener = Listener()
    stored = run(listener, items=ITEMS[:2], arms={"two": {"seeds": [5, 4]}, "one": {}})
    expected = ["two/5/a", "two/5/b", "two/4/a", "two/4/b", "one/0/a", "one/0/b"]
    assert [f"{row.arm}/{row.seed}/{row.item_id}" for row in stored.rows] == expected
    assert listener.rows == expected
    assert listener.arms == [("two", 4, 0), ("one", 2, 0)]
    assert {name: trace(stored, name).order for name in stored.traces} == {"two": 0, "one": 1}
    assert {row.session for row in stored.rows} == {trace(stored).session}
    assert all(trace(stored, name).ended for name in stored.traces)


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
    stored = run(
        model=stand_in("Hanging", hangs=["c"]), arms={"one": {"concurrency": 2}}, runner=limits(timeout_s=0.05)
    )
    assert statuses(stored) == {name: "error" if name == "c" else "ok" for name in "abcdef"}
    error = next(row.error for row in stored.rows if row.item_id == "c")
    assert error is not None
    assert (error.kind, error.message) == ("timeout", "no answer in 0.05 s")


@pytest.mark.parametrize(("error", "said"), [("ModelError", "no such device"), ("OSError", "OSError: no such device")])
def test_an_arm_that_cannot_start_is_noted_and_the_next_one_runs(error: str, said: str) -> None:
    """Its rows do not exist; the reason does."""
    stored = run(arms={"bad": {"model": stand_in("Unstartable", error=error)}, "good": {}})
    assert {row.arm for row in stored.rows} == {"good"}
    assert trace(stored, "bad").unavailable == said
    assert trace(stored, "good").unavailable is None
    assert stored.state["state"] == "finished"  # it came to its end, without that arm


def test_a_measurement_that_breaks_costs_its_arm_alone() -> None:
    """An arm whose measuring fails is unavailable with that reason, and the next one runs."""
    arms = {"bad": {"model": stand_in("Measured", fails=True)}, "good": {"model": stand_in("Measured")}}
    stored = run(arms=arms, metrics=BYTES)
    assert trace(stored, "bad").unavailable == "measuring memory: the measurement broke"
    assert {row.arm for row in stored.rows} == {"good"}
    (probe,) = stored.probes
    assert (probe.arm, probe.name, probe.values) == ("good", "memory", {"param_bytes": 12.0})
    assert probe.session == trace(stored, "good").session


def test_nothing_is_measured_that_no_metric_reads() -> None:
    """Without a metric over measurements the model is not asked for one, broken or not."""
    stored = run(model=stand_in("Measured", fails=True))
    assert stored.probes == ()
    assert len(stored.rows) == 6


def test_no_more_is_in_flight_than_the_arm_allows() -> None:
    """Concurrency 3 has three requests in flight at most, and at some time three."""
    model = {"_target_": SCRIPTED, "otherwise": "x", "delay_s": 0.01}
    stored = run(model=model, arms={"one": {"concurrency": 3}, "two": {"concurrency": 1}})
    assert {name: trace(stored, name).driver["in_flight_max"] for name in stored.traces} == {"one": 3.0, "two": 1.0}
    assert {name: trace(stored, name).concurrency for name in stored.traces} == {"one": 3, "two": 1}


@pytest.mark.parametrize("breaks", [False, True])
def test_a_warm_call_leaves_no_row(breaks: bool) -> None:
    """A group that shares a prefix is warmed before its items: counted, and no answer. A lone item is not warmed."""
    groups = {"a": "p", "b": "q", "c": "p"}
    items = [{"id": i, "input": f"page {g} asks {i}", "target": "right", "prefix_group": g} for i, g in groups.items()]
    stored = run(items=items, model=stand_in("Warmed", breaks=breaks), arms={"one": {"cache": "warm"}})
    assert trace(stored).facts["prompts"] == [
        "page p asks ",
        "page p asks a",
        "page p asks c",
        "page q asks b",
    ]
    assert (trace(stored).driver["warm_calls"], trace(stored).driver["warm_errors"]) == (1, 1 if breaks else 0)
    assert [row.item_id for row in stored.rows] == ["a", "c", "b"]


@dataclass(frozen=True)
class Hostile(Model):
    """Raises what no model should, in the method `at`; of its requests in those for the items in `of` alone."""

    regimes: ClassVar[tuple[str, ...]] = ("cold", "warm")
    at: str = "complete"
    what: str = "exit"
    of: tuple[str, ...] = ("b",)

    def identity(self) -> Mapping[str, Any]:
        return {"model": "hostile"}

    def _raise(self, at: str) -> None:
        if at == self.at:
            kinds = {"exit": SystemExit(0), "cancel": asyncio.CancelledError(), "mute": MuteError()}
            raise kinds[self.what]

    async def start(self) -> None:
        self._raise("start")

    async def complete(self, request: Request) -> Completion:
        if request.decoding.max_tokens == 1:
            self._raise("warm")
        if request.item_id in self.of:
            self._raise("complete")
            if self.at == "task":
                await asyncio.create_task(_leave())
        return Completion("right", "stop")

    async def measure(self, probe: str) -> Any:
        self._raise("measure")
        return [{"param_bytes": "many"}] if self.at == "text" else None

    def facts(self) -> Mapping[str, Any]:
        self._raise("facts")
        return {}

    async def close(self) -> None:
        self._raise("close")


class MuteError(Exception):
    """Has no words that can be read."""

    def __str__(self) -> str:
        raise RuntimeError


async def _leave() -> None:
    raise SystemExit(0)


def hostile(**settings: Any) -> dict[str, Any]:
    return {"_target_": "tests.runner.test_execute.Hostile", **settings}


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize(
    ("what", "kind"), [("exit", "SystemExit"), ("cancel", "CancelledError"), ("mute", "MuteError")]
)
def test_whatever_an_answer_raises_is_its_rows_error(what: str, kind: str, concurrency: int) -> None:
    """A model that exits or cancels costs that row, and neither the process nor the worker."""
    stored = run(model=hostile(what=what, of=["a", "b"]), arms={"one": {"concurrency": concurrency}})
    assert statuses(stored) == {name: "error" if name in "ab" else "ok" for name in "abcdef"}
    assert {row.error.kind for row in stored.rows if row.error} == {kind}


@pytest.mark.parametrize("what", ["exit", "cancel", "mute"])
@pytest.mark.parametrize(
    ("at", "where"),
    [("start", "unavailable"), ("measure", "unavailable"), ("facts", "facts_failed"), ("close", "close_failed")],
)
def test_whatever_a_model_raises_costs_its_arm_alone(at: str, where: str, what: str) -> None:
    """Starting and measuring make the arm unavailable; its facts and its closing cost nothing. The next one runs."""
    stored = run(arms={"bad": {"model": hostile(at=at, what=what)}, "good": {}}, metrics=BYTES)
    bad = trace(stored, "bad")
    said = bad.unavailable if where == "unavailable" else bad.facts[where]
    assert said is not None and {"exit": "SystemExit", "cancel": "CancelledError", "mute": "MuteError"}[what] in said
    assert {row.arm for row in stored.rows} == ({"good"} if where == "unavailable" else {"bad", "good"})


def test_a_warm_call_that_exits_is_counted() -> None:
    """It is as any warm call that failed."""
    items = [{"id": i, "input": f"page asks {i}", "target": "right", "prefix_group": "p"} for i in "ab"]
    stored = run(items=items, model=hostile(at="warm"), arms={"one": {"cache": "warm"}})
    assert trace(stored).driver["warm_errors"] == 1
    assert statuses(stored) == {"a": "ok", "b": "ok"}


def test_a_measurement_that_is_no_number_costs_its_arm() -> None:
    """It could not be read back."""
    stored = run(arms={"bad": {"model": hostile(at="text")}, "good": {}}, metrics=BYTES)
    assert "not numbers by name" in (trace(stored, "bad").unavailable or "")
    assert {row.arm for row in stored.rows} == {"good"}


def test_a_model_that_exits_in_a_task_of_its_own_ends_the_run_with_our_code() -> None:
    """The process cannot end with the model's code: the run is interrupted, and that is code 3 with a sentence."""
    with pytest.raises(ModelError, match="a model tried to end the process") as refused:
        run(model=hostile(at="task"))
    assert refused.value.exit_code == ExitCode.INCOMPLETE
    (state,) = Path("outputs").glob("case/*/run.json")
    assert '"state": "interrupted"' in state.read_text(encoding="utf-8")


@dataclass(frozen=True)
class Sticky(Model):
    """Never ends in the method `at`, asked politely or not: `how` is by waiting, by swallowing, or in a thread."""

    at: str = "complete"
    how: str = "wait"

    def identity(self) -> Mapping[str, Any]:
        return {"model": "sticky"}

    async def _stick(self, at: str) -> None:
        if at != self.at:
            return
        if self.how == "thread":
            await asyncio.to_thread(time.sleep, 0.5)
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if self.how != "swallow":
                    raise

    async def start(self) -> None:
        await self._stick("start")

    async def complete(self, request: Request) -> Completion:
        if request.decoding.max_tokens == 1:
            await self._stick("warm")
        if request.item_id == "b":
            await self._stick("complete")
        return Completion("right", "stop")

    async def measure(self, probe: str) -> Any:
        await self._stick("measure")

    async def close(self) -> None:
        await self._stick("close")


@pytest.mark.parametrize("how", ["wait", "swallow", "thread"])
@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("start", "it did not start within 0.05 s (runner.start_timeout_s)"),
        ("measure", "measuring memory: no end within 0.05 s (runner.start_timeout_s)"),
        ("complete", None),
        ("close", "no end within 0.05 s"),
    ],
)
def test_a_model_that_does_not_end_costs_what_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, at: str, said: str | None, how: str
) -> None:
    """Whatever it does when cancelled: a start or measurement costs its arm, an answer its row; all else runs."""
    monkeypatch.setattr(stop, "GRACE_S", 0.05)
    stored = run(
        items=ITEMS[:3],
        arms={"bad": {"model": {"_target_": "tests.runner.test_execute.Sticky", "at": at, "how": how}}, "good": {}},
        metrics=BYTES,
        runner=limits(timeout_s=0.05, start_timeout_s=0.05),
    )
    bad, rows = trace(stored, "bad"), {row.item_id: row for row in stored.rows if row.arm == "bad"}
    assert [row.item_id for row in stored.rows if row.arm == "good"] == ["a", "b", "c"]
    if at in ("start", "measure"):
        assert (bad.unavailable, rows) == (said, {})
        return
    assert bad.unavailable is None
    assert [row.error.kind for row in rows.values() if row.error] == (["timeout"] if at == "complete" else [])
    assert bad.facts.get("close_failed") == (said if at == "close" else None)
    assert len(rows) == 3


@pytest.mark.parametrize("how", ["wait", "swallow"])
def test_a_warm_call_that_does_not_end_is_counted(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """It is as any warm call that failed, and the group's items are asked."""
    monkeypatch.setattr(stop, "GRACE_S", 0.05)
    items = [{"id": i, "input": f"page asks {i}", "target": "right", "prefix_group": "p"} for i in "ac"]
    model = {"_target_": "tests.runner.test_execute.StickyWarm", "at": "warm", "how": how}
    stored = run(items=items, model=model, arms={"one": {"cache": "warm"}}, runner=limits(timeout_s=0.05))
    assert (trace(stored).driver["warm_calls"], trace(stored).driver["warm_errors"]) == (1, 1)
    assert statuses(stored) == {"a": "ok", "c": "ok"}


@dataclass(frozen=True)
class StickyWarm(Sticky):
    """One that can be warmed."""

    regimes: ClassVar[tuple[str, ...]] = ("cold", "warm")


@dataclass(frozen=True)
class Hogging(Model):
    """Answers item `a` at once, and then holds the event loop over item `b`."""

    answered: asyncio.Event = field(default_factory=asyncio.Event, init=False, compare=False)

    def identity(self) -> Mapping[str, Any]:
        return {"model": "hogging"}

    async def complete(self, request: Request) -> Completion:
        if request.item_id == "a":
            self.answered.set()
        else:
            await self.answered.wait()
            time.sleep(0.3)
        return Completion("right", "stop")


def test_an_answer_ends_when_the_model_gave_it() -> None:
    """Not when the loop, which another answer held, came round to it."""
    model = {"_target_": "tests.runner.test_execute.Hogging"}
    stored = run(items=ITEMS[:2], model=model, arms={"one": {"concurrency": 2}})
    (a,) = [row for row in stored.rows if row.item_id == "a"]
    assert a.times.sent is not None and a.times.end is not None
    assert a.times.end - a.times.sent < 0.2


@dataclass(frozen=True)
class Clocked(Model):
    """Stamps its answers `off` seconds beside the clock."""

    off: float = 0.0

    def identity(self) -> Mapping[str, Any]:
        return {"model": "clocked"}

    async def complete(self, request: Request) -> Completion:
        sent = time.monotonic() + self.off
        await asyncio.sleep(0.001)
        end = time.monotonic() + self.off
        return Completion("right", "stop", times=Times(sent=sent, first_token=end, end=end), gaps=(0.1,))


@pytest.mark.parametrize(("off", "kept"), [(0.0, True), (1e9, False), (-1e9, False), (-0.5, False), (0.5, False)])
def test_times_of_another_clock_are_dropped(off: float, kept: bool) -> None:
    """The answer stays, with our own two stamps; no time is taken between two clocks."""
    before = time.monotonic()
    (row,) = run(items=ITEMS[:1], model={"_target_": "tests.runner.test_execute.Clocked", "off": off}).rows
    assert (row.status, row.draft) == ("ok", "right")
    assert (row.times.first_token is not None, row.gaps is not None, row.detail == {}) == (kept, kept, kept)
    assert row.times.sent is not None and row.times.end is not None
    assert before <= row.times.sent <= row.times.end <= time.monotonic()


def test_no_worker_is_made_without_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A concurrency of twenty million over six items makes six tasks."""
    made: list[str] = []
    plain = asyncio.TaskGroup.create_task

    def counted(self: Any, coroutine: Any, **settings: Any) -> Any:
        made.append(coroutine.__name__)
        return plain(self, coroutine, **settings)

    monkeypatch.setattr(asyncio.TaskGroup, "create_task", counted)
    stored = run(arms={"one": {"concurrency": 20_000_000}})
    assert (len(stored.rows), len(made)) == (6, 6)


@pytest.mark.parametrize("item", [Item("a", 5), Item("a", "p", kind=None), Item("a", "p", fields={"x": object()})])  # type: ignore[arg-type]
def test_an_item_that_could_not_be_read_back_is_refused_before_anything_starts(item: Item) -> None:
    """A dataset may be the user's class: what it gives is held against its types first."""
    plan = plan_of()
    odd = replace(plan, selection=Selection((item,), None))
    if item.fields:
        with pytest.raises(TypeError):
            carried(odd)
    else:
        with pytest.raises(DataError, match=r"dataset .*: item 'a': (prompt is 5|kind is None); mend the dataset"):
            carried(odd)
        assert not Path("outputs").exists()


def test_a_run_whose_folder_was_spoilt_meanwhile_is_incomplete() -> None:
    """It was started, so it is no matter of usage any more."""

    class Spoiler(Listener):
        def row(self, row: Row) -> None:
            for path in Path("outputs").glob("case/*/items.jsonl"):
                path.unlink()

    with pytest.raises(OutputLostError, match=r"after the run: .*items\.jsonl: not there"):
        run(Spoiler())


def test_the_first_fault_is_the_one_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the folder cannot be closed either, what stopped the run is not hidden by that."""
    from evalflow.runner.journal import Journal

    class Stopper(Listener):
        def row(self, row: Row) -> None:
            raise LookupError("first")

    close = Journal.close

    def full(self: Journal, state: Any) -> None:
        close(self, state)
        raise OutputLostError("second")

    monkeypatch.setattr(Journal, "close", full)
    with pytest.raises(LookupError, match="first"):
        run(Stopper())


def test_an_output_folder_that_vanishes_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that cannot be written ends the run with the folder's name, and the run is marked interrupted."""
    from evalflow.errors import OutputError
    from evalflow.runner.journal import Journal

    def full(self: Journal, row: Row) -> bool:
        raise OutputError(f"{self.folder}: cannot be written (No space left on device); give another")

    monkeypatch.setattr(Journal, "append", full)
    with pytest.raises(OutputError, match="No space left on device"):
        run(arms={"one": {"concurrency": 4}})
    (state,) = Path("outputs").glob("case/*/run.json")
    assert '"state": "interrupted"' in state.read_text(encoding="utf-8")
