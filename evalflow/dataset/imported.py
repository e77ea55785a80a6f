"""The questions of another tool's log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evalflow.errors import DataError
from evalflow.imported.log import open_log
from evalflow.imported.sample import Choice
from evalflow.record import Item


@dataclass(frozen=True)
class Imported:
    """What was asked in a log of lm-evaluation-harness or Inspect: `path` is its file, or a folder of one model's.

    An item has the tool's own id (behind the task's name, where a folder holds several tasks), the prompt as it was
    sent (of Inspect: the sample's input), the target, and the task as its kind. Repeats of a question are one item.
    `task`, `filter` and `answer` are those of the model `imported`. One of several targets is no target: they stand in
    `fields`.
    """

    path: str
    name: str = "imported"
    task: str | None = None
    filter: str | None = None
    answer: Literal["filtered", "written"] = "filtered"

    def __post_init__(self) -> None:
        Choice(self.task, self.filter, self.answer)

    def items(self) -> tuple[Item, ...]:
        """Each question once, in the log's order; see `Dataset.items`."""
        found: dict[str, Item] = {}
        for sample in open_log(self.path, Choice(self.task, self.filter, self.answer)).samples():
            item = found.setdefault(sample.id, sample.item)
            if item != sample.item:
                said = f"repeat {sample.repeat + 1} of {sample.id!r} has another prompt or target than the first"
                raise DataError(f"{sample.where}: {said}; give a log that asks one question under one id")
        return tuple(found.values())
