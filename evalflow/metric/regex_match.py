"""Whether the answer has a form: a regular expression is found in it, or is all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import regex

from evalflow.metric.protocol import Answer
from evalflow.metric.rate import Rate


@dataclass(frozen=True)
class RegexMatch(Rate):
    """1 where `pattern` is found in the answer, or, if `whole`, is all of it; outer white space does not count.

    An empty answer never matches. A search that takes longer than `time_limit_s` of CPU excludes the row, and says so:
    some patterns take for ever on some texts, and what was not found in time is not known to be absent.
    """

    pattern: str
    whole: bool = False
    ignore_case: bool = False
    """Whether small letters and capitals are alike."""
    time_limit_s: float = 1.0

    def __post_init__(self) -> None:
        try:
            self._compiled()
        except regex.error as fault:
            raise ValueError(f"pattern is no regular expression ({fault}); mend it") from None
        if not self.time_limit_s > 0:
            raise ValueError(f"time_limit_s is {self.time_limit_s}; give seconds above 0")

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(0 or 1,)`; None for a row without an answer, or one that was not searched in time."""
        if unit.row.draft is None:
            return None
        try:
            return (float(self._found(unit.row.draft) is not None),)
        except TimeoutError:
            return None

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """The text that matched, None where none did."""
        if unit.row.draft is None:
            return {}
        try:
            return {"matched": self._found(unit.row.draft)}
        except TimeoutError:
            return {"reason": f"not searched within {self.time_limit_s:g} s"}

    def _found(self, answer: str) -> str | None:
        """The first match.

        Raises:
            TimeoutError: the time is over.
        """
        text = answer.strip()
        if not text:
            return None
        search = self._compiled().fullmatch if self.whole else self._compiled().search
        match = search(text, timeout=self.time_limit_s)
        return None if match is None else str(match[0])

    def _compiled(self) -> regex.Pattern[str]:
        """The pattern, which regex keeps compiled."""
        return regex.compile(self.pattern, regex.IGNORECASE if self.ignore_case else 0)
