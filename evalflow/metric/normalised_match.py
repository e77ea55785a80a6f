"""Whether the answer is the target, once differences that mean nothing are evened out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import regex

from evalflow.metric.number import read_number, with_minus
from evalflow.metric.protocol import Answer
from evalflow.metric.rate import Rate
from evalflow.numeric.text_profile import TextProfile

EVEN = TextProfile(width=True, casefold=True, strip=True)
"""What means nothing unless somebody says that it does."""
# what stands between digits, and a sign or point before a number, belong to the number: 3-5 is not 35
_OF_NUMBERS = r"(?<=\d)\p{P}(?=\d)|(?<!\w)(?:-\.?|\.)(?=\d)"
_PUNCTUATION = regex.compile(rf"(?:{_OF_NUMBERS})(*SKIP)(*FAIL)|\p{{P}}")


@dataclass(frozen=True)
class NormalisedMatch(Rate):
    """1 where answer and target are the same text after `profile`: NFC, width, case and outer white space by default.

    Accents stay: résumé is not resume. `numeric` makes every dash a minus and holds two numbers equal that are worth
    the same (2.40 and 2.4, 1,000 and 1000). `ignore_punctuation` drops it, but for what belongs to a number, and
    collapses white space. What is empty by then never matches, be it the answer or the target.
    """

    needs_target: ClassVar[bool] = True
    numeric: bool = False
    ignore_punctuation: bool = False
    profile: TextProfile = EVEN

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(0 or 1,)`; None for a row without an answer."""
        if unit.row.draft is None or unit.item.target is None:
            return None
        return (float(self._reason(unit.row.draft, unit.item.target) is None),)

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """What was expected, and why the answer is not that."""
        expected = {"expected": unit.item.target}
        if unit.row.draft is None or unit.item.target is None:
            return expected
        reason = self._reason(unit.row.draft, unit.item.target)
        return expected if reason is None else {**expected, "reason": reason}

    def _reason(self, answer: str, target: str) -> str | None:
        """Why they do not match; None where they do."""
        given, wanted = self._even(answer), self._even(target)
        if not given:
            return "empty output"
        if not wanted:
            return "empty target"
        if given == wanted:
            return None
        if self.numeric:
            worth = read_number(given)
            if worth is not None and worth == read_number(wanted):
                return None
        return "another text"

    def _even(self, text: str) -> str:
        text = self.profile.apply(text)
        if self.numeric or self.ignore_punctuation:  # a minus sign is no punctuation, whichever dash was typed
            text = with_minus(text)
        return " ".join(_PUNCTUATION.sub("", text).split()) if self.ignore_punctuation else text
