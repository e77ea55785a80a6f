"""What people's ratings and choices come to: which arm they like better, how sure that is, and how far they agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evalflow.errors import DataError
from evalflow.ratings import CHOICES, RATINGS, Rating
from evalflow.record import Item
from evalflow.runner.mean_ratings import MeanRatings, mean_ratings
from evalflow.runner.preference import Preference, preferences
from evalflow.runner.review_import import Said
from evalflow.runner.review_sheet import LeftOut, Sheet, shown_as
from evalflow.runner.stored_run import StoredRun


@dataclass(frozen=True)
class Rater:
    """One person: how many things of those on his sheets he judged (None: on none), and how often he said why."""

    rater: str
    n_rated: int
    n_shown: int | None
    n_comments: int


@dataclass(frozen=True)
class ReviewResult:
    """All of it. `sheets` are those that somebody rated, and `left_out` the answers that were not on them."""

    raters: tuple[Rater, ...]
    sheets: tuple[Sheet, ...]
    left_out: tuple[LeftOut, ...]
    preferences: tuple[Preference, ...]
    ratings: MeanRatings | None


def review_result(run: StoredRun, said: Said, sheets: Mapping[str, Sheet]) -> ReviewResult:
    """What was said of a run, added up; `sheets` are all that were made of it.

    Raises:
        DataError: something was said of an answer that the run does not have, or of two of one arm.
    """
    _check(run, said)
    used = {one.sheet for one in said.all}
    rated = tuple(sheet for name, sheet in sorted(sheets.items()) if name in used)
    items: dict[str, Item] = {item.id: item for item in run.items}
    named = [arm for sheet in rated for arm in sheet.arms]
    arms = tuple(dict.fromkeys([*named, *(row.arm for row in run.rows)]))
    left_out = {(one.item_id, one.arm, one.seed): one for sheet in rated for one in sheet.left_out}
    return ReviewResult(
        raters=_raters(said, rated),
        sheets=rated,
        left_out=tuple(left_out[key] for key in sorted(left_out)),
        preferences=preferences(said.choices, rated, items, arms),
        ratings=mean_ratings(said.ratings, rated, items, arms) if said.ratings else None,
    )


def _check(run: StoredRun, said: Said) -> None:
    known = {row.key for row in run.rows}
    for rating in said.ratings:
        if (rating.arm, rating.seed, rating.item_id) not in known:
            raise _stranger(RATINGS, rating.rater, rating.item_id, (rating.arm, rating.seed))
    for choice in said.choices:
        for arm, seed in (choice.left, choice.right):
            if (arm, seed, choice.item_id) not in known:
                raise _stranger(CHOICES, choice.rater, choice.item_id, (arm, seed))
        if choice.left[0] == choice.right[0]:
            of = f"{choice.rater!r:.60} on {choice.item_id!r:.60}"
            raise DataError(f"{CHOICES}: {of}: both answers are of arm {choice.left[0]!r:.60}; name two arms")


def _stranger(name: str, rater: str, item_id: str, of: tuple[str, int]) -> DataError:
    said = f"{rater!r:.60} on {item_id!r:.60}: the run has no answer of arm {of[0]!r:.60}, seed {of[1]}"
    return DataError(f"{name}: {said}; mend the line, or give the run that it is of")


def _raters(said: Said, sheets: tuple[Sheet, ...]) -> tuple[Rater, ...]:
    seen = shown_as(sheets)
    on = {sheet.sheet: len(sheet.tickets) for sheet in sheets}
    found = []
    for name in sorted({one.rater for one in said.all}):
        own = [one for one in said.all if one.rater == name]
        used = {one.sheet for one in own}
        judged = {_seen(one, seen) if isinstance(one, Rating) else one.key for one in own}
        comments = {(one.item_id, one.comment) for one in own if one.comment}
        shown = sum(on[sheet] for sheet in used) if used <= set(on) else None
        found.append(Rater(name, len(judged), shown, len(comments)))
    return tuple(found)


def _seen(one: Rating, seen: Mapping[tuple[str, str, int], tuple[str, str, int]]) -> tuple[str, str, int]:
    answer = (one.item_id, one.arm, one.seed)
    return seen.get(answer, answer)
