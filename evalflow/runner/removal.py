"""Removing old runs: which ones, and how each goes whole or not at all.

Nothing is touched that is not known to be a run, a sweep or a left-over of ours, and no symlink is followed.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evalflow.errors import OutputError
from evalflow.ratings import is_reviewed
from evalflow.runner.inventory import Entry, folders_in, inventory
from evalflow.runner.journal import UNBORN
from evalflow.runner.lock import hold, is_held
from evalflow.runner.stored_run import peek
from evalflow.runner.sweep_record import SWEEPS, SweepFolder

KEPT = 10
"""Runs that stay of each experiment, unless another number is asked for."""
GONE = ".gone-"
"""How a folder is called from the moment that it is no run any more until it is off the disk."""
LEFT_AFTER_S = 3600.0
"""A folder that was never finished is taken for left over after this time (s)."""
_UNBORN = re.compile(rf"{re.escape(UNBORN)}[0-9a-f]{{8}}")
_GONE = re.compile(rf"{re.escape(GONE)}({_UNBORN.pattern}|[0-9]{{8}}-[0-9]{{6}}-[0-9a-f]{{6}}(-[0-9]+)?)")


@dataclass(frozen=True)
class Removal:
    """One folder to be removed, and its size (bytes). A run has an `entry`; a left-over never became one or is none."""

    kind: Literal["run", "sweep", "left-over"]
    folder: Path
    size: int
    entry: Entry | None = None


def choose(entries: Sequence[Entry], keep: int, busy: Collection[str | None] = ()) -> list[Entry]:
    """The runs to remove of `entries` (newest first): of each experiment all but its last `keep` and its last pass.

    One at work stays, one of a sweep that is at work (`busy`), which has yet to read it, and one that people review. So
    does what is damaged or a link; those two count for nothing.
    """
    known: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.state != "damaged" and not entry.linked:
            known.setdefault(entry.experiment, []).append(entry)
    doomed = []
    for runs in known.values():
        passed = next((run for run in runs if run.verdict == "pass"), None)
        idle = [run for run in runs[keep:] if run.state != "at work" and run.sweep_id not in busy]
        doomed += [run for run in idle if run is not passed and not is_reviewed(run.folder)]
    return doomed


def removals(outputs: Path, keep: int, experiment: str | None = None) -> list[Removal]:
    """Everything that is to go, of one experiment or of all: left-overs, old runs, and sweeps that have no run left.

    Raises:
        StoredRunError: a folder cannot be listed.
    """
    entries, linked = inventory(outputs), (outputs / SWEEPS).is_symlink()
    sweeps = [] if linked else folders_in(outputs / SWEEPS)
    busy = {folder.name for folder in sweeps if is_held(folder)}
    doomed = choose([entry for entry in entries if experiment in (None, entry.experiment)], keep, busy)
    parents = [outputs / experiment] if experiment is not None else folders_in(outputs)
    found = [Removal("left-over", folder, _size(folder)) for parent in parents for folder in _left_over(parent)]
    found += [Removal("run", entry.folder, _size(entry.folder), entry) for entry in doomed]
    gone = {entry.folder for entry in doomed}
    used = {entry.sweep_id for entry in entries if entry.folder not in gone} | busy
    bereft = {entry.sweep_id for entry in doomed}
    for folder in sweeps:
        asked = experiment is None or folder.name in bereft
        if asked and folder.name not in used and _is_done_with(folder, gone):
            found.append(Removal("sweep", folder, _size(folder)))
    return found


def remove(removal: Removal) -> None:
    """Remove a folder: renamed first, so that a process killed half-way leaves no half a run.

    Raises:
        BusyError: somebody works on it.
        OutputError: it has changed since it was chosen, or cannot be removed.
    """
    folder = removal.folder
    try:
        if folder.is_symlink() or not folder.is_dir():
            raise OutputError(f"{folder}: it is no folder any more; clean again")
        lock = hold(folder)
        try:
            # somebody may have gone on with it since
            if removal.entry is not None and peek(folder) != removal.entry.run:
                raise OutputError(f"{folder}: it has changed since it was chosen; clean again")
            _erase(folder)
        finally:
            lock.release()
    except OSError as fault:
        raise OutputError(f"{folder}: cannot be removed ({fault.strerror}); make it writable") from None


def _erase(folder: Path) -> None:
    gone = folder
    if not folder.name.startswith(GONE):
        gone = folder.rename(folder.with_name(f"{GONE}{folder.name}"))
    shutil.rmtree(gone)


def _left_over(parent: Path) -> list[Path]:
    """Folders of runs that were never born, and of such as were half removed."""
    if parent.is_symlink():
        return []
    return [
        folder
        for folder in folders_in(parent)
        if not folder.is_symlink()
        and (_GONE.fullmatch(folder.name) or (_UNBORN.fullmatch(folder.name) and _age_s(folder) > LEFT_AFTER_S))
        and not is_held(folder)
    ]


def _is_done_with(folder: Path, gone: Collection[Path]) -> bool:
    """Whether a folder is a sweep's that has no run left; one that never had any may be new."""
    sweep = SweepFolder(folder)
    if folder.is_symlink() or sweep.state().get("sweep_id") != folder.name:
        return False
    numbers = [int(path.stem) for path in (folder / "jobs").glob("*.json") if path.stem.isdecimal()]
    made = [Path(record.folder) for number in numbers if (record := sweep.read(number)) and record.folder]
    doomed = {path.resolve() for path in gone}
    if any(path.exists() and path.resolve() not in doomed for path in made):
        return False
    return bool(made) or _age_s(folder) > LEFT_AFTER_S


def _age_s(folder: Path) -> float:
    try:
        return time.time() - folder.stat().st_mtime
    except OSError:
        return 0.0


def _size(folder: Path) -> int:
    """Bytes of every file in a folder; what cannot be read, and what a link leads to, counts for nothing."""
    total = 0
    for within, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(Path(within) / name).st_size
            except OSError:
                continue
    return total
