"""What people said of the answers that a judge graded: their ratings, by whose answer it was."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from evalflow.errors import StoredRunError
from evalflow.ratings import RATINGS, read_ratings
from evalflow.record import Row
from evalflow.run_folder import find_run

Ratings = Mapping[tuple[str, str, int], Mapping[str, float]]
"""(item id, arm, seed) -> rater -> what he gave it."""


def ratings_file(named: str, outputs: str) -> Path:
    """The file of ratings that is named itself, or by the run (folder, or id under `outputs`) that it is about.

    Raises:
        StoredRunError: it is neither.
    """
    return Path(named) if Path(named).is_file() else find_run(named, Path(outputs)) / RATINGS


def ratings_of(named: str, outputs: str) -> Ratings:
    """What is in that file; nothing where there is none yet.

    Raises:
        DataError: a line of it is no rating.
    """
    try:
        path = ratings_file(named, outputs)
        stamp = path.stat()
    except (OSError, StoredRunError):
        return {}
    return _read(path, stamp.st_mtime_ns, stamp.st_size)


def why_none(named: str, outputs: str) -> str | None:
    """Why there are no ratings at all; None where there are."""
    if ratings_of(named, outputs):
        return None
    try:
        path = ratings_file(named, outputs)
    except StoredRunError:
        return f"there are no ratings: {named} is no run and no file"
    return f"there are no ratings: {path} {'is empty' if path.exists() else 'is not there'}"


def whose(row: Row) -> tuple[str, str, int]:
    """Whose answer a row is about: that which its judge graded, else its own."""
    about = row.detail.get("about", {})
    arm, seed = about.get("arm", row.arm), about.get("seed", row.seed)
    return row.item_id, str(arm), seed if isinstance(seed, int) else row.seed


@lru_cache(maxsize=4)
def _read(path: Path, modified_ns: int, size: int) -> Ratings:  # noqa: ARG001 - a file that is written anew is another
    found: dict[tuple[str, str, int], dict[str, float]] = {}
    for rating in read_ratings(path):
        found.setdefault((rating.item_id, rating.arm, rating.seed), {})[rating.rater] = rating.value
    return found
