"""A run's folder: rows as they complete, what the arms were, and the state of the run."""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal

from evalflow.errors import OutputError, OutputLostError
from evalflow.record import (
    SCHEMA_VERSION,
    Item,
    Probe,
    Row,
    digest,
    to_json,
)

State = Literal["running", "finished", "interrupted"]
SYNC_S = 1.0
ROW_PARTS = ("dataset", "model", "decoding", "arms", "seed", "limit", "where", "shard")
"""The parts of a config that decide its rows. The others may be edited before a run is scored again."""


@dataclass(frozen=True)
class ArmTrace:
    """How an arm went: when, what the driver saw, what the model said about itself, why it could not run."""

    order: int
    started: str
    driver: Mapping[str, float | bool | None] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    unavailable: str | None = None


class Journal:
    """Writes one run's folder. Rows are flushed as they come and forced to the disk every second.

    What cannot be written is an `OutputError` before the first arm, and an `OutputLostError` from then on.
    """

    def __init__(self, folder: Path, state: dict[str, Any]) -> None:
        self.folder = folder
        self.state = state
        self.session = uuid.uuid4().hex[:8]
        self._rows: IO[str] | None = None
        self._synced = 0.0

    @property
    def run_id(self) -> str:
        """The run's id."""
        return str(self.state["run_id"])

    def write_items(self, items: Sequence[Item]) -> None:
        """The items as they were asked, so that the run can be scored without its dataset."""
        self.write_text("items.jsonl", "".join(f"{to_json(item)}\n" for item in items))

    def append(self, row: Row) -> None:
        """One finished row.

        Raises:
            OutputLostError: it cannot be written.
        """
        try:
            if self._rows is None:
                self._rows = (self.folder / "rows.jsonl").open("a", encoding="utf-8")
            self._rows.write(f"{to_json(row)}\n")
            self._rows.flush()
            if time.monotonic() - self._synced > SYNC_S:
                os.fsync(self._rows.fileno())
                self._synced = time.monotonic()
        except OSError as fault:
            raise _lost(self.folder, fault) from None

    def write_probes(self, probes: Sequence[Probe]) -> None:
        """Every measurement of the arms themselves."""
        self._write("probes.jsonl", "".join(f"{to_json(probe)}\n" for probe in probes), _lost)

    def write_traces(self, traces: Mapping[str, ArmTrace]) -> None:
        """How the arms went."""
        self._write("arms.json", _json({name: trace.__dict__ for name, trace in traces.items()}), _lost)

    def write_text(self, name: str, text: str) -> Path:
        """A whole file, there at once or not at all.

        Raises:
            OutputError: it cannot be written.
        """
        return self._write(name, text, _unwritable)

    def close(self, state: State) -> None:
        """Force the rows to the disk and note how the session ended.

        Raises:
            OutputLostError: one of both was not possible; the run is then noted as interrupted, as far as that can be.
        """
        rows, self._rows = self._rows, None
        try:
            if rows is not None:
                with contextlib.closing(rows):
                    rows.flush()
                    os.fsync(rows.fileno())
        except OSError as fault:
            with contextlib.suppress(OutputLostError):
                self._end("interrupted")
            raise _lost(self.folder, fault) from None
        self._end(state)

    def _end(self, state: State) -> None:
        self.state |= {"state": state, "finished": now_iso()}
        self._write("run.json", _json(self.state), _lost)

    def _write(self, name: str, text: str, refused: Callable[[Path, OSError], OutputError]) -> Path:
        path = self.folder / name
        try:
            part = path.with_name(f".{name}.part")
            part.write_text(text, encoding="utf-8")
            part.replace(path)
        except OSError as fault:
            raise refused(self.folder, fault) from None
        return path


def open_run(outputs: Path, experiment: str, config_hash: str, facts: Mapping[str, Any]) -> Journal:
    """A new run's journal, its folder made and marked as running. `facts` are kept with its state.

    Raises:
        OutputError: the folder cannot be made or written.
    """
    parent = outputs / experiment
    try:
        parent.mkdir(parents=True, exist_ok=True)
        while True:
            run_id = f"{datetime.now():%Y%m%d-%H%M%S}-{config_hash[:6]}"
            try:
                (parent / run_id).mkdir()
                break
            except FileExistsError:
                time.sleep(0.1)  # another run of this config began in the same second
    except OSError as fault:
        raise _unwritable(parent, fault) from None
    state = {
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id,
        "experiment": experiment,
        **facts,
        "state": "running",
        "started": now_iso(),
        "finished": None,
        "pid": os.getpid(),
    }
    journal = Journal(parent / run_id, state)
    # empty at first, so that a file that is not there was lost
    for name, text in {"run.json": _json(state), "arms.json": _json({}), "rows.jsonl": "", "probes.jsonl": ""}.items():
        journal.write_text(name, text)
    return journal


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
        raise _unwritable(parent, fault) from None


def now_iso() -> str:
    """The wall-clock time, UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _unwritable(folder: Path, fault: OSError) -> OutputError:
    return OutputError(f"{folder}: cannot be written ({fault.strerror}); give another with runner.outputs=DIR")


def _lost(folder: Path, fault: OSError) -> OutputLostError:
    return OutputLostError(f"{folder}: cannot be written any more ({fault.strerror}); make room and run again")
