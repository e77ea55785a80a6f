"""What people said of the answers that a judge graded: their ratings, by whose answer it was and of which text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from evalflow.errors import DataError, StoredRunError
from evalflow.metric.protocol import Answer
from evalflow.ratings import RATINGS, Rating, read_ratings, text_digest
from evalflow.record import Row
from evalflow.run_folder import find_run

Ratings = Mapping[tuple[str, str, int], tuple[Rating, ...]]
"""(item id, arm, seed) -> what everybody gave it."""


@dataclass(frozen=True)
class Rated:
    """What people gave an answer, by rater; and how many ratings under its names are of other texts, or say not which.

    Whoever rated another run's answer, which has the same names, has said nothing of this one.
    """

    given: Mapping[str, float]
    n_of_others: int = 0
    n_unsaid: int = 0


def ratings_file(named: str, outputs: str) -> Path:
    """The file of ratings that is named itself, or by the run (folder, or id under `outputs`) that it is about.

    Raises:
        StoredRunError: it is neither.
    """
    return Path(named) if Path(named).is_file() else find_run(named, Path(outputs)) / RATINGS


def ratings_of(named: str, outputs: str, scale: tuple[int, int] | None = None) -> Ratings:
    """What is in that file; nothing where there is none yet.

    Raises:
        StoredRunError: a line of it is no rating, or none on the `scale`.
    """
    try:
        path = ratings_file(named, outputs)
        stamp = path.stat()
    except (OSError, StoredRunError):
        return {}
    try:
        return _read(path, scale, stamp.st_mtime_ns, stamp.st_size)
    except DataError as fault:
        raise StoredRunError(str(fault)) from None  # no fault of the metric's, whose rows can be scored again


def why_none(named: str, outputs: str) -> str | None:
    """Why there are no ratings at all; None where there are."""
    if ratings_of(named, outputs):
        return None
    try:
        path = ratings_file(named, outputs)
    except StoredRunError:
        return f"there are no ratings: {named} is no run and no file"
    return f"there are no ratings: {path} {'is empty' if path.exists() else 'is not there'}"


def check_there(named: str, outputs: str) -> None:
    """Refuse what names neither a run, whose ratings may be yet to come, nor a file.

    Raises:
        StoredRunError: it does not.
    """
    try:
        ratings_file(named, outputs)
    except StoredRunError:
        said = f"{named}: there is no such file of ratings, and no such run"
        raise StoredRunError(f"{said}; give the run that was rated, or a file") from None


def rated(unit: Answer, ratings: Ratings) -> Rated:
    """What people gave the very text that a row's judge graded: the stored answer, else what it was asked."""
    found = ratings.get(whose(unit.row), ())
    if not found:
        return Rated({})
    answer = unit.row.detail["about"].get("answer") if "about" in unit.row.detail else unit.item.prompt
    shown = None if answer is None else text_digest(str(answer))
    unsaid = sum(not one.answer for one in found)
    given = {one.rater: one.value for one in found if one.answer and one.answer == shown}
    return Rated(given, len(found) - len(given) - unsaid, unsaid)


def whose(row: Row) -> tuple[str, str, int]:
    """Whose answer a row is about: that which its judge graded, else its own."""
    about = row.detail.get("about", {})
    arm, seed = about.get("arm", row.arm), about.get("seed", row.seed)
    return row.item_id, str(arm), seed if isinstance(seed, int) else row.seed


@lru_cache(maxsize=4)
def _read(path: Path, scale: tuple[int, int] | None, modified_ns: int, size: int) -> Ratings:  # noqa: ARG001 - its state
    found: dict[tuple[str, str, int], tuple[Rating, ...]] = {}
    for rating in read_ratings(path, scale):
        key = (rating.item_id, rating.arm, rating.seed)
        found[key] = (*found.get(key, ()), rating)
    return found
