"""One experiment carried out: run or resumed, scored, judged, reported, tracked."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from evalflow.errors import ConfigError, EvalflowError, ExitCode, Fault, MetricError, OutputError, TrackingError
from evalflow.model.protocol import Model
from evalflow.record import Item, Row
from evalflow.report.build import build_report
from evalflow.report.files import write_report
from evalflow.report.html.page_file import drop_page, private_page, write_page
from evalflow.report.html.sweep_page_file import SweepPage
from evalflow.runner.build import Builder, Faults
from evalflow.runner.execute import Progress
from evalflow.runner.journal import check_writable, now_iso
from evalflow.runner.judge import judge
from evalflow.runner.lock import hold
from evalflow.runner.mark import Mark, begun_and_left, write_mark
from evalflow.runner.plan import Plan
from evalflow.runner.score import score
from evalflow.runner.session import SweepJob, carry_out, stored_plan
from evalflow.runner.stored_config import from_yaml
from evalflow.runner.stored_run import StoredRun, load_run
from evalflow.runner.sweep_record import SWEEPS
from evalflow.tracking.finished_run import FinishedRun, Logged
from evalflow.tracking.finished_sweep import FinishedSweep


@dataclass(frozen=True)
class Done:
    """A run that was scored, judged and reported. `unwritten` is why its report is not on disk, `unpaged` why its page.

    `stopped` says that it was asked to stop, be it that all its rows came nevertheless; `summary` is how the plan wants
    to be told.
    """

    run: StoredRun
    report: Mapping[str, Any]
    rows: Sequence[Row]
    unwritten: OutputError | None = None
    unpaged: str | None = None
    stopped: bool = False
    summary: str = "table"

    @property
    def folder(self) -> Path:
        """Where the run is kept."""
        return self.run.folder

    @property
    def interrupted(self) -> bool:
        """Whether whoever waits for it asked it to stop, or it was stopped before its end."""
        return self.stopped or bool(self.run.state["state"] != "finished")

    @property
    def exit_code(self) -> int:
        """What the process answers with."""
        if self.interrupted:
            return int(ExitCode.INTERRUPTED)
        return int(self.unwritten.exit_code if self.unwritten else self.report["exit_code"])

    @property
    def items(self) -> tuple[Item, ...]:
        """The items that were asked."""
        return self.run.items


@dataclass(frozen=True)
class Tracked:
    """What became of tracking: a link to look at, or a word on why there is none."""

    link: str | None = None
    trouble: str | None = None


@contextlib.contextmanager
def performed(
    plan: Plan, progress: Progress, say: Callable[[str], None], job: SweepJob | None = None
) -> Iterator[Done]:
    """Run a plan (or what is left of it) and report on it. The run is kept from others until the block ends.

    Raises:
        EvalflowError: see `runner.session.carry_out`, `scored`.
    """
    outputs = Path(plan.runner.outputs)
    _check_all_is_there(plan)
    check_writable(outputs, plan.name)
    _end_what_was_killed(plan, outputs, say)
    held = carry_out(plan, progress, say, job)
    try:
        yield replace(scored(plan, held.run), stopped=held.stopped)
    finally:
        held.lock.release()


def _check_all_is_there(plan: Plan) -> None:
    """Refuse a run whose models lack what can be known before anything is started; an optional arm is skipped then.

    Raises:
        ConfigError: with each thing that is missing, once.
    """
    missing: dict[str, str] = {}
    for name, planned in plan.arms.items():
        said = None if planned.arm.optional else _missing(planned.model)
        if said is not None:
            missing.setdefault(said, name)
    faults = [(name, *said.rpartition("; ")) for said, name in missing.items()]
    if faults:
        raise ConfigError([Fault(f"arms.{name}", what or todo, todo) for name, what, _, todo in faults])


def _missing(model: Model) -> str | None:
    try:
        return model.missing()
    except (Exception, SystemExit) as fault:  # noqa: BLE001 - the model may be the user's
        return f"it cannot say what it lacks ({type(fault).__name__}: {fault}); mend the model"


@contextlib.contextmanager
def rescored(folder: Path, allow: Sequence[str]) -> Iterator[tuple[Plan, Done]]:
    """Score and judge a stored run again, without its model.

    Raises:
        EvalflowError: it cannot be read, is at work, or its metrics raise.
    """
    with kept_from_others(folder):
        run = load_run(folder)
        plan = stored_plan(run, allow)
        yield plan, scored(plan, run)


@contextlib.contextmanager
def kept_from_others(folder: Path) -> Iterator[None]:
    """Hold a stored run or sweep, where its folder can be written at all: where nobody can write, nobody works.

    Raises:
        BusyError: another process works on it.
    """
    lock = None
    with contextlib.suppress(OSError):
        if (folder / "run.json").exists() or (folder / "sweep.json").exists():
            lock = hold(folder)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def scored(plan: Plan, run: StoredRun) -> Done:
    """Score, judge and write the report.

    Raises:
        MetricError: a metric raised; the rows can be scored again.
    """
    try:
        scores = score(plan, run.rows, run.probes, run.traces)
        report = build_report(run, scores, judge(scores))
    except MetricError as fault:
        raise MetricError(f"{fault}: evalflow score {run.folder}") from fault
    unwritten = unpaged = None
    drop_page(run.folder)
    try:
        write_report(run.folder, report, scores.rows)
        unpaged = write_page(run.folder, report, scores.rows, run.items)
    except OutputError as fault:
        unwritten = fault  # the verdict is said first
    return Done(run, report, scores.rows, unwritten, unpaged, summary=plan.summary)


def track(tracking: Any, done: Done, outputs: Path) -> Tracked:
    """Log a run. Whatever becomes of it, the verdict stands and is on disk."""
    if done.unwritten is not None:
        return Tracked()
    if tracking is None:
        _mark(done.folder, Mark("kept out", now_iso()))
        return Tracked()
    state = done.run.state
    # a tracker gets copies: nothing that it does to them can change the answer
    report, rows = copy.deepcopy(dict(done.report)), list(done.rows)
    page = partial(private_page, done.report, done.rows, done.items)
    finished = FinishedRun(done.folder, report, rows, done.items, state["sweep_id"], dict(state["swept"]), page)
    return _marked(done.folder, lambda: tracking.log(finished, outputs))


def track_sweep(tracking: Any, page: SweepPage, outputs: Path) -> Tracked:
    """Log a sweep's own run, where the tracker has a place for it; its jobs' runs are logged by themselves."""
    log = getattr(tracking, "log_sweep", None)
    if log is None:
        return Tracked()
    finished = FinishedSweep(page.folder, copy.deepcopy(dict(page.summary)), page.elsewhere)
    return _marked(page.folder, lambda: log(finished, outputs))


def _marked(folder: Path, log: Callable[[], Logged | None]) -> Tracked:
    """Log, with a mark on the folder that outlives the process."""
    _mark(folder, Mark("logging", now_iso()))
    tracked = _logged(log)
    if tracked.trouble:
        _mark(folder, Mark("failed", now_iso(), tracked.trouble))
    else:
        _mark(folder, Mark("logged" if tracked.link else "kept out", now_iso(), tracked.link))
    return tracked


def _logged(log: Callable[[], Logged | None]) -> Tracked:
    """What a tracker answered. It may be the user's, and may raise anything."""
    try:
        logged = log()
        if logged is None:
            return Tracked()
        return Tracked(f"{logged.link} (while `{logged.shown_by}` runs)" if logged.shown_by else logged.link)
    except KeyboardInterrupt:
        raise
    except TrackingError as fault:
        told = str(fault)
    except BaseException as fault:  # noqa: BLE001 - a tracker may be the user's
        told = f"tracking: {type(fault).__name__}: {fault}"
    return Tracked(trouble=f"not tracked: {' '.join(told.split())}")


def _mark(folder: Path, mark: Mark) -> None:
    """Leave a mark, where the folder can be written."""
    with contextlib.suppress(OSError):
        write_mark(folder, mark)


def _end_what_was_killed(plan: Plan, outputs: Path, say: Callable[[str], None]) -> None:
    """What a process died over while it logged it stays RUNNING in the store: end that before anything else begins."""
    for folder in begun_and_left(outputs, plan.name):
        recover = getattr(_own_tracking(folder) or plan.tracking, "recover", None)
        if recover is None:
            continue
        name = f"{'sweep' if folder.parent.name == SWEEPS else 'run'} {folder.name}"
        try:
            recover(outputs, plan.name)
        except KeyboardInterrupt:
            raise
        except BaseException as fault:  # noqa: BLE001 - a tracker may be the user's
            told = " ".join(str(fault).split()) or type(fault).__name__
            say(f"{name} was cut off while it was logged, and may still show as running there ({told})")
            continue
        _mark(folder, Mark("cut off", now_iso(), "its process died while it was logged"))
        say(f"{name} was cut off while it was logged; evalflow track {folder.name} logs it")


def _own_tracking(folder: Path) -> Any:
    """The tracker that a stored run names; None of a sweep, which names none, or where it is not one of ours."""
    with contextlib.suppress(EvalflowError):
        node = from_yaml(folder / "config.yaml").get("tracking")
        return None if node is None else Builder(("evalflow",), Faults()).build(node, "tracking")
    return None
