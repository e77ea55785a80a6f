"""Where annotators part, in context and beside what each arm has there: a list for somebody who decides."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from evalflow.errors import OutputError
from evalflow.metric.annotators import Labelled, labels, pairings, read_by
from evalflow.metric.error_rate import Confusions
from evalflow.metric.protocol import Answer
from evalflow.numeric.alignment import Alignment, align
from evalflow.numeric.multiple_alignment import Column, columns
from evalflow.numeric.text_profile import TextProfile
from evalflow.numeric.units import joined
from evalflow.record import Item
from evalflow.report.tables import Columns, Record, csv_text
from evalflow.spreadsheet import neutral
from evalflow.whole_file import replace_text

NOT_READ = "(not read)"
NO_ANSWER = "(no answer)"
_SEEN = str.maketrans({"\n": "⏎", "\r": "␍", "\t": "⇥"})

Answers = Mapping[str, Mapping[str, Answer]]
"""Arm -> item id -> its answer, of those that have one."""


@dataclass(frozen=True)
class Side:
    """How texts are compared: in which unit, brought to which profile, with how many units of context shown."""

    unit: Labelled
    profile: TextProfile
    context: int = 20

    def cut(self, text: str) -> list[str]:
        """A text in units."""
        return labels(text, self.unit, self.profile)

    def text(self, units: Iterable[str]) -> str:
        """Units as a text that fits one cell, its line ends to be seen."""
        whole = joined(units, "word" if self.unit == "word" else "grapheme").translate(_SEEN)
        return whole.replace(" ", "␣") if whole.isspace() else whole


def adjudication(items: Sequence[Item], answers: Answers, side: Side) -> tuple[list[Record], Columns]:
    """A record per place where two annotators part, document by document, and the columns.

    `offset` counts units of the first annotator who read the document, brought to the profile; `left` and `right` are
    that reading's, too. `decision` is empty, and whoever adjudicates fills it in.
    """
    names = sorted({name for item in items for name in read_by(item)})
    heads = ["document", "offset", "left", *(f"annotator {name}" for name in names), "right"]
    heads += [*(f"arm {arm}" for arm in answers), "decision"]
    found = [{**dict.fromkeys(heads, ""), **record} for item in items for record in _of_item(item, answers, side)]
    return found, {head: "whole" if head == "offset" else "text" for head in heads}


def adjudication_csv(records: Sequence[Record], heads: Columns) -> str:
    """The list as CSV. A text that a spreadsheet would take for a formula begins with a quote, `'`, that it hides."""
    safe = [{head: neutral(cell) if isinstance(cell, str) else cell for head, cell in one.items()} for one in records]
    return csv_text(safe, heads)


def write_adjudication(path: Path, text: str) -> None:
    """Write the list, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text, named=True)
    except OSError as fault:
        raise OutputError(f"{path}: cannot be written ({fault.strerror}); give another file") from None


def annotators_confusions(items: Sequence[Item], side: Side) -> dict[str, Confusions]:
    """`A | B` -> how often one read this where the other read that, over all items that both read."""
    found: dict[str, Confusions] = {}
    for item in items:
        for (one, other), alignment in pairings(item, side.unit, side.profile):
            found.setdefault(f"{one} | {other}", Counter()).update(alignment.confusions())
    return dict(sorted(found.items()))


def confusion_lines(title: str, found: Confusions, side: Side, most: int = 20) -> Iterator[str]:
    """The commonest confusions, a line each under a title that counts them; ∅ where one side has nothing."""
    yield f"{title}: {_counted(found.total(), 'edit')}, {_counted(len(found), 'kind')}"
    # of equals the first in the alphabet, so that the same texts give the same list
    ranked = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    for (one, other), times in ranked[:most]:
        yield f"{times:>6}  {side.text([one]) or '∅'} | {side.text([other]) or '∅'}"
    if len(ranked) > most:
        yield f"        and {_counted(len(ranked) - most, 'kind')} more"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _of_item(item: Item, answers: Answers, side: Side) -> Iterator[Record]:
    """The item's places, in order."""
    read = {name: None if text is None else side.cut(text) for name, text in read_by(item).items()}
    readers = [name for name, units in read.items() if units is not None]
    if len(readers) < 2:
        return
    spine = read[readers[0]] or []
    own = list(read).index(readers[0])
    said = {arm: given[item.id].row.draft or "" for arm, given in answers.items() if item.id in given}
    arms = {arm: _Beside(align(spine, side.cut(text))) for arm, text in said.items()}
    at = 0
    for parted, run in groupby(columns(list(read.values())), lambda column: _parted(column, list(read), readers)):
        place = list(run)
        end = at + sum(column[own] is not None for column in place)
        if parted:
            yield {
                "document": item.id,
                "offset": at,
                "left": side.text(spine[max(0, at - side.context) : at]),
                "right": side.text(spine[end : end + side.context]),
                **{f"annotator {name}": _reading(place, n, name in readers, side) for n, name in enumerate(read)},
                **{f"arm {arm}": side.text(arms[arm].units(at, end)) if arm in arms else NO_ANSWER for arm in answers},
            }
        at = end


def _parted(column: Column, names: Sequence[str], readers: Sequence[str]) -> bool:
    """Whether annotators who read the item have different things at a place, or some nothing."""
    return len({unit for name, unit in zip(names, column, strict=True) if name in readers}) > 1


def _reading(place: Sequence[Column], annotator: int, reads: bool, side: Side) -> str:
    if not reads:
        return NOT_READ
    return side.text([unit for column in place if (unit := column[annotator]) is not None])


class _Beside:
    """What another text has where the spine has a stretch of its units."""

    def __init__(self, alignment: Alignment) -> None:
        self._units = alignment.b
        inserted = Counter(i for kind, i, _ in alignment.edits if kind == "insert")
        deleted = {i for kind, i, _ in alignment.edits if kind == "delete"}
        before, after, at = [], [], 0
        for place in range(len(alignment.a) + 1):
            before.append(at)
            at += inserted[place]
            after.append(at)
            at += place not in deleted
        self._before, self._after = before, after

    def units(self, start: int, end: int) -> Sequence[str]:
        """Its units from `start` to before `end` of the spine, with what it has more at both edges."""
        return self._units[self._before[start] : self._after[end]]
