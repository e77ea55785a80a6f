"""The generated string tasks: three instructions over held-out words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evalflow.record import Item
from evalflow.string_tasks import TASKS, WordPool, answer_for, prompt_for


@dataclass(frozen=True)
class Strings:
    """Every task asked of every word of a split. An item's kind and prefix group is its task, its cluster the word.

    The three tasks of one word stand or fall together more often than not, so the word is the error bar's unit.
    Of `size` words, drawn by `seed`, the first `train` are trained on and the next `held_out` kept for `held_out`; the
    rest are the split `validation`. `split` and `tasks` say what of them is asked.
    """

    name: str = "strings"
    seed: int = 0
    size: int = 460
    train: int = 400
    held_out: int = 20
    split: Literal["held_out", "validation"] = "held_out"
    tasks: tuple[str, ...] = tuple(TASKS)

    def __post_init__(self) -> None:
        self._pool()
        unknown = [task for task in self.tasks if task not in TASKS]
        if unknown or not self.tasks:
            raise ValueError(f"tasks is {list(self.tasks)}; choose from {', '.join(TASKS)}")

    def items(self) -> tuple[Item, ...]:
        """Word by word, task by task; see `Dataset.items`."""
        _, held_out, validation = self._pool().split()
        words = held_out if self.split == "held_out" else validation
        return tuple(
            Item(
                id=f"{task}/{word}",
                prompt=prompt_for(task, word),
                target=answer_for(task, word),
                kind=task,
                cluster=word,
                prefix_group=task,
                fields={"task": task, "word": word},
            )
            for word in words
            for task in self.tasks
        )

    def _pool(self) -> WordPool:
        return WordPool(self.seed, self.size, self.train, self.held_out)
