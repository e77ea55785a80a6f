"""Where runs lie: `outputs/<experiment>/<run id>`, found by path or by id."""

from __future__ import annotations

import glob
import re
from pathlib import Path

from evalflow.errors import StoredRunError

RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")


def find_run(named: str, outputs: Path = Path("outputs")) -> Path:
    """The folder of a run named by its path or its id.

    Raises:
        StoredRunError: there is no such run.
    """
    folder = Path(named)
    if folder.is_dir():
        return folder
    found = [path for path in run_folders(outputs) if path.name == named]
    if len(found) != 1:
        said = f"{len(found)} runs under {outputs} have this id" if found else f"there is no such run under {outputs}"
        raise StoredRunError(f"{named}: {said}; give the run's folder, or see evalflow list")
    return found[0]


def run_folders(outputs: Path, experiment: str = "*") -> list[Path]:
    """The folders under `outputs` that are called as runs are, oldest first."""
    within = "*" if experiment == "*" else glob.escape(experiment)
    found = [path.parent for path in outputs.glob(f"{within}/*/run.json") if RUN_ID.fullmatch(path.parent.name)]
    return sorted(found, key=lambda folder: folder.name)
