"""Numbers in prose: which runs of characters are one, and what it is worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import regex

_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"))
_GROUPING = ",\u00a0\u2009\u202f'\u2019"
# a minus after a word, a digit or a bracket is a dash or a difference: 3-5 are two numbers, neither below 0
_RUN = regex.compile(rf"(?:(?<![\w)\]])[-+])?(?<!\w)(?:\d+(?:[.{_GROUPING}]\d+)*|\.\d+)(?:[eE][-+]?\d+)?")
_PLAIN = regex.compile(r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,4})?")
_GROUPED = regex.compile(rf"[-+]?[1-9]\d{{0,2}}([{_GROUPING}])\d{{3}}(?:\1\d{{3}})*(?:\.\d+)?(?:[eE][-+]?\d{{1,4}})?")
_AROUND = regex.compile(r"[\s\p{Ps}\p{Pe}\p{Pi}\p{Pf}\"'.,!?;:*_`]*")


@dataclass(frozen=True)
class Number:
    """A number as written, and its exact value."""

    written: str
    value: Decimal


def with_minus(text: str) -> str:
    """The text with every dash and minus sign as `-`."""
    return text.translate(_DASHES)


def numbers_in(text: str) -> Iterator[Number]:
    """The numbers of a text, in order: decimals with a point, an exponent, thousands in true groups of three.

    What only looks like one is none: 1.2.3, 0,1 (a comma groups thousands, hence says nothing here), the 2 of H2O.
    """
    yield from (number for _, number in _found(with_minus(text)) if number is not None)


def read_number(text: str) -> Decimal | None:
    """The value of a text that is one number and nothing but brackets, quotes or stops around; else None.

    A sign that changes what is meant, such as % or $, makes it none.
    """
    text = with_minus(text)
    (start, end), number = next(_found(text), ((0, 0), None))
    alone = _AROUND.fullmatch(text[:start]) and _AROUND.fullmatch(text[end:])
    return number.value if number is not None and alone else None


def _found(text: str) -> Iterator[tuple[tuple[int, int], Number | None]]:
    """Every run of digits with what belongs to it: where it is, and the number, if it is one."""
    for run in _RUN.finditer(text):
        written = run[0]
        grouped = _GROUPED.fullmatch(written)
        if grouped:
            yield run.span(), Number(written, Decimal(written.replace(grouped[1], "")))
        elif _PLAIN.fullmatch(written):
            yield run.span(), Number(written, Decimal(written))
        else:
            yield run.span(), None
