"""A mark in a run's folder: how far its tracking came."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from evalflow.runner.lock import is_held
from evalflow.runner.sweep_record import SWEEPS
from evalflow.strict_json import misfit
from evalflow.whole_file import as_json, replace_text

MARK = "tracking.json"


@dataclass(frozen=True)
class Mark:
    """`logging` from the first call to the store on; `said` is the link, or what went wrong.

    `cut off` is a run whose process died over it, once the store was told.
    """

    state: Literal["logging", "logged", "failed", "cut off", "kept out"]
    at: str
    said: str | None = None


def write_mark(folder: Path, mark: Mark) -> None:
    """Leave a mark.

    Raises:
        OSError: the folder cannot be written.
    """
    replace_text(folder / MARK, as_json(asdict(mark)))


def read_mark(folder: Path) -> Mark | None:
    """The mark of a run; None where there is none that could be read."""
    try:
        mark = Mark(**json.loads((folder / MARK).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return None if misfit(mark) else mark


def was_cut_off(folder: Path) -> bool:
    """Whether the process that worked on a reported run, which nobody holds now, died before it had logged it."""
    mark = read_mark(folder)
    return mark is None or mark.state in ("logging", "cut off")


def begun_and_left(outputs: Path, experiment: str) -> list[Path]:
    """Folders of the experiment's runs and sweeps whose process died while it logged them, oldest first."""
    runs = _left(outputs / experiment)
    sweeps = [folder for folder in _left(outputs / SWEEPS) if _swept_in(folder) == experiment]
    return sorted([*runs, *sweeps], key=lambda folder: folder.name)


def _left(parent: Path) -> list[Path]:
    folders = [path.parent for path in parent.glob(f"*/{MARK}")]
    return [f for f in folders if (mark := read_mark(f)) and mark.state == "logging" and not is_held(f)]


def _swept_in(sweep: Path) -> str | None:
    """The experiment of a sweep that came to its summary."""
    try:
        summary = json.loads((sweep / "summary.json").read_text(encoding="utf-8"))
        return str(summary["experiment"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
