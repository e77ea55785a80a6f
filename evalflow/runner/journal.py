"""A run's folder: rows as they complete, what the arms were, and the state of the run."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal

from evalflow.errors import OutputError, StoredRunError
from evalflow.record import (
    SCHEMA_VERSION,
    Item,
    Probe,
    Row,
    check_schema,
    item_from_json,
    probe_from_json,
    read_lines,
    row_from_json,
    to_json,
)

State = Literal["running", "finished", "interrupted"]
SYNC_S = 1.0


@dataclass(frozen=True)
class ArmTrace:
    """How an arm went: when, what the driver saw, what the model said about itself, why it could not run."""

    order: int
    started: str
    driver: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    unavailable: str | None = None


@dataclass(frozen=True)
class StoredRun:
    """A run read back from its folder."""

    folder: Path
    state: Mapping[str, Any]
    items: tuple[Item, ...]
    rows: tuple[Row, ...]
    probes: tuple[Probe, ...]
    traces: Mapping[str, ArmTrace]

    @property
    def run_id(self) -> str:
        """The run's id, which is its folder's name."""
        return str(self.state["run_id"])


class Journal:
    """Writes one run's folder. Rows are flushed as they come and forced to the disk every second."""

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
        """One finished row."""
        try:
            if self._rows is None:
                self._rows = (self.folder / "rows.jsonl").open("a", encoding="utf-8")
            self._rows.write(f"{to_json(row)}\n")
            self._rows.flush()
            if time.monotonic() - self._synced > SYNC_S:
                os.fsync(self._rows.fileno())
                self._synced = time.monotonic()
        except OSError as fault:
            raise _unwritable(self.folder, fault) from None

    def write_probes(self, probes: Sequence[Probe]) -> None:
        """Every measurement of the arms themselves."""
        self.write_text("probes.jsonl", "".join(f"{to_json(probe)}\n" for probe in probes))

    def write_traces(self, traces: Mapping[str, ArmTrace]) -> None:
        """How the arms went."""
        self.write_text("arms.json", _json({name: trace.__dict__ for name, trace in traces.items()}))

    def write_text(self, name: str, text: str) -> Path:
        """A whole file, there at once or not at all."""
        path = self.folder / name
        try:
            part = path.with_name(f".{name}.part")
            part.write_text(text, encoding="utf-8")
            part.replace(path)
        except OSError as fault:
            raise _unwritable(self.folder, fault) from None
        return path

    def close(self, state: State) -> None:
        """Force the rows to the disk and note how the session ended."""
        if self._rows is not None:
            self._rows.flush()
            os.fsync(self._rows.fileno())
            self._rows.close()
            self._rows = None
        self.state |= {"state": state, "finished": now_iso()}
        self.write_text("run.json", _json(self.state))


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
    journal.write_text("run.json", _json(state))
    journal.write_traces({})
    return journal


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


def unfinished(outputs: Path, experiment: str, resume_key: str) -> tuple[str, ...]:
    """Ids of the unfinished runs that would give the same rows, oldest first."""
    found = []
    for path in sorted((outputs / experiment).glob("*/run.json")):
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # not a run that could be named
        if state.get("resume_key") == resume_key and state.get("state") != "finished":
            found.append(str(state.get("run_id")))
    return tuple(found)


def find_run(named: str, outputs: Path = Path("outputs")) -> Path:
    """The folder of a run named by its path or its id.

    Raises:
        StoredRunError: there is no such run.
    """
    folder = Path(named)
    if folder.is_dir():
        return folder
    found = [path.parent for path in outputs.glob("*/*/run.json") if path.parent.name == named]
    if len(found) != 1:
        raise StoredRunError(f"{named}: {len(found)} runs of that name under {outputs}; give the run's folder")
    return found[0]


def load_run(folder: Path) -> StoredRun:
    """The run stored in a folder.

    Raises:
        StoredRunError: there is none, or it is of an unknown schema version or damaged.
    """
    state = _load_json(folder / "run.json")
    check_schema(state.get("schema_version"), str(folder / "run.json"))
    traces = _load_json(folder / "arms.json")
    try:
        return StoredRun(
            folder=folder,
            state=state,
            items=tuple(item_from_json(line, where) for where, line in _lines(folder / "items.jsonl")),
            rows=tuple(row_from_json(line, where) for where, line in _lines(folder / "rows.jsonl")),
            probes=tuple(probe_from_json(line, where) for where, line in _lines(folder / "probes.jsonl")),
            traces={name: ArmTrace(**trace) for name, trace in traces.items()},
        )
    except TypeError as fault:
        raise StoredRunError(f"{folder / 'arms.json'}: not what this evalflow wrote ({fault}); restore it") from None


def now_iso() -> str:
    """The wall-clock time, UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    return read_lines(path) if path.exists() else iter(())


def _load_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoredRunError(f"{path}: not there; give the folder of a finished run") from None
    except (OSError, ValueError) as fault:
        raise StoredRunError(f"{path}: cannot be read ({fault}); restore it") from None
    if not isinstance(value, dict):
        raise StoredRunError(f"{path}: not a JSON object; restore it")
    return value


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _unwritable(folder: Path, fault: OSError) -> OutputError:
    return OutputError(f"{folder}: cannot be written ({fault.strerror}); give another with runner.outputs=DIR")
