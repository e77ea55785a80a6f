"""Make the checkpoints that ship, and measure them.

`python -m evalflow.model.tiny_gpt.ship train` writes them, `validate` asks the validation words, by which a
recipe may be chosen, and `measure` the held-out words, once, when it is frozen: the model card's figures.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from evalflow.model.tiny_gpt.checkpoint import save
from evalflow.model.tiny_gpt.model import TinyGPT
from evalflow.model.tiny_gpt.recipe import RECIPES
from evalflow.record import Decoding, Request, digest
from evalflow.string_tasks import TASKS, WordPool, answer_for, prompt_for

SEEDS = range(5)


@dataclass(frozen=True)
class Counts:
    """How many of `asked` questions were answered exactly right, and how many answers ran out of tokens."""

    asked: int
    right: int
    truncated: int


async def ask(model: TinyGPT, words: Sequence[str], decoding: Decoding, seed: int) -> Counts:
    """Ask a started model every task of every word, all at once."""
    pairs = [(task, word) for task in TASKS for word in words]
    requests = [
        Request(f"{task}-{word}", prompt_for(task, word), decoding, _sampling_seed(task, word, seed))
        for task, word in pairs
    ]
    answers = await asyncio.gather(*map(model.complete, requests))
    right = sum(answer.text == answer_for(*pair) for answer, pair in zip(answers, pairs, strict=True))
    return Counts(len(pairs), right, sum(answer.finish_reason == "length" for answer in answers))


def _sampling_seed(task: str, word: str, seed: int) -> int:
    return int(digest([task, word, seed])[:8], 16) >> 1


def train_all(console: Console) -> None:
    """Train every recipe and write its checkpoint over what ships."""
    from evalflow.model.tiny_gpt.train import train

    for name, recipe in RECIPES.items():
        start = time.monotonic()
        weights = train(recipe, name)
        sha256 = save(name, {key: weight.numpy() for key, weight in weights.items()})
        console.print(f"{name}: {time.monotonic() - start:.1f} s, weights {sha256}", soft_wrap=True)


async def table(console: Console, words: Sequence[str]) -> None:
    """Print the accuracy of every checkpoint, greedy and sampled at T = 1."""
    for name in RECIPES:
        model = TinyGPT(checkpoint=name)
        await model.start()
        _line(console, f"{name}, greedy", await ask(model, words, Decoding(), 0))
        for seed in SEEDS:
            _line(
                console,
                f"{name}, T = 1, seed {seed}",
                await ask(model, words, Decoding(temperature=1.0), seed),
            )
        await model.close()


def _line(console: Console, arm: str, counts: Counts) -> None:
    rate = counts.right / counts.asked
    console.print(f"| {arm} | {counts.right} of {counts.asked} | {rate:.3f} | {counts.truncated} |", highlight=False)


def main(argv: Sequence[str]) -> int:
    """The command; 64 where it is not one of the three."""
    _, held_out, validation = WordPool().split()
    console = Console()
    if argv == ["train"]:
        train_all(console)
    elif argv == ["validate"]:
        asyncio.run(table(console, validation))
    elif argv == ["measure"]:
        asyncio.run(table(console, held_out))
    else:
        console.print("give one of: train, validate, measure")
        return 64
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
