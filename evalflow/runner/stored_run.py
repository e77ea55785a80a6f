"""A run read back from its folder, and nothing taken on trust."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalflow.errors import StoredRunError
from evalflow.record import Item, Probe, Row, fingerprints
from evalflow.run_folder import RUN_ID as RUN_ID
from evalflow.run_folder import find_run as find_run
from evalflow.run_folder import run_folders as run_folders
from evalflow.runner.journal import ROW_PARTS, State, config_digest
from evalflow.runner.stored_columns import left_in_file
from evalflow.runner.stored_config import from_yaml
from evalflow.runner.trace import ArmTrace, Traces
from evalflow.stored_file import RESTORE, check_fields, lines_of, located_lines, object_of
from evalflow.stored_record import check_schema, item_from_json, probe_from_json, row_from_json
from evalflow.strict_json import misfit

STATE: Mapping[str, Any] = {
    "run_id": str,
    "experiment": str,
    "resume_key": str,
    "conditions": Mapping[str, Any],
    "part": str | None,
    "shard": Mapping[str, Any] | None,
    "fingerprints": Mapping[str, str],
    "sweep_id": str | None,
    "swept": Mapping[str, str],
    "shared": bool,
    "calibration": Mapping[str, Any] | None,
    "state": State,
    "started": str,
    "finished": str | None,
    "sessions": tuple[Mapping[str, Any], ...],
}
"""What run.json must hold beside its schema version, and of which type."""
SESSION: Mapping[str, Any] = {
    "session": str,
    "started": str,
    "finished": str | None,
    "state": State,
    "pid": int,
    "host": str,
    "config_digest": str,
    "environment": Mapping[str, Any],
}
"""What each session in it must hold."""
TO_GIVE = "give the folder of a finished run"


@dataclass(frozen=True)
class StoredRun:
    """A run read back from its folder."""

    folder: Path
    state: Mapping[str, Any]
    items: tuple[Item, ...]
    rows: tuple[Row, ...]
    probes: tuple[Probe, ...]
    traces: Traces

    @property
    def run_id(self) -> str:
        """The run's id, which is its folder's name."""
        return str(self.state["run_id"])


def load_run(folder: Path) -> StoredRun:
    """The run stored in a folder.

    A row that was cut off while it was written is left out, as one that never came.

    Raises:
        StoredRunError: there is none, or it is of an unknown schema version, damaged or changed since it was run.
    """
    state = _load_state(folder / "run.json")
    return StoredRun(
        folder=folder,
        state=state,
        items=_load_items(folder, state),
        rows=_load_rows(folder / "rows.jsonl", state["run_id"]),
        probes=tuple(probe_from_json(line, where) for where, line in lines_of(folder / "probes.jsonl")),
        traces=_load_traces(folder / "arms.json"),
    )


def peek(folder: Path) -> dict[str, Any] | None:
    """The content of a run's run.json, without the rest; None where it is none that could be read."""
    try:
        return _load_state(folder / "run.json")
    except StoredRunError:
        return None


def session_ends(sessions: Any) -> list[tuple[str, str | None]]:
    """Each session and when it ended, of a run.json or a report: one begun since has rows that a report does not know.

    Raises:
        KeyError, TypeError: they are no sessions.
    """
    return [(session["session"], session["finished"]) for session in sessions]


def _load_state(path: Path) -> dict[str, Any]:
    state = object_of(path, TO_GIVE if not path.exists() else RESTORE)
    check_schema(state.get("schema_version"), str(path))
    check_fields(state, STATE, path)
    if not state["sessions"]:
        raise StoredRunError(f"{path}: it has no sessions; restore it")
    for session in state["sessions"]:
        check_fields(session, SESSION, path)
    if not RUN_ID.fullmatch(state["run_id"]):
        raise StoredRunError(f"{path}: run_id is {state['run_id']!r:.60}, no id of a run; restore it")
    return state


def _load_items(folder: Path, state: Mapping[str, Any]) -> tuple[Item, ...]:
    """The items, which like the config must be those that the rows answer."""
    try:
        known = {session["config_digest"] for session in state["sessions"]}
        same = config_digest(from_yaml(folder / "config.yaml")) in known
    except (ValueError, TypeError, RecursionError):
        same = False  # what the digest cannot read was never stored
    if not same:
        said = f"one of {', '.join(ROW_PARTS)} is not what the rows were made with"
        raise StoredRunError(f"{folder / 'config.yaml'}: {said}; restore it")
    items = tuple(item_from_json(line, where) for where, line in lines_of(folder / "items.jsonl"))
    if fingerprints(items) != state["fingerprints"]:
        raise StoredRunError(f"{folder / 'items.jsonl'}: these are not the items that were asked; restore it")
    return items


def _load_rows(path: Path, run_id: str) -> tuple[Row, ...]:
    """The rows, each once."""
    rows: dict[tuple[str, int, str], Row] = {}
    for where, offset, line in located_lines(path, cut_off=True):
        row = left_in_file(row_from_json(line, where), path, offset)
        if row.run_id != run_id:
            raise StoredRunError(f"{where}: a row of run {row.run_id!r:.60}, not of {run_id}; restore the file")
        if rows.setdefault(row.key, row) != row:
            said = f"arm {row.arm}, seed {row.seed}, item {row.item_id!r:.60}"
            raise StoredRunError(f"{where}: another row than the first of {said}; restore the file")
    return tuple(rows.values())


def _load_traces(path: Path) -> dict[str, tuple[ArmTrace, ...]]:
    try:
        traces = {name: tuple(ArmTrace(**part) for part in parts) for name, parts in object_of(path).items()}
        wrong = next((said for parts in traces.values() for said in map(misfit, parts) if said), None)
    except TypeError as fault:
        wrong = str(fault)
    if wrong is not None:
        raise StoredRunError(f"{path}: not what this evalflow wrote ({wrong}); restore it")
    return traces
