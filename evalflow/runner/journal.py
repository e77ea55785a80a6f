"""A run's folder: rows as they complete, how the arms went, and which sessions worked on it.

Rows are only ever appended. Every other file is replaced whole, so that a process killed at any moment leaves the old
one or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import shutil
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal

from filelock import BaseFileLock

from evalflow.errors import OutputError, OutputLostError
from evalflow.record import SCHEMA_VERSION, Item, Probe, Row, digest, to_json
from evalflow.runner.lock import hold
from evalflow.runner.stored_config import as_stored, to_yaml
from evalflow.runner.trace import Traces
from evalflow.whole_file import as_json, replace_text

State = Literal["running", "finished", "interrupted"]
SYNC_S = 1.0
"""Rows are forced to the disk at least this often (s) while they come."""
UNBORN = ".new-"
"""How the folder of a run begins that is not yet whole."""
ROW_PARTS = ("dataset", "model", "decoding", "arms", "seed", "limit", "where", "shard")
"""The parts of a config that decide its rows. The others may be edited before a run is scored again."""


class Journal:
    """Writes one run's folder for one session, which holds its `lock`.

    What cannot be written is an `OutputError` before the first arm, and an `OutputLostError` from then on.
    """

    def __init__(self, folder: Path, state: dict[str, Any], lock: BaseFileLock) -> None:
        self.folder = folder
        self.state = state
        self.session = str(state["sessions"][-1]["session"])
        self.lock = lock
        self._rows: IO[str] | None = None
        self._synced = 0.0

    @property
    def run_id(self) -> str:
        """The run's id."""
        return str(self.state["run_id"])

    def append(self, row: Row) -> bool:
        """One finished row; whether the rows so far have just been forced to the disk.

        Raises:
            OutputLostError: it cannot be written.
        """
        try:
            if self._rows is None:
                self._rows = (self.folder / "rows.jsonl").open("a", encoding="utf-8")
            self._rows.write(f"{to_json(row)}\n")
            self._rows.flush()
            if time.monotonic() - self._synced <= SYNC_S:
                return False
            self._sync()
        except OSError as fault:
            raise _lost(self.folder, fault) from None
        return True

    def write_probes(self, probes: Sequence[Probe]) -> None:
        """Every measurement of the arms themselves."""
        self._write("probes.jsonl", _lines(probes))

    def write_traces(self, traces: Traces) -> None:
        """How the arms went, after the rows that they tell of."""
        try:
            self._sync()
        except OSError as fault:
            raise _lost(self.folder, fault) from None
        self._write("arms.json", _accounts(traces))

    def close(self, state: State) -> None:
        """Force the rows to the disk and note how the session ended.

        Raises:
            OutputLostError: one of them was not possible; the run is then noted as interrupted, as far as that can be.
        """
        rows, self._rows = self._rows, None
        try:
            if rows is not None:
                with contextlib.closing(rows):
                    rows.flush()
                    os.fsync(rows.fileno())
            self._end(state)
        except OSError as fault:
            with contextlib.suppress(OutputLostError):
                self._end("interrupted")
            raise _lost(self.folder, fault) from None

    def _sync(self) -> None:
        if self._rows is not None:
            os.fsync(self._rows.fileno())
            self._synced = time.monotonic()

    def _end(self, state: State) -> None:
        now = now_iso()
        *before, last = self.state["sessions"]
        self.state |= {"state": state, "finished": now, "sessions": [*before, last | {"state": state, "finished": now}]}
        self._write("run.json", as_json(self.state))

    def _write(self, name: str, text: str) -> None:
        try:
            replace_text(self.folder / name, text)
        except OSError as fault:
            raise _lost(self.folder, fault) from None


def open_run(
    outputs: Path, experiment: str, config: Mapping[str, Any], items: Sequence[Item], facts: Mapping[str, Any]
) -> Journal:
    """A new run's journal. Its folder appears whole, held by this session and marked as running.

    `facts` are kept with its state; `environment` is the session's own.

    Raises:
        OutputError: the folder cannot be made or written.
    """
    own = dict(facts)
    session = _session(config, own.pop("environment"))
    state = {
        "schema_version": SCHEMA_VERSION,
        "run_id": "",
        "experiment": experiment,
        **own,
        "state": "running",
        "started": session["started"],
        "finished": None,
        "sessions": [session],
    }
    folder, lock = _made(outputs / experiment, config, items, state, _nothing_yet)
    return Journal(folder, state, lock)


def _nothing_yet(run_id: str) -> dict[str, str]:  # noqa: ARG001 - a merged run's rows carry it
    """Empty files at first, so that one that is not there was lost."""
    return {"arms.json": as_json({}), "rows.jsonl": "", "probes.jsonl": ""}


def write_run(
    outputs: Path,
    config: Mapping[str, Any],
    items: Sequence[Item],
    rows: Sequence[Row],
    probes: Sequence[Probe],
    traces: Traces,
    state: dict[str, Any],
) -> Path:
    """A whole run at once, from records that are there; its id becomes theirs. Returns its folder.

    Raises:
        OutputError: the folder cannot be made or written.
    """

    def texts(run_id: str) -> dict[str, str]:
        return {
            "arms.json": _accounts(traces),
            "rows.jsonl": _lines([replace(row, run_id=run_id) for row in rows]),
            "probes.jsonl": _lines(probes),
        }

    folder, lock = _made(outputs / str(state["experiment"]), config, items, state, texts)
    lock.release()
    return folder


def _made(
    parent: Path,
    config: Mapping[str, Any],
    items: Sequence[Item],
    state: dict[str, Any],
    texts: Callable[[str], Mapping[str, str]],
) -> tuple[Path, BaseFileLock]:
    """A run's folder, made under another name and named when it is whole, and the lock that holds it."""
    unborn = parent / f"{UNBORN}{uuid.uuid4().hex[:8]}"
    try:
        unborn.mkdir(parents=True)
        lock = hold(unborn)
        replace_text(unborn / "config.yaml", to_yaml(config))
        replace_text(unborn / "items.jsonl", _lines(items))
        while True:
            folder = parent / f"{datetime.now():%Y%m%d-%H%M%S}-{digest(dict(config))[:6]}"
            state["run_id"] = folder.name
            for name, text in {**texts(folder.name), "run.json": as_json(state)}.items():
                replace_text(unborn / name, text)
            if _named(unborn, folder):
                return folder, lock
            time.sleep(0.1)  # another run of this config began in the same second
    except BaseException as fault:
        shutil.rmtree(unborn, ignore_errors=True)
        if isinstance(fault, OSError):
            raise unwritable(parent, fault) from None
        raise


def reopen_run(
    folder: Path,
    state: Mapping[str, Any],
    config: Mapping[str, Any],
    facts: Mapping[str, Any],
    lock: BaseFileLock,
) -> Journal:
    """The journal of another session on a stored run, which `lock` holds. `facts` are as of `open_run`.

    Rows of the same items may be a part of one dataset and the whole of another: which it is is the last session's say.
    A last row that was cut off while it was written is taken away, for it never became a record. Where what decides the
    rows is written otherwise than in the last session, its config stays as `config.<session>.yaml`.

    Raises:
        OutputError: the folder cannot be written.
    """
    session = _session(config, facts["environment"])
    before = state["sessions"][-1]
    told = {"part": facts["part"], "shard": facts["shard"], "sessions": [*state["sessions"], session]}
    state = {**state, **told, "state": "running", "finished": None}
    try:
        _cut_torn(folder / "rows.jsonl")
        replace_text(folder / "run.json", as_json(state))  # first: config.yaml may be of any session that it names
        if session["config_digest"] != before["config_digest"]:
            old = (folder / "config.yaml").read_text(encoding="utf-8")
            replace_text(folder / f"config.{before['session']}.yaml", old)
        replace_text(folder / "config.yaml", to_yaml(config))
    except OSError as fault:
        lock.release()
        raise unwritable(folder, fault) from None
    return Journal(folder, state, lock)


def config_digest(config: Mapping[str, Any]) -> str:
    """The digest of what decides the rows of a plain config as it is stored."""
    return digest({name: config.get(name) for name in ROW_PARTS})


def check_writable(outputs: Path, experiment: str) -> None:
    """Refuse an output folder that cannot be written, before anything is started.

    Raises:
        OutputError: it cannot.
    """
    parent = outputs / experiment
    try:
        parent.mkdir(parents=True, exist_ok=True)
        trial = parent / f".{uuid.uuid4().hex}"
        trial.touch()
        trial.unlink()
    except OSError as fault:
        raise unwritable(parent, fault) from None


def now_iso() -> str:
    """The wall-clock time, UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _session(config: Mapping[str, Any], environment: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "session": uuid.uuid4().hex[:8],
        "started": now_iso(),
        "finished": None,
        "state": "running",
        "pid": os.getpid(),
        "host": platform.node(),
        "config_digest": config_digest(as_stored(config)),
        "environment": dict(environment),
    }


def _named(unborn: Path, folder: Path) -> bool:
    """Give a whole folder its name, unless another has it."""
    if folder.exists():
        return False
    try:
        unborn.rename(folder)
    except OSError as fault:
        if fault.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        return False
    return True


def _cut_torn(path: Path) -> None:
    """Take away what follows the last whole line."""
    with path.open("r+b") as handle:
        content = handle.read()
        handle.truncate(content.rfind(b"\n") + 1)


def _accounts(traces: Traces) -> str:
    return as_json({name: [asdict(part) for part in parts] for name, parts in traces.items()})


def _lines(records: Sequence[Item] | Sequence[Probe] | Sequence[Row]) -> str:
    return "".join(f"{to_json(record)}\n" for record in records)


def unwritable(folder: Path, fault: OSError) -> OutputError:
    """The error of an output folder that cannot be written, before anything was started there."""
    return OutputError(f"{folder}: cannot be written ({fault.strerror}); give another with runner.outputs=DIR")


def _lost(folder: Path, fault: OSError) -> OutputLostError:
    return OutputLostError(f"{folder}: cannot be written any more ({fault.strerror}); make room and run again")
