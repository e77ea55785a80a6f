"""One recorded answer, whichever tool recorded it, and the item that it answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from evalflow.record import FinishReason, Item

Answers = Literal["filtered", "written"]


@dataclass(frozen=True)
class Sample:
    """An answer as a log holds it; `where` names its place there, for messages.

    `repeat` counts from 0. `fields` tell of the document (hashes, several targets). `scores` are the tool's own, by
    name; `unread` says of others why they are no number. A sample with an `error` has no answer. Tokens are None
    where the log does not tell.
    """

    where: str
    id: str
    task: str
    repeat: int
    prompt: str
    target: str | None
    answer: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    finish_reason: FinishReason | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    reasoning_tokens: int | None = None

    @property
    def item(self) -> Item:
        """The question that it answers; the task is its kind."""
        return Item(self.id, self.prompt, self.target, kind=self.task, fields=self.fields)


@dataclass(frozen=True)
class Log:
    """What a log says of itself; `samples` reads it from the start each time, one sample after another.

    `planned` is how many samples it should hold, None where it does not tell. `settings` are those that the answers
    were made under, `remarks` what a reader has to know.
    """

    tool: str
    version: str | None
    model: str | None
    settings: Mapping[str, Any]
    files: tuple[Path, ...]
    samples: Callable[[], Iterator[Sample]]
    planned: int | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """What is wanted of a log that holds more than one thing: None where it has to be told by itself.

    `task` is one of a folder's, `filter` one of lm-eval's. `answer` is what a row's text is: `filtered`, as the tool
    scored it, or `written`, as the model wrote it, every repeat of it.
    """

    task: str | None = None
    filter: str | None = None
    answer: Answers = "filtered"

    def __post_init__(self) -> None:
        if self.answer not in ("filtered", "written"):
            raise ValueError(f"answer is {self.answer!r}; choose from filtered, written")


def split_scores(given: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, str]]:
    """The scores that are finite numbers (true is 1, false 0), and of the others why they are none."""
    scores, unread = {}, {}
    for name, value in given.items():
        if not isinstance(value, int | float):
            unread[name] = "none was given" if value is None else f"a {type(value).__name__}, no number"
        elif not _is_finite(value):
            unread[name] = "not finite"
        else:
            scores[name] = float(value)
    return scores, unread


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond a float
        return False
