"""Which stored run is taken up, which is left alone, and what is said of either."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalflow.errors import BusyError, ConfigError, StoredRunError
from evalflow.job import scored, track
from evalflow.model.protocol import Model
from evalflow.record import Completion, Request, Row
from evalflow.runner.execute import Before
from evalflow.runner.instrument import environment
from evalflow.runner.journal import open_run
from evalflow.runner.lock import hold, is_held
from evalflow.runner.mark import Mark, write_mark
from evalflow.runner.plan import Plan
from evalflow.runner.resume import at_work, take_up
from evalflow.runner.stored_run import load_run
from tests.conftest import ITEMS, plan_of

pytestmark = pytest.mark.usefixtures("home")
OLD, MID, NEW = (f"20260101-00000{second}-abcdef" for second in (1, 2, 3))


def stored(plan: Plan, run_id: str = OLD, state: str = "interrupted", items: str = "ab", **facts: Any) -> Path:
    """A run of the plan, with a row for some of the items of its arm `one`, under an id of our choice."""
    known = {
        "resume_key": plan.resume_key(),
        "conditions": plan.conditions(),
        "part": None,
        "shard": None,
        "fingerprints": dict(plan.fingerprints),
        "environment": environment(),
        "sweep_id": None,
        "swept": {},
        "shared": False,
        "calibration": None,
    }
    outputs = Path(plan.runner.outputs)
    journal = open_run(outputs, plan.name, plan.config, plan.items, {**known, **facts})
    for item in items:
        journal.append(Row(run_id, journal.session, "one", 0, item, "ok", "right", "right"))
    journal.close(state)  # type: ignore[arg-type]
    journal.lock.release()
    folder = journal.folder.rename(journal.folder.with_name(run_id))
    change(folder, run_id=run_id)
    return folder


def change(folder: Path, **state: Any) -> None:
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **state}), encoding="utf-8")


def taken(plan: Plan, sweep_id: str | None = None) -> tuple[str | None, list[str]]:
    """The id of the run that is taken up, and what was said; nothing else is held afterwards."""
    said: list[str] = []
    held = take_up(plan, said.append, sweep_id)
    folders = list(Path(plan.runner.outputs).glob("case/*"))
    assert [path for path in folders if is_held(path)] == ([] if held is None else [held.run.folder])
    if held is None:
        return None, said
    held.lock.release()
    return held.run.run_id, said


def refused(plan: Plan) -> list[str]:
    with pytest.raises(ConfigError) as fault:
        taken(plan)
    return [str(one) for one in fault.value.faults]


def going_on(run_id: str = OLD, rows: int = 2) -> list[str]:
    return [f"resuming run {run_id}: {rows} of 6 rows are there"]


def test_where_nothing_is_unfinished_nothing_is_taken_up() -> None:
    """No outputs, no run of this name, no run of these rows in a sweep: a new one, without a word."""
    assert taken(plan_of()) == (None, [])
    stored(plan_of(name="other"))
    assert taken(plan_of()) == (None, [])
    stored(plan_of(seed=1))
    Path("outputs/case/rubbish").mkdir()
    assert taken(plan_of(), "a sweep") == (None, [])


def test_the_last_run_is_named_where_it_was_not_finished_and_is_of_other_rows() -> None:
    """The user may wait for it to be gone on with; one that was finished, or is a sweep's, is nobody's concern."""
    stored(plan_of(seed=1), OLD)
    said = f"unfinished run {OLD} has other rows and is left alone (seed was 1, is 0)"
    assert taken(plan_of()) == (None, [said])
    stored(plan_of(seed=2), MID, "finished")
    assert taken(plan_of()) == (None, [])
    stored(plan_of(seed=2), NEW, sweep_id="a sweep")
    assert taken(plan_of()) == (None, [])


@pytest.mark.parametrize("state", ["interrupted", "running"])
def test_an_unfinished_run_is_taken_up(state: str) -> None:
    """One that was stopped in order, and one whose process is gone."""
    stored(plan_of(), state=state)
    assert taken(plan_of()) == (OLD, going_on())


def test_the_newest_of_several_is_taken_up() -> None:
    """The one that the user has seen last."""
    for run_id in (MID, NEW, OLD):
        stored(plan_of(), run_id)
    assert taken(plan_of()) == (NEW, going_on(NEW))


def test_one_of_this_very_config_goes_before_a_newer_one_of_another() -> None:
    """Another level would give the same rows, and yet the run of this level is the nearer one."""
    stored(plan_of(arms={"one": {"concurrency": 1}}), OLD)
    stored(plan_of(arms={"one": {"concurrency": 4}}), MID)
    stored(plan_of(arms={"one": {"concurrency": 2}}), NEW)
    assert taken(plan_of(arms={"one": {"concurrency": 1}})) == (OLD, going_on(OLD))
    assert taken(plan_of(arms={"one": {"concurrency": 4}})) == (MID, going_on(MID))
    assert taken(plan_of(arms={"one": {"concurrency": 3}})) == (NEW, going_on(NEW))


def test_the_config_that_counts_is_the_last_sessions() -> None:
    """A run that was gone on with under another config is that config's."""
    folder = stored(plan_of(arms={"one": {"concurrency": 4}}), OLD)
    stored(plan_of(arms={"one": {"concurrency": 1}}), MID)
    first = json.loads((folder / "run.json").read_text(encoding="utf-8"))["sessions"]
    last = json.loads((Path("outputs/case") / MID / "run.json").read_text(encoding="utf-8"))["sessions"]
    change(folder, sessions=[*first, *last])
    stored(plan_of(arms={"one": {"concurrency": 4}}), NEW)
    (Path("outputs/case") / MID).rename("gone")
    assert taken(plan_of(arms={"one": {"concurrency": 1}})) == (OLD, going_on(OLD))


@pytest.mark.parametrize(
    "parts",
    [
        {"gates": {"g": {"figure": "quality/exact", "floor": 0.5}}},
        {"metrics": {}},
        {"description": "words"},
        {"model": {"_target_": "evalflow.model.scripted.Scripted", "otherwise": "right", "delay_s": 0.5}},
    ],
)
def test_what_no_row_depends_on_may_have_changed(parts: dict[str, Any]) -> None:
    """The run is taken up all the same."""
    stored(plan_of())
    assert taken(plan_of(**parts)) == (OLD, going_on())


@pytest.mark.parametrize("reported", [True, False])
def test_a_finished_run_is_taken_up_only_where_nobody_reported_on_it(reported: bool) -> None:
    """Its process died between the last row and the report: it is whole, and only to be scored."""
    plan = plan_of()
    folder = stored(plan, state="finished", items="abcdef")
    if reported:
        track(None, scored(plan, load_run(folder)), Path("outputs"))
    said = [f"all rows of run {OLD} are there; they are used again"]
    assert taken(plan) == ((None, []) if reported else (OLD, said))
    if reported:  # an older report, of fewer sessions, is none of this state
        sessions = json.loads((folder / "run.json").read_text(encoding="utf-8"))["sessions"]
        change(folder, sessions=[*sessions, {**sessions[0], "session": "later"}])
        assert taken(plan) == (OLD, said)


@pytest.mark.parametrize(
    ("mark", "again"), [("logging", True), ("cut off", True), ("failed", False), ("logged", False)]
)
def test_a_run_whose_process_died_while_it_was_logged_is_taken_up(mark: Any, again: bool) -> None:
    """It is whole and reported, and only to be logged; a store that refused it is another matter."""
    plan = plan_of()
    folder = stored(plan, state="finished", items="abcdef")
    scored(plan, load_run(folder))
    write_mark(folder, Mark(mark, "2026-01-01T00:00:00.000+00:00"))
    said = [f"all rows of run {OLD} are there; they are used again"]
    assert taken(plan) == ((OLD, said) if again else (None, []))


def test_a_run_of_another_environment_is_left_alone() -> None:
    """Half the rows by one version and half by another are no run: each difference is named, and how to insist."""
    plan = plan_of()
    now = environment()
    old = {**now, "python": "2.7", "packages": {**now["packages"], "numpy": None}}
    stored(plan, NEW, environment=old)
    here, numpy = now["python"], now["packages"]["numpy"]
    told = f"python was '2.7', is '{here}'; packages.numpy was None, is '{numpy}'"
    alone = f"unfinished run {NEW} is left alone: since then, {told}; resume={NEW} takes it up all the same"
    assert taken(plan) == (None, [alone])
    stored(plan, OLD)
    assert taken(plan) == (OLD, [alone, *going_on(OLD)])
    assert taken(plan_of(resume=NEW)) == (
        NEW,
        [
            f"since run {NEW} began, python was '2.7', is '{here}'",
            f"since run {NEW} began, packages.numpy was None, is '{numpy}'",
            *going_on(NEW),
        ],
    )


def test_a_damaged_run_is_passed_over_and_told() -> None:
    """What cannot be read whole cannot be gone on with; the next one is, and nothing of it is touched."""
    plan = plan_of()
    folder = stored(plan, NEW)
    (folder / "rows.jsonl").write_text("{\n", encoding="utf-8")
    said = f"unfinished run {NEW} cannot be resumed ({folder}/rows.jsonl:1: not JSON; restore the file)"
    assert taken(plan) == (None, [said])
    stored(plan, OLD)
    assert taken(plan) == (OLD, [said, *going_on(OLD)])
    assert (folder / "rows.jsonl").read_text(encoding="utf-8") == "{\n"
    (folder / "run.json").write_text("{", encoding="utf-8")
    assert taken(plan) == (OLD, going_on(OLD))  # nobody can say what it was a run of


def test_a_run_that_another_works_on_is_passed_over() -> None:
    """The next one is taken up; whose rows are the same is told apart from it."""
    plan = plan_of()
    lock = hold(stored(plan, NEW))
    stored(plan, OLD)
    said: list[str] = []
    held = take_up(plan, said.append)
    assert held is not None
    assert (held.run.run_id, said) == (OLD, going_on(OLD))
    assert sorted(at_work(plan)) == [OLD, NEW]
    assert at_work(plan_of(seed=1)) == []
    held.lock.release()
    assert at_work(plan) == [NEW]
    lock.release()
    assert at_work(plan) == []


def test_a_run_that_was_taken_meanwhile_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may be quicker between the look and the grip."""
    plan = plan_of()
    lock = hold(stored(plan, NEW))
    stored(plan, OLD)
    monkeypatch.setattr("evalflow.runner.resume.is_held", lambda folder: False)
    said: list[str] = []
    held = take_up(plan, said.append)
    assert held is not None
    assert (held.run.run_id, said) == (OLD, going_on(OLD))
    held.lock.release()
    lock.release()


def test_resume_new_takes_up_nothing() -> None:
    """Whatever lies unfinished, it is left, and nothing is said."""
    stored(plan_of())
    assert taken(plan_of(resume="new")) == (None, [])


def test_a_named_run_is_taken_up_by_its_id_or_its_folder() -> None:
    """Also one that is not the newest, of another name, or that is finished and reported."""
    plan = plan_of()
    folder = stored(plan, OLD)
    stored(plan, NEW)
    assert taken(plan_of(resume=OLD)) == (OLD, going_on(OLD))
    assert taken(plan_of(resume=str(folder))) == (OLD, going_on(OLD))
    moved = folder.rename(Path("elsewhere").absolute())
    said: list[str] = []
    held = take_up(plan_of(resume="elsewhere"), said.append)
    assert held is not None
    assert (held.run.folder, said) == (Path("elsewhere"), going_on(OLD))
    held.lock.release()
    change(moved, state="finished")
    scored(plan, load_run(moved))
    held = take_up(plan_of(resume="elsewhere"), said.append)
    assert held is not None
    held.lock.release()


def test_a_named_run_that_is_not_there_or_is_damaged_is_refused() -> None:
    """Whoever names a run wants that one and no other."""
    plan = plan_of()
    folder = stored(plan, OLD)
    with pytest.raises(StoredRunError, match=rf"{NEW}: there is no such run under outputs; give the run's folder"):
        taken(plan_of(resume=NEW))
    Path("empty").mkdir()
    with pytest.raises(StoredRunError, match=r"empty/run\.json: not there"):
        take_up(plan_of(resume="empty"), [].append)
    (folder / "arms.json").unlink()
    with pytest.raises(StoredRunError, match=r"arms\.json: not there; restore it"):
        taken(plan_of(resume=OLD))
    assert not is_held(folder)


def test_a_named_run_that_another_works_on_is_refused() -> None:
    """It cannot be had now."""
    folder = stored(plan_of(), OLD)
    lock = hold(folder)
    with pytest.raises(BusyError, match=f"{OLD}: another process works on this run; wait for it, or end it"):
        take_up(plan_of(resume=OLD), [].append)
    lock.release()


def test_a_named_run_of_other_rows_is_refused_with_each_difference() -> None:
    """What was and what is, a line each, and what to do; nothing is held and nothing changed."""
    stored(plan_of(), OLD)
    todo = "give the config that it was started with, or drop resume"
    other = plan_of(seed=3, arms={"one": {"seeds": [0, 1]}, "two": {}}, resume=OLD)
    *lines, more = refused(other)
    begin = f"resume: run {OLD} has other rows ("
    assert all(line.startswith(begin) and line.endswith(f"); {todo}") for line in lines)
    told = [line.removeprefix(begin).removesuffix(f"); {todo}") for line in lines]
    assert told[:2] == ["seed was 0, is 3", "arms.one.seeds was [0], is [0, 1]"]
    assert told[2] == "arms.two.place was absent, is 1"
    assert len(told) == 8
    assert re.fullmatch(r"resume: and \d+ more differences; compare its config.yaml", more)
    elsewhere = refused(plan_of(name="other", resume=f"outputs/case/{OLD}"))
    assert elsewhere == [f"{begin}it is of experiment case, not of other); {todo}"]
    assert refused(plan_of(ITEMS[:5], resume=OLD))[0].startswith(f"{begin}dataset.content_fp was '")
    only = refused(plan_of(decoding={"_target_": "evalflow.record.Decoding", "max_tokens": 9}, resume=OLD))
    assert only == [f"{begin}arms.one.decoding.max_tokens was {default('max_tokens')}, is 9); {todo}"]


def default(name: str) -> Any:
    return plan_of().conditions()["arms"]["one"]["decoding"][name]


def test_an_arms_absence_is_a_difference() -> None:
    """An arm that the run had and the config has not is named too."""
    stored(plan_of(arms={"one": {}, "two": {}}), OLD)
    lines = refused(plan_of(resume=OLD))
    assert any("arms.two.place was 1, is absent" in line for line in lines)


def test_a_sweeps_job_takes_up_what_its_own_sweep_left_and_nothing_else() -> None:
    """Of its very config: another job of the sweep may be one that would give the same rows."""
    one, four = (plan_of(arms={"one": {"concurrency": level}}) for level in (1, 4))
    stored(one, OLD, sweep_id="s", swept={"concurrency": "1"})
    stored(four, NEW, sweep_id="s", swept={"concurrency": "4"})
    assert taken(one, "s") == (OLD, going_on(OLD))
    assert taken(four, "s") == (NEW, going_on(NEW))
    assert taken(plan_of(arms={"one": {"concurrency": 2}}), "s") == (None, [])
    assert taken(one, "another") == (None, [])


def test_a_run_on_its_own_leaves_a_sweeps_alone() -> None:
    """The sweep goes on with it; who wants it, names it."""
    stored(plan_of(), NEW, sweep_id="s")
    assert taken(plan_of()) == (None, [])
    assert taken(plan_of(resume=NEW)) == (NEW, going_on(NEW))
    stored(plan_of(), OLD)
    assert taken(plan_of()) == (OLD, going_on(OLD))
    assert taken(plan_of(), "s") == (NEW, going_on(NEW))


def test_what_earlier_sessions_left_is_told_by_arm() -> None:
    """The rows that are there, as seed and item, with the arms' accounts and measurements as they were stored."""
    folder = stored(plan_of(), items="ad")
    held = take_up(plan_of(), [].append)
    assert held is not None
    run = load_run(folder)
    assert held.before() == Before({"one": frozenset({(0, "a"), (0, "d")})}, run.probes, run.traces)
    held.lock.release()


@pytest.mark.parametrize("named", [True, False])
def test_any_plain_identity_can_be_taken_up(named: bool) -> None:
    """A model may tell itself in tuples, whole-number keys and numpy's numbers: stored and read back it is the same."""
    parts: dict[str, Any] = {"model": {"_target_": "tests.runner.test_resume.Nested"}}
    stored(plan_of(**parts))
    assert taken(plan_of(**parts, **({"resume": OLD} if named else {}))) == (OLD, going_on())


@dataclass(frozen=True)
class Nested(Model):
    """Its identity is plain to JSON and yet not what JSON gives back."""

    def identity(self) -> Mapping[str, Any]:
        return {"model": "nested", "layers": [(1, 2)], "by": {1: "x"}, "scale": np.float32(0.5)}

    async def complete(self, request: Request) -> Completion:
        return Completion("right", "stop")
