"""Training by recipe: the same recipe gives the same bits on one machine, whatever else the process does."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from rich.console import Console
from rich.progress import Progress
from torch import Tensor

from evalflow.errors import ModelError
from evalflow.model.tiny_gpt.network import Weights, forward, init_weights
from evalflow.model.tiny_gpt.pinned import torch_threads
from evalflow.model.tiny_gpt.recipe import Recipe
from evalflow.model.tiny_gpt.vocabulary import END, encode
from evalflow.string_tasks import TASKS, WordPool, answer_for, prompt_for

IGNORED = -100
"""A target that the loss passes over."""


def train(recipe: Recipe, name: str, stopped: Callable[[], bool] = lambda: False) -> Weights:
    """Weights made by `recipe`; a progress bar called `name` shows on stderr where that is a terminal.

    Raises:
        ModelError: `stopped`, which is asked after each step, said so.
    """
    console = Console(stderr=True)
    weights = init_weights(recipe.init_seed)
    for weight in weights.values():
        weight.requires_grad_()
    with torch_threads(1), Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(f"training tiny_gpt {name}", total=recipe.pretrain_steps + recipe.steps)

        def advance() -> None:
            if stopped():
                raise ModelError(f"tiny_gpt: training {name} was stopped; start it again")
            bar.advance(task)

        pretrain(weights, recipe, advance)
        tune(weights, recipe, advance)
    return {key: weight.detach() for key, weight in weights.items()}


def pretrain(weights: Weights, recipe: Recipe, advance: Callable[[], object]) -> None:
    """Predict every next character of random windows of the stream; changes `weights` in place."""
    rng = random.Random(recipe.stream_seed)
    stream_n = stream(recipe, rng)
    optimizer = torch.optim.AdamW(weights.values(), lr=recipe.pretrain_rate, weight_decay=recipe.pretrain_decay)
    offsets_t = torch.arange(recipe.window + 1)
    for _ in range(recipe.pretrain_steps):
        starts_b = torch.tensor([rng.randrange(len(stream_n) - recipe.window) for _ in range(recipe.batch)])
        windows_bt = stream_n[starts_b[:, None] + offsets_t]
        _descend(weights, windows_bt[:, :-1], windows_bt[:, 1:], optimizer, math.inf)
        advance()


def stream(recipe: Recipe, rng: random.Random) -> Tensor:
    """The pre-training stream (N,): one training word, drawn with `rng`, and a space, repeated."""
    word = rng.choice(WordPool().split()[0])
    return torch.tensor(encode(f"{word} " * recipe.stream_repeats))


def tune(weights: Weights, recipe: Recipe, advance: Callable[[], object]) -> None:
    """Learn to answer the training words' prompts, loss on the answers only; changes `weights` in place."""
    generator = torch.Generator().manual_seed(recipe.tuning_seed)
    lesson = Lesson.of(recipe, generator)
    optimizer = torch.optim.AdamW(weights.values(), lr=recipe.tuning_rate, weight_decay=0.0)
    for _ in range(recipe.steps):
        chosen_b = torch.randint(len(lesson.ids_nt), (recipe.batch,), generator=generator)
        _descend(weights, lesson.ids_nt[chosen_b], lesson.targets_nt[chosen_b], optimizer, recipe.clip)
        advance()


@dataclass(frozen=True)
class Lesson:
    """Every prompt and answer of the training words, as tokens (N, T): what is read, and what comes next."""

    ids_nt: Tensor
    targets_nt: Tensor

    @classmethod
    def of(cls, recipe: Recipe, generator: torch.Generator) -> Lesson:
        """The lesson that `recipe` teaches; shuffled labels are drawn from `generator`."""
        pairs = [pair for task in TASKS for pair in _pairs(task, recipe, generator)]
        encoded = [(encode(prompt), [*encode(answer), END]) for prompt, answer in pairs]
        length = max(len(prompt) + len(answer) for prompt, answer in encoded) - 1
        ids_nt = torch.full((len(pairs), length), END)
        targets_nt = torch.full((len(pairs), length), IGNORED)
        for row, (prompt, answer) in enumerate(encoded):
            tokens = torch.tensor([*prompt, *answer])
            ids_nt[row, : len(tokens) - 1] = tokens[:-1]
            targets_nt[row, len(prompt) - 1 : len(tokens) - 1] = tokens[len(prompt) :]
        return cls(ids_nt, targets_nt)


def _pairs(task: str, recipe: Recipe, generator: torch.Generator) -> Iterator[tuple[str, str]]:
    """Prompt and answer of each training word; where labels are shuffled, the answer is another word's."""
    words = WordPool().split()[0]
    answered = words
    if recipe.labels == "shuffled":
        order = torch.randperm(len(words), generator=generator).tolist()
        successor = dict(zip(order, order[1:] + order[:1], strict=True))  # one cycle: none keeps its own
        answered = tuple(words[successor[i]] for i in range(len(words)))
    for word, other in zip(words, answered, strict=True):
        yield prompt_for(task, word), answer_for(task, other)


def _descend(
    weights: Weights, ids_bt: Tensor, targets_bt: Tensor, optimizer: torch.optim.Optimizer, clip: float
) -> None:
    """One step down the mean loss of the targets that count."""
    loss = F.cross_entropy(forward(weights, ids_bt).flatten(0, 1), targets_bt.flatten(), ignore_index=IGNORED)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(weights.values(), clip)
    optimizer.step()
