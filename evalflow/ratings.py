"""What people said of a run's answers: numbers that they gave to one, or which of two they liked better.

They lie in the run's folder as two tables: `ratings.csv` (`rater,item,arm,seed,rating,comment,sheet,answer`) and
`choices.csv` (`rater,item,left_arm,left_seed,right_arm,right_seed,choice,comment,sheet,left_answer,right_answer`).
`sheet` says on which sheet of `evalflow review` it was said, and is empty or absent where it was on none. `answer` is
the digest of the text that was judged (`text_digest`), which another answer under the same names does not have; a
table of ratings may hold the text itself instead, as `text`.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar, get_args

from evalflow.errors import DataError
from evalflow.spreadsheet import read_table, table_text

RATINGS = "ratings.csv"
CHOICES = "choices.csv"
KEYS = "review"
"""The folder, in a run's, that holds the key of each sheet that was made of it."""
Liked = Literal["left", "right", "tie"]
LIKED: tuple[Liked, ...] = get_args(Liked)
_RATING = ("rater", "item", "arm", "seed", "rating")
_CHOICE = ("rater", "item", "left_arm", "left_seed", "right_arm", "right_seed", "choice")
_REST = ("comment", "sheet")
_DIGEST = re.compile("[0-9a-f]{16}")
_WHOLE = re.compile("-?[0-9]{1,20}")


@dataclass(frozen=True)
class Rating:
    """The number that somebody gave to an arm's answer to an item under a seed; `answer` is the digest of its text."""

    rater: str
    item_id: str
    arm: str
    seed: int
    value: float
    comment: str = ""
    sheet: str = ""
    answer: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """Of which answer it is, and whose: (rater, item id, arm, seed). Nobody rates an answer twice."""
        return (self.rater, self.item_id, self.arm, self.seed)


@dataclass(frozen=True)
class Choice:
    """Which of two answers to an item somebody liked better; `left` and `right` are (arm, seed) as they were shown.

    `answers` are the digests of their texts, or empty.
    """

    rater: str
    item_id: str
    left: tuple[str, int]
    right: tuple[str, int]
    liked: Liked
    comment: str = ""
    sheet: str = ""
    answers: tuple[str, str] = ("", "")

    @property
    def key(self) -> tuple[str, str, frozenset[tuple[str, int]]]:
        """Of which two answers it is, on whichever side they stood, and whose."""
        return (self.rater, self.item_id, frozenset((self.left, self.right)))


def text_digest(text: str) -> str:
    """What tells a text from another: the first 16 hexadecimal digits of the SHA-256 of its UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def is_reviewed(folder: Path) -> bool:
    """Whether people were asked of a run's answers, or have said something of them: what cannot be had again."""
    return any((folder / name).exists() for name in (KEYS, RATINGS, CHOICES))


def read_ratings(path: Path, scale: tuple[int, int] | None = None) -> tuple[Rating, ...]:
    """The ratings in a file, in its order; a file of none but a header has none.

    Raises:
        DataError: it cannot be read, or a line of it is no rating, none on the `scale` of whole numbers (if given), or
            the second of one answer by one person.
    """
    return tuple(_each_once(_rating(where, cells, scale) for where, cells in read_table(path, _RATING)))


def read_choices(path: Path) -> tuple[Choice, ...]:
    """The choices in a file; see `read_ratings`.

    Raises:
        DataError: as there.
    """
    return tuple(_each_once(_choice(where, cells) for where, cells in read_table(path, _CHOICE)))


def ratings_text(ratings: Iterable[Rating]) -> str:
    """The file that `read_ratings` reads."""
    records = [
        {
            "rater": one.rater,
            "item": one.item_id,
            "arm": one.arm,
            "seed": one.seed,
            "rating": int(one.value) if one.value == int(one.value) else one.value,
            "comment": one.comment,
            "sheet": one.sheet,
            "answer": one.answer,
        }
        for one in ratings
    ]
    return table_text((*_RATING, *_REST, "answer"), records)


def choices_text(choices: Iterable[Choice]) -> str:
    """The file that `read_choices` reads."""
    records = [
        {
            "rater": one.rater,
            "item": one.item_id,
            "left_arm": one.left[0],
            "left_seed": one.left[1],
            "right_arm": one.right[0],
            "right_seed": one.right[1],
            "choice": one.liked,
            "comment": one.comment,
            "sheet": one.sheet,
            "left_answer": one.answers[0],
            "right_answer": one.answers[1],
        }
        for one in choices
    ]
    return table_text((*_CHOICE, *_REST, "left_answer", "right_answer"), records)


def number_of(cell: str) -> float | None:
    """The finite number that a cell is; None where it is none. `1_0` and digits of other scripts are none."""
    if "_" in cell or not cell.isascii():
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _rating(where: str, cells: Mapping[str, str], scale: tuple[int, int] | None) -> tuple[str, Rating]:
    value = number_of(cells["rating"])
    if value is None:
        raise DataError(f"{where}: rating is {cells['rating']!r:.60}; give a finite number")
    if scale is not None and (value != int(value) or not scale[0] <= value <= scale[1]):
        wanted = f"give a whole number from {scale[0]} to {scale[1]}, or set the scale that was rated on"
        raise DataError(f"{where}: rating is {cells['rating']!r:.60}; {wanted}")
    answer = (_named(cells, "arm", where), _seed(cells, "seed", where))
    comment, sheet = (cells.get(name, "") for name in _REST)
    whose, text = (_named(cells, "rater", where), _named(cells, "item", where)), _text(cells, "answer", where)
    return where, Rating(*whose, *answer, value, comment, sheet, text)


def _choice(where: str, cells: Mapping[str, str]) -> tuple[str, Choice]:
    liked = next((one for one in LIKED if one == cells["choice"].strip().lower()), None)
    if liked is None:
        raise DataError(f"{where}: choice is {cells['choice']!r:.60}; give {', '.join(LIKED)}")
    left, right = (
        (_named(cells, f"{side}_arm", where), _seed(cells, f"{side}_seed", where)) for side in ("left", "right")
    )
    if left == right:
        raise DataError(f"{where}: arm {left[0]!r:.60}, seed {left[1]}, stands on both sides; name two answers")
    comment, sheet = (cells.get(name, "") for name in _REST)
    texts = (_text(cells, "left_answer", where), _text(cells, "right_answer", where))
    whose = (_named(cells, "rater", where), _named(cells, "item", where))
    return where, Choice(*whose, left, right, liked, comment, sheet, texts)


def _named(cells: Mapping[str, str], column: str, where: str) -> str:
    name = cells[column].strip() if column == "rater" else cells[column]
    if not name:
        raise DataError(f"{where}: {column} is empty; fill it in")
    return name


def _text(cells: Mapping[str, str], column: str, where: str) -> str:
    """The digest of what was judged, as it stands there or made of the column `text`; empty where neither does."""
    given = cells.get(column, "").strip().lower()
    if given and not _DIGEST.fullmatch(given):
        raise DataError(f"{where}: {column} is {given!r:.60}; give 16 hexadecimal digits, or the answer as text")
    if column == "answer" and not given and cells.get("text"):
        return text_digest(cells["text"])
    return given


def _seed(cells: Mapping[str, str], column: str, where: str) -> int:
    if not _WHOLE.fullmatch(cells[column].strip()):
        raise DataError(f"{where}: {column} is {cells[column]!r:.60}; give a whole number")
    return int(cells[column])


Said = TypeVar("Said", Rating, Choice)


def _each_once(located: Iterable[tuple[str, Said]]) -> Iterator[Said]:
    """Them all, as long as nobody speaks twice of the same."""
    known: dict[Hashable, str] = {}
    for where, one in located:
        first = known.setdefault(one.key, where)
        if first != where:
            said = f"{one.rater!r:.60} has said it of this answer to {one.item_id!r:.60} before ({first})"
            raise DataError(f"{where}: {said}; keep one of the two lines")
        yield one
