"""Which stored run a new session takes up, and what it finds there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import BaseFileLock

from evalflow.errors import BusyError, ConfigError, Fault, StoredRunError
from evalflow.runner.execute import Before
from evalflow.runner.instrument import environment
from evalflow.runner.inventory import answer_of
from evalflow.runner.journal import config_digest
from evalflow.runner.lock import hold, is_held
from evalflow.runner.mark import was_cut_off
from evalflow.runner.plan import NEW, Plan
from evalflow.runner.stored_config import as_stored
from evalflow.runner.stored_run import StoredRun, find_run, load_run, peek, run_folders

BUSY_S = 0.5
DYING_S = 20.0
"""A sweep's run that is held while its sweep is not is held by a process that is about to end: it is waited for (s)."""
TOLD = 8
"""Differences that are told one by one."""


@dataclass(frozen=True)
class Held:
    """A stored run, the lock that keeps everybody else from it, and whether its session was asked to stop."""

    run: StoredRun
    lock: BaseFileLock
    stopped: bool = False

    def before(self) -> Before:
        """What earlier sessions left."""
        answered: dict[str, set[tuple[int, str]]] = {}
        for row in self.run.rows:
            answered.setdefault(row.arm, set()).add((row.seed, row.item_id))
        whole = {arm: frozenset(rows) for arm, rows in answered.items()}
        return Before(whole, self.run.probes, self.run.traces)


def take_up(plan: Plan, say: Callable[[str], None], sweep_id: str | None = None) -> Held | None:
    """The run that the plan goes on with; None where it needs a new one. `say` is told why.

    A job of a sweep takes up what the sweep itself left, and of this very config only: another job of it may be one
    that would give the same rows. Outside a sweep the runs of sweeps are left alone.

    Raises:
        ConfigError: the plan names a run that answers other questions.
        BusyError: it names one that another process works on.
        StoredRunError: it names one that is not there or is damaged.
    """
    if plan.resume == NEW:
        return None
    outputs = Path(plan.runner.outputs)
    if plan.resume is not None:
        return _named(find_run(plan.resume, outputs), plan, say)
    for folder in _unfinished(plan, sweep_id):
        try:
            held = _held(folder, BUSY_S if sweep_id is None else DYING_S)
        except BusyError:
            if sweep_id is not None:
                raise
            continue  # somebody was quicker
        except (StoredRunError, OSError) as fault:
            say(f"unfinished run {folder.name} cannot be resumed ({fault})")
            continue
        changed = _changed(held.run.state["sessions"][-1]["environment"], environment())
        if changed:
            held.lock.release()
            told = f"{'; '.join(changed)}; resume={folder.name} takes it up all the same"
            say(f"unfinished run {folder.name} is left alone: since then, {told}")
            continue
        say(_found(held, plan))
        return held
    if sweep_id is None:
        _tell_of_the_last(plan, say)
    return None


def _tell_of_the_last(plan: Plan, say: Callable[[str], None]) -> None:
    """Where the last run of the experiment was not finished and is of other rows: say so, lest it is waited for."""
    last = run_folders(Path(plan.runner.outputs), plan.name)[-1:]
    state = peek(last[0]) if last else None
    if state is None or state["state"] == "finished" or state["sweep_id"] is not None or is_held(last[0]):
        return
    if differs := _differences(state, plan):
        more = f" and {len(differs) - 1} more" if len(differs) > 1 else ""
        say(f"unfinished run {last[0].name} has other rows and is left alone ({differs[0]}{more})")


def at_work(plan: Plan) -> list[str]:
    """Ids of the runs of the same rows that others work on right now."""
    return [folder.name for folder, _ in _of_same_rows(plan) if is_held(folder)]


def _of_same_rows(plan: Plan) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Folders and states of the runs that give the plan's rows, newest first; of the others not much is read."""
    key = plan.resume_key()
    for folder in reversed(run_folders(Path(plan.runner.outputs), plan.name)):
        try:
            if key not in (folder / "run.json").read_text(encoding="utf-8"):
                continue
        except (OSError, ValueError):
            continue  # no run that could be told
        state = peek(folder)
        if state is not None and state["resume_key"] == key and state["run_id"] == folder.name:
            yield folder, state


def _unfinished(plan: Plan, sweep_id: str | None) -> Iterator[Path]:
    """Folders of runs with the plan's rows that were not reported on, those of this very config first, newest first.

    A process may also have died after the last row, while it scored or logged: its run is whole, and only to be told.
    """
    own = config_digest(as_stored(plan.config))
    found = []
    for folder, state in _of_same_rows(plan):
        if state["sweep_id"] != sweep_id or (sweep_id is None and is_held(folder)):
            continue
        reported = state["state"] == "finished" and answer_of(folder, state)[0] is not None
        if reported and not was_cut_off(folder):
            continue
        found.append((state["sessions"][-1]["config_digest"] != own, folder))
    yield from (folder for other, folder in sorted(found, key=lambda pair: pair[0]) if not (sweep_id and other))


def _named(folder: Path, plan: Plan, say: Callable[[str], None]) -> Held:
    held = _held(folder)
    differs = _differences(held.run.state, plan)
    if differs:
        held.lock.release()
        todo = "give the config that it was started with, or drop resume"
        told = [Fault("resume", f"run {folder.name} has other rows ({one})", todo) for one in differs[:TOLD]]
        if len(differs) > TOLD:
            told.append(Fault("resume", f"and {len(differs) - TOLD} more differences", "compare its config.yaml"))
        raise ConfigError(told)
    for changed in _changed(held.run.state["sessions"][-1]["environment"], environment()):
        say(f"since run {folder.name} began, {changed}")
    say(_found(held, plan))
    return held


def _found(held: Held, plan: Plan) -> str:
    n_rows = len(held.run.rows)
    if n_rows == plan.n_requests and held.run.state["state"] == "finished":
        return f"all rows of run {held.run.run_id} are there; they are used again"
    return f"resuming run {held.run.run_id}: {n_rows} of {plan.n_requests} rows are there"


def _held(folder: Path, within_s: float = BUSY_S) -> Held:
    lock = hold(folder, within_s)
    try:
        return Held(load_run(folder), lock)
    except BaseException:
        lock.release()
        raise


def _differences(state: Mapping[str, Any], plan: Plan) -> list[str]:
    """Why a stored run does not have the plan's rows; empty where it has them."""
    if state["experiment"] != plan.name:
        return [f"it is of experiment {state['experiment']}, not of {plan.name}"]
    return _changed(state["conditions"], plan.conditions())


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What differs between two nested mappings, as `arms.long.seeds was [0], is [0, 1]`."""
    before, after = dict(_flat(old)), dict(_flat(new))
    names = dict.fromkeys([*before, *after])
    return [
        f"{name} was {_shown(before, name)}, is {_shown(after, name)}"
        for name in names
        if name not in before or name not in after or before[name] != after[name]
    ]


def _flat(node: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", list(value) if isinstance(value, tuple) else value


def _shown(values: Mapping[str, Any], name: str) -> str:
    if name not in values:
        return "absent"
    said = repr(values[name])
    return said if len(said) <= 40 else f"{said[:37]}..."
