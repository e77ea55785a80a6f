"""Filled sheets read back, and laid beside what was said before: who liked which arm's answer."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from evalflow.errors import DataError, OutputError
from evalflow.ratings import (
    CHOICES,
    LIKED,
    RATINGS,
    Choice,
    Rating,
    choices_text,
    number_of,
    ratings_text,
    read_choices,
    read_ratings,
)
from evalflow.runner.review_sheet import Sheet, Ticket
from evalflow.spreadsheet import read_table
from evalflow.whole_file import replace_text

COLUMNS = ("sheet", "ticket", "rating")
"""What a filled sheet must have; `rater` and `comment` are read where they are there, and all else is passed over."""


@dataclass(frozen=True)
class Said:
    """All that people said of a run."""

    ratings: tuple[Rating, ...] = ()
    choices: tuple[Choice, ...] = ()

    @property
    def all(self) -> tuple[Rating | Choice, ...]:
        """Both."""
        return (*self.choices, *self.ratings)


@dataclass(frozen=True)
class Imported:
    """What one rater's lines of one file came to, counted in tickets.

    `n_blank` carry no rating (of which `n_comments_alone` a comment, which is not kept); of those that do, `n_changed`
    replace what the rater said before and `n_same` repeat it.
    """

    path: Path
    rater: str
    n_new: int
    n_changed: int
    n_same: int
    n_blank: int
    n_comments_alone: int


@dataclass(frozen=True)
class Filled:
    """One rater's lines of one file: what was said of each ticket, whole, and how many tickets are blank."""

    path: Path
    rater: str
    said: tuple[tuple[Rating, ...] | tuple[Choice, ...], ...]
    n_blank: int
    n_comments_alone: int


Texts = Mapping[tuple[str, int, str], str]
"""(arm, seed, item id) -> the digest of the text that the run has there now."""


def read_filled(path: Path, sheets: Mapping[str, Sheet], rater: str = "", texts: Texts | None = None) -> list[Filled]:
    """What each rater said in a file, on whichever sheets of the run; `rater` is the name where a line has none.

    With `texts` what was shown must be what the run has.

    Raises:
        DataError: the file cannot be read, or a line of it is of no sheet of this run, of a ticket that is not on it,
            twice of one ticket, of nobody or of somebody else than `rater`, of a text that is another now, or its
            rating is none.
    """
    lines: dict[str, list[tuple[tuple[Rating, ...] | tuple[Choice, ...] | None, str]]] = {}
    known: dict[tuple[str, str], str] = {}
    for where, cells in read_table(path, COLUMNS):
        name = _rater(where, cells.get("rater", "").strip(), rater)
        sheet, ticket = _ticket(where, cells, sheets)
        if texts is not None:
            _check_texts(where, ticket, texts)
        first = known.setdefault((name, ticket.ticket), where)
        if first != where:
            raise DataError(f"{where}: ticket {ticket.ticket} of {name!r:.60} stands at {first} too; keep one of them")
        comment = cells.get("comment", "")
        lines.setdefault(name, []).append((_said(where, cells["rating"], (sheet, ticket), name, comment), comment))
    return [
        Filled(
            path,
            name,
            tuple(said for said, _ in told if said is not None),
            sum(said is None for said, _ in told),
            sum(said is None and bool(comment.strip()) for said, comment in told),
        )
        for name, told in lines.items()
    ]


def merge_filled(before: Said, filled: Sequence[Filled]) -> tuple[Said, list[Imported]]:
    """All that was said, later words of one person on one answer in place of earlier ones, and what each part came to.

    A blank takes nothing back.
    """
    ratings: dict[Hashable, Rating] = {one.key: one for one in before.ratings}
    choices: dict[Hashable, Choice] = {one.key: one for one in before.choices}
    told = []
    for part in filled:
        counts = {"new": 0, "changed": 0, "same": 0}
        for said in part.said:
            changes = [
                _put(ratings, one) if isinstance(one, Rating) else _put(choices, one) for one in said
            ]  # one ticket may be of several arms' answers
            counts[next(kind for kind in ("changed", "new", "same") if kind in changes)] += 1
        told.append(
            Imported(
                part.path,
                part.rater,
                counts["new"],
                counts["changed"],
                counts["same"],
                part.n_blank,
                part.n_comments_alone,
            )
        )
    return Said(tuple(ratings.values()), tuple(choices.values())), told


def read_said(folder: Path) -> Said:
    """What was said of a run so far, by its folder; nothing where there are no such files.

    Raises:
        DataError: a file is damaged.
    """
    ratings, choices = folder / RATINGS, folder / CHOICES
    return Said(
        read_ratings(ratings) if ratings.exists() else (),
        read_choices(choices) if choices.exists() else (),
    )


def write_said(folder: Path, said: Said) -> list[Path]:
    """Write what was said into a run's folder, a file for ratings and one for choices; their paths.

    Raises:
        OutputError: one cannot be written; it is as it was.
    """
    texts = {
        folder / RATINGS: ratings_text(said.ratings) if said.ratings else None,
        folder / CHOICES: choices_text(said.choices) if said.choices else None,
    }
    try:
        return [replace_text(path, text) for path, text in texts.items() if text is not None]
    except OSError as fault:
        said_why = fault.strerror or os.strerror(fault.errno or 0)
        raise OutputError(f"{folder}: cannot be written ({said_why}); make the run's folder writable") from None


Word = TypeVar("Word", Rating, Choice)


def _put(known: dict[Hashable, Word], one: Word) -> str:
    """Keep it; whether it is new, changes what was said, or repeats it."""
    earlier = known.get(one.key)
    known[one.key] = one
    return "new" if earlier is None else "same" if _meaning(earlier) == _meaning(one) else "changed"


def _meaning(one: Rating | Choice) -> Any:
    """What somebody said, on whichever sheet and side."""
    if isinstance(one, Rating):
        return (one.value, one.comment, one.answer)
    texts = dict(zip((one.left, one.right), one.answers, strict=True))
    return ({"left": one.left, "right": one.right, "tie": None}[one.liked], one.comment, texts)


def _rater(where: str, written: str, given: str) -> str:
    if written and given and written != given:
        raise DataError(
            f"{where}: its rater is {written!r:.60}, not {given!r:.60}; leave out --rater, or mend the line"
        )
    if not (written or given):
        raise DataError(f"{where}: it says of no rater whose it is; fill in the column, or give --rater NAME")
    return written or given


def _ticket(where: str, cells: Mapping[str, str], sheets: Mapping[str, Sheet]) -> tuple[Sheet, Ticket]:
    named = cells["sheet"].strip().lower()
    sheet = sheets.get(named)
    if sheet is None:
        raise DataError(f"{where}: sheet {named!r:.60} is none of this run's; give the run that it was made of")
    asked = cells["ticket"].strip().lower()
    ticket = sheet.of.get(asked)
    if ticket is None:
        raise DataError(f"{where}: ticket {asked!r:.60} is not on sheet {named}; restore the column")
    return sheet, ticket


def _check_texts(where: str, ticket: Ticket, texts: Texts) -> None:
    for (arm, seed), shown in zip(ticket.answers, ticket.texts, strict=False):  # an older key has no texts
        if texts.get((arm, seed, ticket.item_id)) != shown:
            said = f"item {ticket.item_id!r:.60} of arm {arm!r:.60}, seed {seed}, is another answer than was shown"
            raise DataError(f"{where}: {said}; restore the run's rows, or make a new sheet")


def _said(
    where: str, cell: str, of: tuple[Sheet, Ticket], rater: str, comment: str
) -> tuple[Rating, ...] | tuple[Choice, ...] | None:
    """What a cell says of a ticket: a rating of each arm whose answer it is, or a choice; None where it is blank."""
    sheet, ticket = of
    text = cell.strip().lower()
    if not text:
        return None
    if sheet.scale is None:
        liked = next((one for one in LIKED if text in (one, one[0])), None)
        if liked is None:
            raise DataError(f"{where}: rating is {cell!r:.60}; give left, right or tie, or leave it blank")
        left, right = ticket.answers
        texts = (ticket.texts[0], ticket.texts[1]) if ticket.texts else ("", "")
        return (Choice(rater, ticket.item_id, left, right, liked, comment, sheet.sheet, texts),)
    low, high = sheet.scale
    value = number_of(text)
    if value is None or value != int(value) or not low <= value <= high:
        raise DataError(f"{where}: rating is {cell!r:.60}; give a whole number from {low} to {high}, or leave it blank")
    shown = ticket.texts[0] if ticket.texts else ""  # several arms gave it to the letter
    return tuple(
        Rating(rater, ticket.item_id, arm, seed, value, comment, sheet.sheet, shown) for arm, seed in ticket.answers
    )
