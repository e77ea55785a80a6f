"""The embedded model as an experiment sees it. Building one loads no torch; `start` does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from rich.console import Console

from evalflow.model.protocol import Model
from evalflow.model.tiny_gpt.checkpoint import listed_digest, path_of, weights_digest
from evalflow.model.tiny_gpt.recipe import RECIPES, CheckpointName
from evalflow.model.tiny_gpt.shape import LAYERS, SLOTS, WIDTH, parameter_count
from evalflow.record import Completion, Request

if TYPE_CHECKING:
    from evalflow.model.tiny_gpt.engine import Engine
    from evalflow.model.tiny_gpt.network import Weights

Precision = Literal["float32", "float64"]
BYTES: Mapping[Precision, int] = {"float32": 4, "float64": 8}


@dataclass
class TinyGPT(Model):
    """A character-level GPT that knows the string tasks. Its texts are the same at any concurrency, warm or cold.

    `checkpoint` names the recipe; `retrain` trains it again at the start instead of loading what ships.
    At most `max_batch` requests are computed at once, the others wait. Prompt prefixes are kept in whole blocks of
    48 tokens: prompts that share fewer share nothing.
    """

    regimes: ClassVar[tuple[str, ...]] = ("cold", "isolated", "warm")
    concurrency_free: ClassVar[bool] = True

    checkpoint: CheckpointName = "long"
    retrain: bool = False
    max_batch: int = SLOTS
    threads: int = 1
    dtype: Precision = "float32"

    def __post_init__(self) -> None:
        if self.checkpoint not in RECIPES:
            raise ValueError(f"checkpoint is {self.checkpoint!r}; give one of {', '.join(RECIPES)}")
        if not 1 <= self.max_batch <= SLOTS:
            raise ValueError(f"max_batch is {self.max_batch}; give 1 to {SLOTS}")
        if self.threads < 1:
            raise ValueError(f"threads is {self.threads}; give at least 1")
        if self.dtype not in get_args(Precision):
            raise ValueError(f"dtype is {self.dtype!r}; give one of {', '.join(get_args(Precision))}")
        self._engine: Engine | None = None
        self._cancelled = threading.Event()
        self._observed: dict[str, Any] = {}

    @property
    def trains(self) -> bool:
        """Whether `start` trains: on request, or because the shipped file is missing."""
        return self.retrain or not path_of(self.checkpoint).exists()

    def identity(self) -> Mapping[str, Any]:
        """What decides the texts. Weights that are yet to be trained have no digest here, but one in `facts`.

        Raises:
            ModelError: the index of shipped checkpoints cannot be read.
        """
        return {
            "model": "tiny_gpt",
            "checkpoint": self.checkpoint,
            "weights": None if self.trains else listed_digest(self.checkpoint),
            "retrained": self.trains,
            "recipe": asdict(RECIPES[self.checkpoint]),
            "dtype": self.dtype,
            "threads": self.threads,
        }

    async def start(self) -> None:
        """Load the weights (train them where asked to, or where the file is missing) and start the engine.

        Raises:
            ModelError: the shipped checkpoint is damaged.
        """
        assert self._engine is None, "started twice"
        if self.trains and not self.retrain:
            Console(stderr=True).print(
                f"{path_of(self.checkpoint)} is missing; training it again by its recipe", markup=False
            )
        import torch

        from evalflow.model.tiny_gpt.tile import Tile

        try:
            self._engine = await asyncio.to_thread(self._build)
        except asyncio.CancelledError:
            self._cancelled.set()  # a thread cannot be cancelled, but training asks after each step
            raise
        self._observed["torch_threads"] = await self._engine.alone(lambda _: torch.get_num_threads())
        self._observed["slots_bit_equal"] = await self._engine.alone(Tile.slots_agree)

    async def complete(self, request: Request) -> Completion:
        """Answer one request, batched with whatever else is in flight.

        Raises:
            ModelError: the prompt is empty, too long or holds an unknown character, or the engine is broken.
        """
        assert self._engine is not None, "not started"
        return await self._engine.generate(request.prompt, request.decoding, request.seed, request.cache_salt)

    async def measure(self, probe: str) -> Sequence[Mapping[str, float]] | None:
        """`fixed_length`: s per repeat, run alone. `memory`: bytes, and what the key-value cache grows by."""
        if probe == "memory":
            size = BYTES[self.dtype]
            return [
                {
                    "param_bytes": parameter_count() * size,
                    "layers": LAYERS,
                    "kv_width": WIDTH,
                    "bytes_per_value": size,
                }
            ]
        if probe == "fixed_length":
            from evalflow.model.tiny_gpt.latency import fixed_length

            assert self._engine is not None, "not started"
            return await self._engine.alone(fixed_length)
        return None

    def facts(self) -> Mapping[str, Any]:
        """Batch sizes, steps, blocks of prefixes, threads, whether slots give equal bits here, the weights' digest."""
        if self._engine is None:
            return {}
        return {**self._engine.facts(), **self._observed}

    async def close(self) -> None:
        """Stop the engine; requests still in flight end with a ModelError."""
        if self._engine is not None:
            engine, self._engine = self._engine, None
            await engine.close()

    def weights(self) -> Weights:
        """The float32 weights, loaded or trained; a planted fault overrides this and damages them.

        Raises:
            ModelError: the shipped checkpoint is damaged.
        """
        import torch

        from evalflow.model.tiny_gpt.checkpoint import load

        if self.trains:
            from evalflow.model.tiny_gpt.train import train

            return train(RECIPES[self.checkpoint], self.checkpoint, self._cancelled.is_set)
        return {name: torch.from_numpy(array) for name, array in load(self.checkpoint).items()}

    def _build(self) -> Engine:
        import torch

        from evalflow.model.tiny_gpt.engine import Engine
        from evalflow.model.tiny_gpt.tile import Tile

        weights = self.weights()
        self._observed["weights_sha256"] = weights_digest({key: w.numpy() for key, w in weights.items()})
        dtype: torch.dtype = getattr(torch, self.dtype)
        tile = Tile({key: w.to(dtype) for key, w in weights.items()})
        return Engine(tile, self.max_batch, self.threads)
