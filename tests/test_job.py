"""One experiment carried out: who may have its run meanwhile, what the process answers, what tracking leaves behind."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import BusyError, ConfigError, ExitCode, MetricError, OutputLostError, TrackingError
from evalflow.job import Done, kept_from_others, performed, rescored, track
from evalflow.model.scripted import Scripted
from evalflow.runner.journal import now_iso
from evalflow.runner.lock import hold, is_held
from evalflow.runner.mark import Mark, read_mark, write_mark
from evalflow.runner.plan import Plan
from evalflow.tracking.finished_run import FinishedRun, Logged
from tests.conftest import plan_of
from tests.runner.test_execute import Listener
from tests.runner.test_session import Stopper
from tests.stand_ins import Text

pytestmark = pytest.mark.usefixtures("home")
GATE = {"g": {"figure": "quality/exact", "floor": 0.5}}


def plan(**parts: Any) -> Plan:
    return plan_of(**{"gates": GATE, **parts})


def done(listener: Listener | None = None, **parts: Any) -> Done:
    with performed(plan(**parts), listener or Listener(), [].append) as carried:
        return carried


def only_folder() -> Path:
    (folder,) = Path("outputs/case").glob("2*")
    return folder


def test_a_run_is_kept_from_others_until_it_is_tracked() -> None:
    """From its first row to the end of the block nobody else may have it, however the block ends."""
    with performed(plan(), Listener(), [].append) as carried:
        assert is_held(carried.folder)
        assert (carried.folder / "report.json").exists()
    assert not is_held(carried.folder)
    with pytest.raises(LookupError), performed(plan(), Listener(), [].append) as carried:
        raise LookupError("the printer is on fire")
    assert not is_held(carried.folder)


def test_a_run_whose_metric_raises_is_let_go_with_its_rows() -> None:
    """The message says how to score it again; it is not held, and has no report."""
    with pytest.raises(MetricError, match=r"^metrics\.m: KeyError: 'score'.*: evalflow score outputs/case/"):
        done(metrics={"m": {"_target_": "tests.stand_ins.Broken"}}, gates={})
    folder = only_folder()
    assert not is_held(folder)
    assert not (folder / "report.json").exists()


@pytest.mark.parametrize(
    ("otherwise", "stop", "unwritten", "code"),
    [
        ("right", False, False, ExitCode.PASS),
        ("wrong", False, False, ExitCode.FAIL),
        ("wrong", False, True, ExitCode.INCOMPLETE),
        ("right", True, False, ExitCode.INTERRUPTED),
        ("right", True, True, ExitCode.INTERRUPTED),
    ],
)
def test_what_the_process_answers(otherwise: str, stop: bool, unwritten: bool, code: ExitCode) -> None:
    """An interruption before anything else, a report that is not on disk before its verdict."""
    model = {"_target_": "evalflow.model.scripted.Scripted", "otherwise": otherwise}
    carried = done(Stopper(2, signal.SIGINT) if stop else None, model=model)
    if unwritten:
        carried = replace(carried, unwritten=OutputLostError("full"))
    assert (carried.exit_code, carried.interrupted) == (code, stop)


def test_a_run_is_scored_again_by_one_at_a_time() -> None:
    """Whoever holds it may be writing its rows."""
    folder = done().folder
    with rescored(folder, ()) as (again, carried):
        assert (again.name, carried.exit_code, is_held(folder)) == ("case", 0, True)
        with pytest.raises(BusyError), rescored(folder, ()):
            pass
    assert not is_held(folder)


def test_what_is_no_run_is_held_by_nobody() -> None:
    """A folder without a run gets no lock file."""
    Path("empty").mkdir()
    for folder in (Path("empty"), Path("nowhere")):
        with kept_from_others(folder):
            pass
    assert (list(Path("empty").iterdir()), Path("nowhere").exists()) == ([], False)


@dataclass
class Tracker:
    """Answers as it is told, and notes which mark the run bears while it is logged."""

    gives: Any = None
    seen: Mark | None = None

    def log(self, run: FinishedRun, outputs: Path) -> Any:
        self.seen = read_mark(run.folder)
        if isinstance(self.gives, BaseException):
            raise self.gives
        return self.gives


@pytest.mark.parametrize(
    ("gives", "state", "said", "trouble"),
    [
        (None, "kept out", None, None),
        (Logged("http://x/7", ("7",)), "logged", "http://x/7", None),
        (Logged("http://x/7", ("7",), "evalflow ui"), "logged", "http://x/7 (while `evalflow ui` runs)", None),
        (TrackingError("store: away;\n start it"), "failed", None, "not tracked: store: away; start it"),
        (ValueError("no\nbook"), "failed", None, "not tracked: tracking: ValueError: no book"),
        (SystemExit(0), "failed", None, "not tracked: tracking: SystemExit: 0"),
    ],
)
def test_a_run_bears_the_mark_of_its_tracking(gives: Any, state: str, said: str | None, trouble: str | None) -> None:
    """From the first call to the store until it answered; whatever a tracker raises is one line, and a mark."""
    carried, tracker = done(), Tracker(gives)
    tracked = track(tracker, carried, Path("outputs"))
    assert tracker.seen is not None and tracker.seen.state == "logging"
    mark = read_mark(carried.folder)
    assert mark is not None
    assert (mark.state, mark.said) == (state, said or trouble)
    assert (tracked.link, tracked.trouble) == (said, trouble)


def test_a_ctrl_c_while_a_run_is_logged_leaves_the_mark_of_the_beginning() -> None:
    """The next start finds it, and ends what the store still believes to be running."""
    carried = done()
    with pytest.raises(KeyboardInterrupt):
        track(Tracker(KeyboardInterrupt()), carried, Path("outputs"))
    mark = read_mark(carried.folder)
    assert mark is not None and mark.state == "logging"


def test_a_report_that_is_not_on_disk_is_not_tracked() -> None:
    """It leaves no mark. Where there is no tracker, the mark says that the run was to be kept out."""
    carried, tracker = done(), Tracker()
    assert track(tracker, replace(carried, unwritten=OutputLostError("full")), Path("outputs")).trouble is None
    assert (tracker.seen, read_mark(carried.folder)) == (None, None)
    assert track(None, carried, Path("outputs")).link is None
    mark = read_mark(carried.folder)
    assert mark is not None and mark.state == "kept out"


@dataclass(frozen=True)
class Recovering:
    """A tracker that ends what was left running, notes for which experiment, and may fail at it."""

    fails: str | None = None

    def log(self, run: FinishedRun, outputs: Path) -> None:
        return None

    def recover(self, outputs: Path, experiment: str) -> None:
        with Path("recovered").open("a", encoding="utf-8") as notes:
            notes.write(f"{outputs}/{experiment}\n")
        if self.fails:
            raise {"TrackingError": TrackingError, "ValueError": ValueError}[self.fails]("store: away")


def started(**settings: Any) -> list[str]:
    """What the next start of the experiment says."""
    said: list[str] = []
    tracking = {"_target_": "tests.test_job.Recovering", **settings}
    with performed(plan(tracking=tracking, seed=1), Listener(), said.append) as carried:
        assert carried.exit_code == 0
        track(None, carried, Path("outputs"))
    return said


def test_what_was_being_logged_when_its_process_died_is_ended_first() -> None:
    """Once: the run then bears a mark of that, and the user is told how to log it."""
    folder = done().folder
    assert (started(), Path("recovered").exists()) == ([], False)
    write_mark(folder, Mark("logging", now_iso()))
    (said,) = started()
    assert f"{folder.name} was cut off while it was logged; evalflow track {folder.name} logs it" in said
    assert Path("recovered").read_text(encoding="utf-8") == "outputs/case\n"
    mark = read_mark(folder)
    assert mark is not None and mark.state == "cut off"
    assert started() == []


def test_what_another_process_logs_right_now_is_left_alone() -> None:
    """It is held, so its process lives."""
    folder = done().folder
    write_mark(folder, Mark("logging", now_iso()))
    lock = hold(folder)
    assert started() == []
    lock.release()
    assert len(started()) == 1


@pytest.mark.parametrize("fails", ["TrackingError", "ValueError"])
def test_a_store_that_cannot_be_reached_stops_no_run(fails: str) -> None:
    """It is told in a line, and tried again at the next start."""
    folder = done().folder
    write_mark(folder, Mark("logging", now_iso()))
    for _ in range(2):
        (said,) = started(fails=fails)
        assert "may still show as running" in said and "store: away" in said


def test_a_tracker_that_answers_anything_changes_no_answer() -> None:
    """What is no link is trouble, and told; the verdict stands."""
    carried = done()
    tracked = track(Text(), carried, Path("outputs"))
    assert tracked.link is None
    assert "AttributeError" in str(tracked.trouble)
    mark = read_mark(carried.folder)
    assert mark is not None and mark.state == "failed"


@dataclass(frozen=True)
class Lacking(Scripted):
    """Lacks something, or cannot say what."""

    raises: bool = False

    def missing(self) -> str | None:
        if self.raises:
            raise OSError("no such drive")
        return "shelf: the book is gone; bring it back"


@pytest.mark.parametrize(
    ("raises", "said"),
    [
        (False, "arms.one: shelf: the book is gone; bring it back"),
        (True, "arms.one: it cannot say what it lacks (OSError: no such drive); mend the model"),
    ],
)
def test_what_a_model_lacks_is_told_before_a_run_is_begun(raises: bool, said: str) -> None:
    """One line, no folder; whatever its own code does to say so."""
    lacking = plan(model={"_target_": f"{__name__}.Lacking", "raises": raises})
    with pytest.raises(ConfigError) as refused, performed(lacking, Listener(), lambda _: None):
        pass
    assert str(refused.value) == said
    assert not list(Path("outputs").glob("*/2*"))
