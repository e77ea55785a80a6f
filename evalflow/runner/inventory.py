"""What lies under an outputs folder: its runs and how far each of them came, read without their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evalflow.errors import StoredRunError
from evalflow.record import SCHEMA_VERSION
from evalflow.runner.lock import is_held
from evalflow.runner.stored_run import RUN_ID, load_run, peek, session_ends
from evalflow.strict_json import parse_json

Standing = Literal["finished", "interrupted", "at work", "unfinished", "damaged"]
_BLOCK = 1 << 20
_AFTER_THE_HEAD = '\n "instrument":'


@dataclass(frozen=True)
class Entry:
    """A folder that is called as a run is, and what it holds.

    `state` is `at work` where somebody holds the run now, `unfinished` where its process died, `damaged` where its
    run.json is not this run's (`damage` says why; nothing else is then known). `verdict` and `exit_code` are the
    report's, where it is of every session that worked on the run. `run` is the content of run.json.
    """

    folder: Path
    state: Standing
    run: Mapping[str, Any] | None = None
    verdict: str | None = None
    exit_code: int | None = None
    n_rows: int | None = None
    n_planned: int | None = None
    damage: str | None = None
    linked: bool = False

    @property
    def run_id(self) -> str:
        """The run's id, which is its folder's name."""
        return self.folder.name

    @property
    def experiment(self) -> str:
        """The experiment that it is kept under."""
        return self.folder.parent.name

    @property
    def sweep_id(self) -> str | None:
        """The sweep that it is a job of."""
        return None if self.run is None else self.run["sweep_id"]


def inventory(outputs: Path, experiment: str | None = None) -> list[Entry]:
    """Every folder under `outputs` (or under one experiment there) that is called as a run is, newest first.

    Raises:
        StoredRunError: a folder cannot be listed.
    """
    parents = [outputs / experiment] if experiment is not None else folders_in(outputs)
    found = [
        folder
        for parent in parents
        if not parent.name.startswith(".")
        for folder in folders_in(parent)
        if RUN_ID.fullmatch(folder.name)
    ]
    return [entry_of(folder) for folder in sorted(found, key=lambda f: (f.name, f.parent.name), reverse=True)]


def folders_in(parent: Path) -> list[Path]:
    """The folders inside a folder, in the order of their names; none where it is not there.

    Raises:
        StoredRunError: it cannot be listed.
    """
    try:
        return sorted(path for path in parent.iterdir() if path.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as fault:
        raise StoredRunError(f"{parent}: cannot be listed ({fault.strerror}); make it readable") from None


def entry_of(folder: Path) -> Entry:
    """What a folder that is called as a run is holds."""
    linked = folder.is_symlink() or folder.parent.is_symlink()
    run = peek(folder)
    if run is None or run["run_id"] != folder.name:
        return Entry(folder, "damaged", damage=_damage(folder, run), linked=linked)
    verdict, exit_code = answer_of(folder, run)
    held = is_held(folder)
    standing: Standing = "at work" if held else "unfinished" if run["state"] == "running" else run["state"]
    n_rows, n_items = _count(folder / "rows.jsonl"), _count(folder / "items.jsonl")
    passes = _passes(run["conditions"])
    n_planned = None if n_items is None or passes is None else n_items * passes
    return Entry(folder, standing, run, verdict, exit_code, n_rows, n_planned, linked=linked)


def _damage(folder: Path, run: Mapping[str, Any] | None) -> str:
    if run is not None:
        return f"{folder / 'run.json'}: it is of run {run['run_id']}; give the folder its name back"
    try:
        load_run(folder)  # begins with run.json, and says what is wrong with it
    except StoredRunError as fault:
        return str(fault)
    return f"{folder / 'run.json'}: it could not be read; look again"


def answer_of(folder: Path, run: Mapping[str, Any]) -> tuple[str | None, int | None]:
    """The report's verdict and exit code; None where there is no report, or not of the run as it stands."""
    try:
        report = _head((folder / "report.json").read_text(encoding="utf-8"))
        current = (
            report["schema_version"] == SCHEMA_VERSION
            and report["run_id"] == run["run_id"]
            and session_ends(report["sessions"]) == session_ends(run["sessions"])
        )
        return (str(report["verdict"]), int(report["exit_code"])) if current else (None, None)
    except (OSError, ValueError, KeyError, TypeError):
        return None, None


def _head(text: str) -> Any:
    """A report down to its sessions: of a thousand reports, the figures are nearly all there is to parse.

    No string of JSON holds a line break, so the mark is a key of the report itself; without it, all is parsed.
    """
    head, mark, _ = text.partition(_AFTER_THE_HEAD)
    return parse_json(f"{head.rstrip().removesuffix(',')}}}" if mark else text)


def _count(path: Path) -> int | None:
    """Whole lines of a file; None where it cannot be read."""
    try:
        with path.open("rb") as handle:
            return sum(block.count(b"\n") for block in _blocks(handle))
    except OSError:
        return None


def _blocks(handle: Any) -> Iterator[bytes]:
    while block := handle.read(_BLOCK):
        yield block


def _passes(conditions: Mapping[str, Any]) -> int | None:
    """Passes over the items: each arm's seeds, over all arms."""
    try:
        return sum(len(arm["seeds"]) for arm in conditions["arms"].values())
    except (KeyError, TypeError, AttributeError):
        return None
