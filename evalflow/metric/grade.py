"""The grade that a judging model gave: a whole number on a scale, read from its reply and from nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import regex

from evalflow.metric.protocol import Answer, Metric
from evalflow.strict_json import parse_json

_LINE = regex.compile(
    r"[\s>#*_`\-]*(?:final\s+)?(?:rating|grade|score)[\s*_`]*[:=][\s*_`]*"
    r"(-?[0-9]{1,9})(?:\.0+)?(?:\s*(?:/|out\s+of)\s*([0-9]{1,9}))?[\s*_`.!]*",
    regex.IGNORECASE,
)
"""`Rating: 4`, as the whole of a line; `**Rating:** 4/5.` is one too, `Rating: 4 or 5` is none."""
_FENCE = regex.compile(r"```(?:json)?\s*\n(.*)\n\s*```", regex.DOTALL | regex.IGNORECASE)
_SAID = 200
"""Characters of a reply that are shown where it could not be read."""


@dataclass(frozen=True)
class Grade(Metric):
    """The mean grade, each a whole number from the first to the second of `scale`, the higher the better.

    A reply gives its grade in its last line, such as `Rating: 4`: what is said before it, be it quoted from the answer,
    is no grade. With `field` the reply must be one JSON object that has it; with `pattern`, a regular expression of one
    group that is searched for `time_limit_s` (CPU) at most, its last match counts. A reply that was cut off, that gives
    no grade, or one that is not on the scale, is excluded and counted, and says why; it is never a low grade. The
    interval is a t interval over clusters.

    Nobody has to believe a model's grades: a gate reads them only where the agreement of its judge with people
    (`JudgeAgreement`) has passed a gate of the same experiment.
    """

    needs_proof: ClassVar[bool] = True
    scale: tuple[int, int] = (1, 5)
    field: str | None = None
    pattern: str | None = None
    time_limit_s: float = 1.0

    def __post_init__(self) -> None:
        if self.scale[0] >= self.scale[1]:
            raise ValueError(f"scale is {list(self.scale)}; give the lowest grade, then the highest")
        if self.field is not None and self.pattern is not None:
            raise ValueError("field is given, and so is pattern; give one of them, or none")
        if not self.time_limit_s > 0:
            raise ValueError(f"time_limit_s is {self.time_limit_s}; give seconds above 0")
        if self.pattern is not None:
            try:
                groups = regex.compile(self.pattern).groups
            except regex.error as fault:
                raise ValueError(f"pattern is no regular expression ({fault}); mend it") from None
            if groups != 1:
                raise ValueError(f"pattern has {groups} groups; give it one, around the grade")

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest grade."""
        return float(self.scale[0]), float(self.scale[1])

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(grade,)`; None for a row without one."""
        grade = self._grade(unit)
        return (float(grade),) if isinstance(grade, int) else None

    def detail(self, unit: Answer) -> Mapping[str, Any]:
        """Why a reply gave no grade, and how it ends."""
        grade = self._grade(unit)
        if isinstance(grade, int) or unit.row.draft is None:
            return {}
        return {"reason": grade, "said": unit.row.draft.strip()[-_SAID:]}

    def _grade(self, unit: Answer) -> int | str:
        """The grade, or why there is none."""
        draft = unit.row.draft
        if draft is None:
            return "no reply"
        if unit.row.status == "truncated":
            return "the reply was cut off"
        if self.field is not None:
            grade = _in_json(draft.strip(), self.field)
        elif self.pattern is not None:
            grade = _in_pattern(draft, self.pattern, self.time_limit_s)
        else:
            grade = _in_last_line(draft.strip(), self.scale[1])
        if isinstance(grade, int) and not self.scale[0] <= grade <= self.scale[1]:
            return f"{grade!s:.20} is not on the scale"
        return grade


def _in_last_line(reply: str, highest: int) -> int | str:
    last = reply.splitlines()[-1] if reply else ""
    found = _LINE.fullmatch(last)
    if not found:
        return "its last line is no grade"
    if found[2] is not None and int(found[2]) != highest:
        return f"it is out of {int(found[2])}, not of {highest}"
    return int(found[1])


def _in_json(reply: str, field: str) -> int | str:
    fenced = _FENCE.fullmatch(reply)
    try:
        value = parse_json(fenced[1] if fenced else reply)
    except ValueError:
        return "the reply is no JSON"
    if not isinstance(value, Mapping) or field not in value:
        return f"the reply has no {field}"
    return _whole(value[field])


def _in_pattern(reply: str, pattern: str, time_limit_s: float) -> int | str:
    try:
        found = [match[1] for match in regex.finditer(pattern, reply, timeout=time_limit_s)]
    except TimeoutError:
        return f"not searched within {time_limit_s:g} s"
    if not found or found[-1] is None:
        return "no grade was found"
    try:
        return _whole(parse_json(found[-1].strip()))
    except ValueError:
        return f"{found[-1]!r:.40} is no whole number"


def _whole(value: object) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        return f"{json.dumps(value):.40} is no whole number"
    return int(value)
