"""Checkpoints of one training on this machine, kept between runs: a longer one goes on from the longest shorter one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from rich.console import Console
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from evalflow.model.tiny_gpt.checkpoint import weights_digest
from evalflow.model.tiny_gpt.network import Weights
from evalflow.model.tiny_gpt.recipe import Recipe
from evalflow.model.tiny_gpt.shape import shapes
from evalflow.model.tiny_gpt.train import Tuned, tuned
from evalflow.record import digest

FORMAT = "tiny_gpt training 1"
PARTS = ("weights", "means", "squares")
DRAWING = "drawing"


@dataclass(frozen=True)
class Kept:
    """A folder of checkpoints, a file for each training and number of steps. It may be removed at any time."""

    folder: Path

    def weights(self, recipe: Recipe, stopped: Callable[[], bool], fresh: bool = False) -> Weights:
        """Weights made by `recipe`, those that lie here if they were made by the same training; the others are kept.

        `fresh` trains from the start on, whatever lies here.

        Raises:
            ModelError: `stopped`, which is asked after each step, said so.
        """
        training = self._training(recipe)
        start = None if fresh else self._longest(training, recipe.steps)
        if start is None or start.steps < recipe.steps:
            start = tuned(recipe, f"to step {recipe.steps}", stopped, start)
            self._keep(training, start)
        return start.weights

    def _training(self, recipe: Recipe) -> str:
        """The training that a recipe is a part of, in hex: the recipe but for its steps, and what decides its bits."""
        made_by = {key: value for key, value in asdict(recipe).items() if key != "steps"}
        return digest([FORMAT, made_by, torch.__version__, torch.backends.cpu.get_cpu_capability()])[:16]

    def _longest(self, training: str, most: int) -> Tuned | None:
        """The longest whole checkpoint of a training that has at most so many steps."""
        named = re.compile(rf"{training}-(\d+)\.safetensors")
        found = (named.fullmatch(path.name) for path in self.folder.glob(f"{training}-*"))
        for steps in sorted((int(one[1]) for one in found if one is not None and int(one[1]) <= most), reverse=True):
            told = self._read(self._path(training, steps), steps)
            if told is not None:
                return told
        return None

    def _path(self, training: str, steps: int) -> Path:
        return self.folder / f"{training}-{steps}.safetensors"

    def _keep(self, training: str, made: Tuned) -> None:
        parts = {f"{part}/{name}": tensor for part in PARTS for name, tensor in getattr(made, part).items()}
        tensors = {key: tensor.contiguous() for key, tensor in {**parts, DRAWING: made.drawing}.items()}
        metadata = {"format": FORMAT, "steps": str(made.steps), "sha256": _digest(tensors)}
        path = self._path(training, made.steps)
        part = path.with_name(f".{path.name}.{os.getpid()}.part")  # jobs of a sweep may train the same at once
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            part.write_bytes(save(tensors, metadata))
            part.replace(path)
        except OSError as fault:
            _say(f"{path}: the checkpoint cannot be kept ({fault.strerror}); the next run trains it again")

    def _read(self, path: Path, steps: int) -> Tuned | None:
        """What lies in a file; None, and a word on standard error, where it is not what was kept."""
        try:
            with safe_open(path, framework="pt") as file:
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
                metadata = file.metadata() or {}
        except (OSError, SafetensorError) as fault:
            _say(f"{path}: it cannot be read ({fault}); training it again")
            return None
        if metadata != {"format": FORMAT, "steps": str(steps), "sha256": _digest(tensors)} or DRAWING not in tensors:
            _say(f"{path}: it is not the checkpoint that was kept; training it again")
            return None
        # in the order in which they were made: a norm over all of them has other bits in another
        weights, means, squares = (
            {name: tensors[f"{part}/{name}"] for name in shapes() if f"{part}/{name}" in tensors} for part in PARTS
        )
        return Tuned(steps, weights, means, squares, tensors[DRAWING])


def _digest(tensors: Mapping[str, Tensor]) -> str:
    return weights_digest({key: tensor.numpy() for key, tensor in tensors.items()})


def _say(told: str) -> None:
    Console(stderr=True).print(told, markup=False, soft_wrap=True)
