"""The string tasks: a seeded pool of words, three instructions, and the prompt that joins them.

The dataset asks with these and the embedded model learns from them; which word belongs to whom is settled here, once.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

TASKS: Mapping[str, tuple[str, Callable[[str], str]]] = MappingProxyType(
    {
        "capitals": ("write the word in capitals", lambda word: word.upper()),
        "twice": ("say the word twice", lambda word: f"{word} {word}"),
        "loud": ("make the word loud", lambda word: f"{word.upper()}!"),
    }
)
"""Task name -> (instruction, the right answer for a word)."""

PROMPT = "### Instruction:\n{instruction}\n\n### Input:\n{word}\n\n### Response:\n"


@dataclass(frozen=True)
class WordPool:
    """`size` distinct random lower-case words of 3 to 5 letters, split three ways.

    `train` words teach; the words kept apart are `held_out` (the items) and the rest, which choose recipes.
    """

    seed: int = 0
    size: int = 460
    train: int = 400
    held_out: int = 20

    def __post_init__(self) -> None:
        if not (self.train >= 1 and self.held_out >= 1 and self.train + self.held_out <= self.size):
            raise ValueError(
                f"{self.train} training and {self.held_out} held-out words do not fit a pool of {self.size}; "
                "give at least 1 of each, together at most the pool's size"
            )

    def split(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """`(train, held_out, validation)`, the same for the same settings on any machine."""
        rng = random.Random(self.seed)
        words: set[str] = set()
        while len(words) < self.size:
            words.add("".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(3, 5))))
        shuffled = sorted(words)
        rng.shuffle(shuffled)
        kept_apart = shuffled[self.train :]
        return tuple(shuffled[: self.train]), tuple(kept_apart[: self.held_out]), tuple(kept_apart[self.held_out :])


def prompt_for(task: str, word: str) -> str:
    """The prompt that asks `task` of `word`."""
    return PROMPT.format(instruction=TASKS[task][0], word=word)


def answer_for(task: str, word: str) -> str:
    """The right answer to `prompt_for(task, word)`."""
    return TASKS[task][1](word)
