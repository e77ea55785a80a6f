"""What raters are shown: answers in an order, on sides and under names that tell nothing of the arms that gave them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Literal

from evalflow.errors import DataError
from evalflow.ratings import text_digest
from evalflow.record import Item, Row, digest, to_json
from evalflow.runner.plan import Plan
from evalflow.runner.score import blamed
from evalflow.runner.stored_run import StoredRun

Kind = Literal["pairs", "single"]
AnswerOf = tuple[str, int]
"""Whose answer to an item it is: (arm, seed)."""
_LETTERS = "bcdfghjkmnpqrstvwxyz"  # no digits, which a spreadsheet would take for numbers, and no words
_LONG = 12


@dataclass(frozen=True)
class Asked:
    """What is to be shown of a run.

    `pairs` shows every two of `arms` side by side, of which the earlier is the reference; `single` asks for a number
    of `scale` for each answer. `question` is what raters are asked (a plain one where it is empty). Of `n_items` items
    (all: None), each is on `overlap` of the `sheets` (all: None).
    """

    arms: tuple[str, ...]
    kind: Kind = "pairs"
    scale: tuple[int, int] = (1, 5)
    n_items: int | None = None
    sheets: int = 1
    overlap: int | None = None
    seed: int = 0
    question: str = ""

    def __post_init__(self) -> None:
        low, high = self.scale
        if not 0 <= low < high <= 9:
            raise ValueError(f"scale is {low}-{high}; give two digits, the lower first, such as 1-5")
        if len(self.arms) < (2 if self.kind == "pairs" else 1) or len(set(self.arms)) < len(self.arms):
            raise ValueError(f"arms is {', '.join(self.arms) or 'empty'}; pairs need two different arms, single one")
        if self.n_items is not None and self.n_items < 1:
            raise ValueError(f"items is {self.n_items}; give at least 1")
        if self.sheets < 1:
            raise ValueError(f"sheets is {self.sheets}; give at least 1")
        if self.overlap is not None and not 1 <= self.overlap <= self.sheets:
            raise ValueError(f"overlap is {self.overlap}; give 1 to {self.sheets}, the number of sheets")


@dataclass(frozen=True)
class LeftOut:
    """An answer that cannot be judged, and why."""

    item_id: str
    arm: str
    seed: int
    why: str


@dataclass(frozen=True)
class Ticket:
    """One thing to judge: two answers, the left one first, or one, which several arms may have given to the letter.

    `texts` are the digests of the answers' texts (`ratings.text_digest`), in their order.
    """

    ticket: str
    item_id: str
    answers: tuple[AnswerOf, ...]
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """One rater's sheet and its key: what is behind each ticket, in the order in which it is shown.

    `identical` are pairs whose two answers are one text, of which nobody need be asked; `arms` are those asked for,
    and `item_ids` all items that the sheet is of.
    """

    sheet: str
    run_id: str
    kind: Kind
    scale: tuple[int, int] | None
    arms: tuple[str, ...]
    seed: int
    item_ids: tuple[str, ...]
    tickets: tuple[Ticket, ...]
    identical: tuple[tuple[str, AnswerOf, AnswerOf], ...]
    left_out: tuple[LeftOut, ...]
    question: str = ""

    @property
    def asks(self) -> str:
        """What raters are asked."""
        if self.question or self.scale is None:
            return self.question or "Which answer is better?"
        return f"How good is this answer, from {self.scale[0]} (worst) to {self.scale[1]} (best)?"

    @cached_property
    def of(self) -> dict[str, Ticket]:
        """What is behind a ticket, by its name."""
        return {ticket.ticket: ticket for ticket in self.tickets}


Answers = Mapping[tuple[str, int, str], str | LeftOut]
"""(arm, seed, item id) -> the text that its reader gets, or why there is none."""


def answers_of(plan: Plan, run: StoredRun, arms: Sequence[str]) -> Answers:
    """What each of the arms answered, as it is served where the experiment serves anything else than the draft.

    Raises:
        DataError, MetricError: serving refuses an item, or breaks on it.
    """
    rows = {row.key: row for row in run.rows}
    return {
        (arm, seed, item.id): _answer(plan, item, arm, seed, rows.get((arm, seed, item.id)))
        for arm in arms
        for seed in plan.arms[arm].arm.seeds
        for item in run.items
    }


def secret_of(run: StoredRun, asked: Asked) -> bytes:
    """What the sheets of a run are drawn by: the same for the same rows and question, and known to nobody without them.

    Rows hold times to the nanosecond and so cannot be guessed by somebody who sees a sheet.
    """
    rows = sorted(to_json(replace(row, columns=None)) for row in run.rows)
    return bytes.fromhex(digest([run.run_id, rows, vars(asked)]))


def draw_sheets(run: StoredRun, answers: Answers, asked: Asked) -> list[Sheet]:
    """The sheets: the same items under the same seeds on all of them, each in an order and with sides of its own.

    Of an arm with several seeds one is drawn for each item. In every pair of arms each stands on the left in half of
    the tickets (one more or fewer where their number is odd).

    Raises:
        DataError: an item's id cannot be written to a file, or there is nothing to be judged.
    """
    draw = _Draw(secret_of(run, asked))
    drawn = sorted((item.id for item in run.items), key=lambda name: draw.number("item", name))[: asked.n_items]
    for name in drawn:
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise DataError(f"item {name!r:.60}: its id holds half a character; give it another to have it reviewed")
    overlap = asked.overlap or asked.sheets
    dealt = [
        [name for place, name in enumerate(drawn) if (number - place) % asked.sheets < overlap]
        for number in range(asked.sheets)
    ]
    sheets = [_sheet(run.run_id, answers, asked, draw, number, names) for number, names in enumerate(dealt)]
    bare = next((number for number, sheet in enumerate(sheets, start=1) if not sheet.tickets), None)
    if bare is not None:
        left = sheets[bare - 1]
        said = f"{len(left.identical)} pairs are identical, {len(left.left_out)} answers missing or empty"
        raise DataError(f"sheet {bare} has nothing to be judged ({said}); ask for other arms or more items")
    return sheets


def shown_as(sheets: Sequence[Sheet]) -> dict[tuple[str, str, int], tuple[str, str, int]]:
    """(item id, arm, seed) of every answer on sheets that ask for numbers -> the one that it was shown as.

    A text that several arms gave is shown, and judged, once.
    """
    return {
        (ticket.item_id, *answer): (ticket.item_id, *ticket.answers[0])
        for sheet in sheets
        if sheet.kind == "single"
        for ticket in sheet.tickets
        for answer in ticket.answers
    }


class _Draw:
    """Draws by name: each is a keyed hash of what it is for, and of nothing else."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def number(self, *what: str | int) -> int:
        return int.from_bytes(hmac.digest(self._secret, digest(what).encode(), hashlib.sha256), "big")

    def word(self, *what: str | int) -> str:
        number, letters = self.number(*what), []
        for _ in range(_LONG):
            number, place = divmod(number, len(_LETTERS))
            letters.append(_LETTERS[place])
        return "".join(letters)


def _answer(plan: Plan, item: Item, arm: str, seed: int, row: Row | None) -> str | LeftOut:
    if row is None:
        return LeftOut(item.id, arm, seed, "not answered")
    if row.status == "error" or row.draft is None:
        return LeftOut(item.id, arm, seed, f"error: {row.error.kind}" if row.error else "no text")
    text = row.draft
    if plan.serving is not None:
        with blamed("serving", f" on item {item.id!r}"):
            text = plan.serving.serve(item, row.draft).text
    return text if text.strip() else LeftOut(item.id, arm, seed, "empty")


def _sheet(run_id: str, answers: Answers, asked: Asked, draw: _Draw, number: int, names: Sequence[str]) -> Sheet:
    seeds = {arm: sorted({seed for of, seed, _ in answers if of == arm}) for arm in asked.arms}
    said: dict[str, dict[AnswerOf, str]] = {name: {} for name in names}
    left_out = []
    for name in names:
        for arm in asked.arms:
            seed = seeds[arm][draw.number("seed", arm, name) % len(seeds[arm])]
            text = answers[arm, seed, name]
            if isinstance(text, LeftOut):
                left_out.append(text)
            else:
                said[name][arm, seed] = text
    shown, identical = _pairs(said, asked, draw, number) if asked.kind == "pairs" else (list(_single(said)), [])
    tickets = [
        Ticket(
            draw.word("ticket", number, name, *map(str, of)),
            name,
            of,
            tuple(text_digest(said[name][one]) for one in of),
        )
        for name, of in shown
    ]
    tickets.sort(key=lambda one: draw.number("order", number, one.ticket))
    scale = asked.scale if asked.kind == "single" else None
    return Sheet(
        sheet=draw.word("sheet", number),
        run_id=run_id,
        kind=asked.kind,
        scale=scale,
        arms=asked.arms,
        seed=asked.seed,
        item_ids=tuple(names),
        tickets=tuple(tickets),
        identical=tuple(identical),
        left_out=tuple(left_out),
        question=asked.question,
    )


Said = Mapping[str, Mapping[AnswerOf, str]]
"""Item id -> the answers to it that can be shown, in the order of the arms."""


def _single(said: Said) -> Iterator[tuple[str, tuple[AnswerOf, ...]]]:
    """Each text once, with all who gave it: a rater who saw it twice might contradict himself."""
    for name, texts in said.items():
        for text in dict.fromkeys(texts.values()):
            yield name, tuple(of for of, other in texts.items() if other == text)


def _pairs(
    said: Said, asked: Asked, draw: _Draw, number: int
) -> tuple[list[tuple[str, tuple[AnswerOf, ...]]], list[tuple[str, AnswerOf, AnswerOf]]]:
    """The pairs to show, the left answer first, and those whose two answers are one text."""
    shown: list[tuple[str, tuple[AnswerOf, ...]]] = []
    identical = []
    for arms in combinations(asked.arms, 2):
        differing = []
        for name, texts in said.items():
            found = [of for of in texts if of[0] in arms]
            if len(found) < 2:
                continue
            if texts[found[0]] == texts[found[1]]:
                identical.append((name, found[0], found[1]))
            else:
                differing.append((name, (found[0], found[1])))
        differing.sort(key=lambda one: draw.number("side", number, one[0], *arms))
        first = draw.number("first", number, *arms) % 2
        shown += [(name, of if (place + first) % 2 else of[::-1]) for place, (name, of) in enumerate(differing)]
    return shown, identical
