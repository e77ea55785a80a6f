"""One process working on one run: a new folder or an unfinished one, its arms executed, its rows read back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from evalflow.dataset.protocol import Selection
from evalflow.errors import ConfigError, DataError, Fault, ModelError, OutputLostError, StoredRunError
from evalflow.runner.build import ALLOW_IT
from evalflow.runner.calibration import read_calibration
from evalflow.runner.execute import Before, Progress, execute
from evalflow.runner.instrument import environment
from evalflow.runner.journal import Journal, open_run, reopen_run
from evalflow.runner.plan import Plan, build_plan
from evalflow.runner.resume import Held, at_work, take_up
from evalflow.runner.stop import Stop
from evalflow.runner.stored_config import from_yaml
from evalflow.runner.stored_run import StoredRun, load_run
from evalflow.strict_json import misfit


@dataclass(frozen=True)
class SweepJob:
    """The sweep that a run is a job of, and what the sweep gave this one: `{"seed": "1"}`.

    `shared` says that jobs may run at the same time, so that a time is of a shared machine.
    """

    sweep_id: str
    swept: Mapping[str, str] = field(default_factory=dict)
    shared: bool = False


def carry_out(plan: Plan, progress: Progress, say: Callable[[str], None], job: SweepJob | None = None) -> Held:
    """Execute a plan, going on with an unfinished run of it where there is one; what was stored, still held.

    The run's state is `interrupted` where it was stopped in order and something is missing; what is held says whether
    it was asked to stop at all. `say` is told which run is
    resumed, or why none is.

    Raises:
        ConfigError, BusyError, StoredRunError: the run that the plan names cannot be resumed.
        DataError: an item cannot be stored as it is.
        OutputError: the folder cannot be written.
        OutputLostError: that, after the run was started.
        ModelError: a model tried to end the process.
        KeyboardInterrupt: it was stopped at once; the rows so far are on disk and the run is marked interrupted.
    """
    for item in plan.items:
        wrong = misfit(item)
        if wrong is not None:
            raise DataError(f"dataset {plan.dataset_name}: item {item.id!r}: {wrong}; mend the dataset")
    journal, before = _opened(plan, say, job)
    try:
        stopped = _executed(plan, journal, before, progress)
        return Held(load_run(journal.folder), journal.lock, stopped)
    except BaseException as fault:
        journal.lock.release()
        if isinstance(fault, StoredRunError):
            raise OutputLostError(f"after the run: {fault}") from None
        raise


def _executed(plan: Plan, journal: Journal, before: Before, progress: Progress) -> bool:
    """Execute what is missing and close the journal; whether a stop was asked for."""
    stop = Stop(progress.stopping)
    try:
        whole = stop.run(execute(plan, journal, before, stop, progress))
    except BaseException as fault:
        with contextlib.suppress(OutputLostError):  # the first fault is the one to tell
            journal.close("interrupted")
        if isinstance(fault, SystemExit):  # raised in a task of a model's own, where no row could catch it
            raise ModelError(f"a model tried to end the process (SystemExit: {fault.code}); mend the model") from None
        raise
    journal.close("finished" if whole else "interrupted")
    return stop.asked


def _opened(plan: Plan, say: Callable[[str], None], job: SweepJob | None) -> tuple[Journal, Before]:
    held = take_up(plan, say, job.sweep_id if job else None)
    facts = _facts(plan, job)
    if held is not None:
        return reopen_run(held.run.folder, held.run.state, plan.config, facts, held.lock), held.before()
    for run_id in at_work(plan) if job is None else ():
        say(f"run {run_id} of the same rows is at work in another process; this is a new one")
    return open_run(Path(plan.runner.outputs), plan.name, plan.config, plan.items, facts), Before()


def _facts(plan: Plan, job: SweepJob | None) -> dict[str, Any]:
    """What is kept of a plan in run.json."""
    shard = plan.selection.shard
    return {
        "resume_key": plan.resume_key(),
        "conditions": plan.conditions(),
        "part": plan.selection.part,
        "shard": None if shard is None else {**asdict(shard), "unsharded": plan.selection.unsharded},
        "fingerprints": dict(plan.fingerprints),
        "environment": environment(),
        "calibration": read_calibration(Path(plan.runner.outputs)),
        "sweep_id": job.sweep_id if job else None,
        "swept": dict(job.swept) if job else {},
        "shared": job is not None and job.shared,
    }


def stored_plan(run: StoredRun, allow: Sequence[str]) -> Plan:
    """The plan of a stored run, by its own config and items.

    Raises:
        ConfigError: its config is none, as edited since, or names a class of a module that `allow` does not.
        StoredRunError: its config is not there, or it has a row that the plan does not ask for.
    """
    config = from_yaml(run.folder / "config.yaml")
    try:
        plan = build_plan(config, allow, stored=Selection(run.items, run.state["part"]))
    except ConfigError as fault:
        raise ConfigError([_told_again(one, run) for one in fault.faults]) from None
    asked = {name: set(planned.arm.seeds) for name, planned in plan.arms.items()}
    items = {item.id for item in plan.items}
    for row in run.rows:
        if row.item_id not in items or row.seed not in asked.get(row.arm, ()):
            said = f"arm {row.arm!r:.60}, seed {row.seed}, item {row.item_id!r:.60} was never asked"
            raise StoredRunError(f"{run.folder / 'rows.jsonl'}: {said}; restore the file")
    return plan


def _told_again(fault: Fault, run: StoredRun) -> Fault:
    """A fault of a stored config; that a class was allowed when the run was made does not allow it now."""
    if not fault.todo.startswith(ALLOW_IT):
        return fault
    flag = fault.todo.removeprefix("allow it with ")
    said = f"{fault.what}, and this command loads the classes that the stored run names"
    return Fault(str(run.folder / "config.yaml"), f"{fault.where}: {said}", f"give the flag of the run again: {flag}")
