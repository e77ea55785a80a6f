"""A sweep's folder: which jobs it has, and how far each of them came."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from filelock import BaseFileLock

from evalflow.errors import BusyError, OutputLostError
from evalflow.record import SCHEMA_VERSION, digest
from evalflow.runner.journal import now_iso, unwritable
from evalflow.runner.lock import hold
from evalflow.strict_json import misfit, parse_json
from evalflow.whole_file import as_json, replace_text

SWEEPS = ".sweeps"
"""The folder under the outputs; no experiment may begin with a dot."""
DECIDED = (0, 1, 2)
"""Exit codes of a job that is finished: it passed, failed or could not be read, and would again."""


@dataclass(frozen=True)
class JobRecord:
    """One job of a sweep. `at work` without a process is a job that died. `said` is why it could not run.

    `start` tells the starts of a sweep apart.
    """

    job: int
    state: Literal["at work", "ended"]
    start: str
    started: str
    ended: str | None = None
    exit_code: int | None = None
    verdict: str | None = None
    folder: str | None = None
    config_hash: str | None = None
    said: str | None = None
    skipped: bool = False

    @property
    def decided(self) -> bool:
        """Whether it need not run again."""
        return self.state == "ended" and self.exit_code in DECIDED

    @property
    def seconds(self) -> float | None:
        """How long it took (s)."""
        if self.ended is None:
            return None
        return (datetime.fromisoformat(self.ended) - datetime.fromisoformat(self.started)).total_seconds()


@dataclass(frozen=True)
class SweepFolder:
    """The folder of one sweep, under the outputs of its runs, as one start of the sweep sees it.

    What a process of an earlier start still does, whose sweep was killed, neither stops this one nor tells of its jobs.
    """

    folder: Path
    start: str = ""

    @property
    def sweep_id(self) -> str:
        """The sweep's id."""
        return self.folder.name

    @property
    def _stop(self) -> Path:
        return self.folder / f"stop-{self.start}"

    @property
    def stopped(self) -> bool:
        """Whether no further job may begin."""
        return self._stop.exists()

    def stop(self) -> None:
        """Let no further job begin.

        Raises:
            OutputLostError: the folder cannot be written.
        """
        self.write_text(self._stop.name, "")

    def write(self, record: JobRecord) -> None:
        """Keep how far a job came.

        Raises:
            OutputLostError: it cannot be written.
        """
        if self._begun()["start"] == self.start:
            self.write_text(f"jobs/{record.job}.json", as_json(asdict(record)))

    def read(self, job: int) -> JobRecord | None:
        """How far a job came; None where it never began."""
        try:
            record = JobRecord(**parse_json((self.folder / "jobs" / f"{job}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        return None if misfit(record) else record

    def write_text(self, name: str, text: str) -> None:
        """A whole file of the sweep's.

        Raises:
            OutputLostError: it cannot be written.
        """
        try:
            replace_text(self.folder / name, text)
        except OSError as fault:
            said = f"{self.folder}: cannot be written any more ({fault.strerror})"
            raise OutputLostError(f"{said}; make room and start the sweep again") from None

    @property
    def started(self) -> str:
        """When the sweep first began.

        Raises:
            OutputLostError: sweep.json cannot be read any more.
        """
        return str(self._begun()["started"])

    def _begun(self) -> dict[str, Any]:
        """The content of sweep.json, which is there since the sweep was opened."""
        state = self.state()
        if not {"start", "started"} <= set(state):
            raise OutputLostError(f"{self.folder / 'sweep.json'}: it cannot be read any more; restore it")
        return state

    def state(self) -> dict[str, Any]:
        """The content of sweep.json; empty where it cannot be read."""
        try:
            state = parse_json((self.folder / "sweep.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return state if isinstance(state, dict) else {}

    def close(self, whole: bool) -> None:
        """Note how the sweep ended: it is finished where every job is.

        Raises:
            OutputLostError: it cannot be written.
        """
        ended = {"state": "finished" if whole else "interrupted", "finished": now_iso()}
        self.write_text("sweep.json", as_json({**self._begun(), **ended}))


def open_sweep(
    outputs: Path, told: Mapping[str, Any], folders: Sequence[Path], fresh: bool
) -> tuple[SweepFolder, BaseFileLock]:
    """The sweep of the same jobs that was not finished, or a new one (`fresh`: in any case), and the lock on it.

    `told` is what is kept of it, its `jobs` among it; `folders` are the user's config folders.

    Raises:
        OutputError: the folder cannot be made.
    """
    parent = outputs / SWEEPS
    key = digest([told["jobs"], [str(folder.resolve()) for folder in folders]])
    try:
        held = None if fresh else _unfinished(parent, key)
        folder, lock = held or _new(parent, key)
        found = SweepFolder(folder, uuid.uuid4().hex[:8])
        begun = {"schema_version": SCHEMA_VERSION, "sweep_id": folder.name, "key": key, **told, "started": now_iso()}
        running = {"start": found.start, "state": "running", "finished": None}
        found.write_text("sweep.json", as_json({**begun, **found.state(), **running}))
    except OSError as fault:
        raise unwritable(parent, fault) from None
    return found, lock


def _unfinished(parent: Path, key: str) -> tuple[Path, BaseFileLock] | None:
    for path in sorted(parent.glob("*/sweep.json"), reverse=True):
        state = SweepFolder(path.parent).state()
        if state.get("key") != key or state.get("state") == "finished" or state.get("schema_version") != SCHEMA_VERSION:
            continue
        try:
            return path.parent, hold(path.parent)
        except BusyError:
            continue
    return None


def _new(parent: Path, key: str) -> tuple[Path, BaseFileLock]:
    base = f"{datetime.now():%Y%m%d-%H%M%S}-{key[:6]}"
    parent.mkdir(parents=True, exist_ok=True)
    folder, again = parent / base, 0
    while True:
        try:
            folder.mkdir()
            break
        except FileExistsError:
            again += 1
            folder = parent / f"{base}-{again}"
    lock = hold(folder)
    (folder / "jobs").mkdir()
    return folder, lock


def find_sweep(named: str, outputs: Path) -> Path | None:
    """The folder of a sweep named by its path, or by its id under `outputs`; None where there is none."""
    return next((folder for folder in (outputs / SWEEPS / named, Path(named)) if is_sweep(folder)), None)


def is_sweep(folder: Path) -> bool:
    """Whether a folder is a sweep's."""
    return (folder / "sweep.json").is_file()


def axis_labels(keys: Iterable[str]) -> dict[str, str]:
    """Swept key -> its last part, which a name has room for, or the whole where two would be one."""
    last = {key: key.rsplit(".", 1)[-1] for key in keys}
    count = Counter(last.values())
    return {key: key if count[label] > 1 else label for key, label in last.items()}
