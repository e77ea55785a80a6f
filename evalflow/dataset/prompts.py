"""Prompts of a given length that mean nothing: something to load a seat with."""

from __future__ import annotations

import random
from dataclasses import dataclass

from evalflow.record import Item

WORDS = (
    "amber", "basil", "cedar", "delta", "ember", "flint", "grove", "heron", "inlet", "jetty", "knoll", "linen",
    "maple", "nerve", "ochre", "plume", "quartz", "raven", "slate", "thyme", "umber", "vowel", "willow", "yarrow",
)  # fmt: skip


@dataclass(frozen=True)
class Prompts:
    """`n` prompts of `words` words each, the first `shared` of which all prompts of a group of `group` have in common.

    No two prompts are alike, nor are two groups. Words are drawn from the seed and the prompt's number alone.
    """

    n: int | None = None
    words: int = 32
    shared: int = 0
    group: int = 1
    seed: int = 0
    """What the words are drawn from, beside the prompt's number."""
    name: str = "prompts"

    def __post_init__(self) -> None:
        for key, least in (("n", 1), ("words", 2), ("shared", 0), ("group", 1)):
            value = getattr(self, key)
            if value is not None and value < least:
                raise ValueError(f"{key} is {value}; give at least {least}")
        if self.shared >= self.words:
            raise ValueError(f"shared is {self.shared} of {self.words} words; leave at least one")

    def items(self) -> tuple[Item, ...]:
        """See `Dataset.items`; 256 of them where `n` is not given."""
        return tuple(self._item(number) for number in range(256 if self.n is None else self.n))

    def _item(self, number: int) -> Item:
        group = number // self.group
        common = self._text(f"group {group}", self.shared) if self.shared else ""
        own = f"{number}: {self._text(f'prompt {number}', self.words - self.shared - 1)}".rstrip()
        in_group = f"group {group}" if self.shared else ""
        return Item(f"p{number:06d}", f"{common} {own}".lstrip(), prefix_group=in_group, cluster=in_group)

    def _text(self, what: str, words: int) -> str:
        drawn = random.Random(f"{self.seed} {what}")
        return " ".join(drawn.choices(WORDS, k=words))
