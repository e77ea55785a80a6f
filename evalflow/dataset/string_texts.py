"""The string tasks as texts to be scored: a prompt and its right answer, as the embedded model was taught them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evalflow.record import Item
from evalflow.string_tasks import TASKS, WordPool, answer_for, prompt_for


@dataclass(frozen=True)
class StringTexts:
    """Every task of every word, answered. An item's kind is its task, its cluster the word.

    `words` chooses which: all of the pool (`all`), or those of one part of it. `n` takes the first of them. Of each
    text all is `scored`, or the answer alone: the model was taught to write no more.
    """

    name: str = "string_texts"
    seed: int = 0
    """What the pool of words is drawn from."""
    words: Literal["all", "train", "held_out", "validation"] = "all"
    n: int | None = None
    scored: Literal["all", "answer"] = "all"

    def __post_init__(self) -> None:
        if self.n is not None and self.n < 1:
            raise ValueError(f"n is {self.n}; give at least 1 word, or null for all")

    def items(self) -> tuple[Item, ...]:
        """Word by word, task by task; see `Dataset.items`."""
        train, held_out, validation = WordPool(self.seed).split()
        chosen = {
            "train": train,
            "held_out": held_out,
            "validation": validation,
            "all": (*held_out, *validation, *train),
        }[self.words]
        return tuple(
            Item(
                id=f"{task}/{word}",
                prompt=f"{prompt_for(task, word)}{answer_for(task, word)}",
                kind=task,
                cluster=word,
                fields={"task": task, "word": word, "evalflow.scored_from": self._begins(task, word)},
            )
            for word in chosen[: self.n]
            for task in TASKS
        )

    def _begins(self, task: str, word: str) -> int:
        """Where what is scored of a text begins (characters)."""
        return len(prompt_for(task, word)) if self.scored == "answer" else 0
