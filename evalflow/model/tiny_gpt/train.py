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


@dataclass(frozen=True)
class Tuned:
    """Weights after `steps` of tuning, and all else that the next step goes on from.

    `means` and `squares` are AdamW's moments of each weight's gradient (empty before the first step), `drawing` the
    state of the generator that draws the batches.
    """

    steps: int
    weights: Weights
    means: Weights
    squares: Weights
    drawing: Tensor


def train(recipe: Recipe, name: str, stopped: Callable[[], bool] = lambda: False) -> Weights:
    """Weights made by `recipe`; a progress bar called `name` shows on stderr where that is a terminal.

    Raises:
        ModelError: `stopped`, which is asked after each step, said so.
    """
    return tuned(recipe, name, stopped).weights


def tuned(recipe: Recipe, name: str, stopped: Callable[[], bool] = lambda: False, start: Tuned | None = None) -> Tuned:
    """What `recipe` makes, as `train`. `start` is what the same recipe made in fewer steps: it gives the same bits.

    Raises:
        ModelError: as `train`.
    """
    console, begun = Console(stderr=True), 0 if start is None else start.steps
    assert begun <= recipe.steps, "a training does not go back"
    weights = init_weights(recipe.init_seed) if start is None else {k: w.clone() for k, w in start.weights.items()}
    for weight in weights.values():
        weight.requires_grad_()
    left = recipe.steps - begun + (recipe.pretrain_steps if start is None else 0)
    with torch_threads(1), Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(f"training tiny_gpt {name}", total=left)

        def advance() -> None:
            if stopped():
                raise ModelError(f"tiny_gpt: training {name} was stopped; start it again")
            bar.advance(task)

        if start is None:
            pretrain(weights, recipe, advance)
        return tune(weights, recipe, advance, start)


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


def tune(weights: Weights, recipe: Recipe, advance: Callable[[], object], start: Tuned | None = None) -> Tuned:
    """Learn to answer the training words' prompts, loss on the answers only; changes `weights` in place.

    They are those of `start`, where the tuning goes on from there.
    """
    generator = torch.Generator().manual_seed(recipe.tuning_seed)
    lesson = Lesson.of(recipe, generator)
    optimizer = torch.optim.AdamW(weights.values(), lr=recipe.tuning_rate, weight_decay=0.0)
    if start is not None:
        generator.set_state(start.drawing)
        optimizer.load_state_dict({**optimizer.state_dict(), "state": dict(enumerate(_moments(weights, start)))})
    for _ in range(0 if start is None else start.steps, recipe.steps):
        chosen_b = torch.randint(len(lesson.ids_nt), (recipe.batch,), generator=generator)
        _descend(weights, lesson.ids_nt[chosen_b], lesson.targets_nt[chosen_b], optimizer, recipe.clip)
        advance()
    moments = {name: optimizer.state[weight] for name, weight in weights.items() if weight in optimizer.state}
    return Tuned(
        steps=recipe.steps,
        weights={name: weight.detach() for name, weight in weights.items()},
        means={name: state["exp_avg"] for name, state in moments.items()},
        squares={name: state["exp_avg_sq"] for name, state in moments.items()},
        drawing=generator.get_state(),
    )


def _moments(weights: Weights, start: Tuned) -> Iterator[dict[str, Tensor]]:
    """What AdamW knows of each weight, in the order in which it has them; nothing before the first step."""
    for name in weights if start.steps else ():
        step = torch.tensor(float(start.steps))
        # it writes into what it is given
        yield {"step": step, "exp_avg": start.means[name].clone(), "exp_avg_sq": start.squares[name].clone()}


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
