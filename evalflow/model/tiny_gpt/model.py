"""The embedded model as an experiment sees it. Building one loads no torch; `start` does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from rich.console import Console

from evalflow.errors import ModelError
from evalflow.model.protocol import Model
from evalflow.model.scorer import Encoded, Rows, Tokens, Window, same_length
from evalflow.model.tiny_gpt import vocabulary
from evalflow.model.tiny_gpt.checkpoint import listed_digest, path_of, weights_digest
from evalflow.model.tiny_gpt.recipe import RECIPES, CheckpointName, Recipe
from evalflow.model.tiny_gpt.shape import CONTEXT, LAYERS, SLOTS, WIDTH, parameter_count
from evalflow.record import Cache, Completion, Decoding, Request, digest

if TYPE_CHECKING:
    from evalflow.model.tiny_gpt.engine import Engine
    from evalflow.model.tiny_gpt.network import Weights
    from evalflow.model.tiny_gpt.scorer import TextScorer

Precision = Literal["float32", "float64", "bfloat16", "int8"]
BYTES: Mapping[Precision, int] = {"float32": 4, "float64": 8, "bfloat16": 2, "int8": 1}
ANSWERS: tuple[Precision, ...] = ("float32", "float64")
"""The types that it answers in; the others score texts alone."""


@dataclass
class TinyGPT(Model):
    """A character-level GPT that knows the string tasks. Its texts are the same at any concurrency, warm or cold.

    `checkpoint` names the recipe; `retrain` trains it again at the start instead of loading what ships. With `steps` of
    tuning in place of the recipe's own it is always trained here, so that all steps are of one training; `kept_in` is a
    folder where such checkpoints stay, and from which a longer training goes on.
    At most `max_batch` requests are computed at once, the others wait. Prompt prefixes are kept in whole blocks of
    48 tokens: prompts that share fewer share nothing. It scores texts in any `dtype`; it answers in float32, float64.
    """

    regimes: ClassVar[tuple[str, ...]] = ("cold", "isolated", "warm")
    concurrency_free: ClassVar[bool] = True

    checkpoint: CheckpointName = "long"
    retrain: bool = False
    max_batch: int = SLOTS
    threads: int = 1
    """Of the CPU."""
    dtype: Precision = "float32"
    steps: int | None = None
    kept_in: str | None = None

    def __post_init__(self) -> None:
        if self.checkpoint not in RECIPES:
            raise ValueError(f"checkpoint is {self.checkpoint!r}; give one of {', '.join(RECIPES)}")
        if not 1 <= self.max_batch <= SLOTS:
            raise ValueError(f"max_batch is {self.max_batch}; give 1 to {SLOTS}")
        if self.threads < 1:
            raise ValueError(f"threads is {self.threads}; give at least 1")
        if self.dtype not in get_args(Precision):
            raise ValueError(f"dtype is {self.dtype!r}; give one of {', '.join(get_args(Precision))}")
        if self.steps is not None and self.steps < 0:
            raise ValueError(f"steps is {self.steps}; give 0 or more, or null for the checkpoint's own")
        self._engine: Engine | None = None
        self._scorer: TextScorer | None = None
        self._cancelled = threading.Event()
        self._observed: dict[str, Any] = {}

    @property
    def trains(self) -> bool:
        """Whether `start` trains: on request, for `steps` of its own, or because the shipped file is missing."""
        return self.retrain or self.steps is not None or self._missing

    @property
    def recipe(self) -> Recipe:
        """What its weights are made by."""
        own = RECIPES[self.checkpoint]
        return own if self.steps is None else replace(own, steps=self.steps)

    @property
    def _missing(self) -> bool:
        return not path_of(self.checkpoint).exists()

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
            "recipe": asdict(self.recipe),
            "dtype": self.dtype,
            "threads": self.threads,
        }

    async def start(self) -> None:
        """Load the weights (train them where asked to, or where the file is missing) and start the engine.

        Raises:
            ModelError: the shipped checkpoint is damaged.
        """
        assert self._engine is None, "started twice"
        if self._missing and not self.retrain and self.steps is None:
            Console(stderr=True).print(
                f"{path_of(self.checkpoint)} is missing; training it again by its recipe", markup=False
            )
        import torch

        from evalflow.model.tiny_gpt.tile import Tile

        try:
            self._scorer, self._engine = await asyncio.to_thread(self._build)
        except asyncio.CancelledError:
            self._cancelled.set()  # a thread cannot be cancelled, but training asks after each step
            raise
        if self._engine is None:
            return
        self._observed["torch_threads"] = await self._engine.alone(lambda _: torch.get_num_threads())
        self._observed["slots_bit_equal"] = await self._engine.alone(Tile.slots_agree)

    async def prove(self, decoding: Decoding, cache: Cache) -> None:
        """Show that it can answer at all.

        Raises:
            ModelError: its dtype is one that it scores texts in, and no more.
        """
        if self._engine is None:
            said = f"tiny_gpt: in {self.dtype} it scores texts and answers nothing"
            raise ModelError(f"{said}; set model.dtype to {' or '.join(ANSWERS)}, or compose a scoring")

    async def complete(self, request: Request) -> Completion:
        """Answer one request, batched with whatever else is in flight.

        Raises:
            ModelError: the prompt is empty, too long or holds an unknown character, or the engine is broken.
        """
        assert self._engine is not None, "not started"
        return await self._engine.generate(request.prompt, request.decoding, request.seed, request.cache_salt)

    def scorer_facts(self) -> Mapping[str, Any]:
        """See `Scorer`; a character is a token, and none begins a text."""
        tokenizer = digest([vocabulary.CHARACTERS, vocabulary.END])
        return {
            "vocabulary": vocabulary.SIZE,
            "tokenizer": tokenizer,
            "bos": None,
            "adds_bos": False,
            "context": CONTEXT,
        }

    async def encode(self, text: str, item_id: str) -> Encoded:
        """The tokens of a text, one a character."""
        tokens = np.array(vocabulary.encode(text), dtype=np.int64)
        return Encoded(tokens, np.arange(len(tokens), dtype=np.int32))

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> list[Rows]:
        """Logits of windows of at most 96 tokens, those of one length together; see `Scorer`."""
        return await asyncio.to_thread(self._logits, windows, chunk)

    async def greedy(self, tokens: Tokens, count: int) -> Sequence[int]:
        """The likeliest continuation, as far as the context reaches; see `Scorer`."""
        return await asyncio.to_thread(self._greedy, tokens, count)

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
        if self._scorer is None:
            return {}
        engine = {} if self._engine is None else self._engine.facts()
        return {**engine, **self._observed}

    async def close(self) -> None:
        """Stop the engine; requests still in flight end with a ModelError."""
        self._scorer = None
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

        if self.steps is not None and self.kept_in is not None:
            from evalflow.model.tiny_gpt.kept import Kept

            return Kept(Path(self.kept_in)).weights(self.recipe, self._cancelled.is_set, fresh=self.retrain)
        if self.trains:
            from evalflow.model.tiny_gpt.train import train

            return train(self.recipe, self.checkpoint, self._cancelled.is_set)
        return {name: torch.from_numpy(array) for name, array in load(self.checkpoint).items()}

    def scorer(self, weights: Weights) -> TextScorer:
        """What scores texts; a planted fault overrides this and breaks it."""
        from evalflow.model.tiny_gpt.scorer import TextScorer

        return TextScorer(weights, self.dtype)

    def _logits(self, windows: Sequence[Window], chunk: int | None) -> list[Rows]:
        import torch

        from evalflow.model.tiny_gpt.pinned import torch_threads

        assert self._scorer is not None, "not started"
        rows: dict[int, Rows] = {}
        with torch_threads(self.threads), torch.inference_mode():
            for places in same_length(windows):
                ids_bt = torch.from_numpy(np.stack([windows[place].tokens for place in places]))
                logits_btv = self._scorer.logits(ids_bt, chunk).numpy()
                for place, logits_tv in zip(places, logits_btv, strict=True):
                    rows[place] = logits_tv[windows[place].first - 1 : -1]
        return [rows[place] for place in range(len(windows))]

    def _greedy(self, tokens: Tokens, count: int) -> list[int]:
        import torch

        from evalflow.model.tiny_gpt.pinned import torch_threads

        assert self._scorer is not None, "not started"
        with torch_threads(self.threads), torch.inference_mode():
            return self._scorer.greedy(tokens.tolist(), count)

    def _build(self) -> tuple[TextScorer, Engine | None]:
        import torch

        from evalflow.model.tiny_gpt.engine import Engine
        from evalflow.model.tiny_gpt.tile import Tile

        weights = self.weights()
        self._observed["weights_sha256"] = weights_digest({key: w.numpy() for key, w in weights.items()})
        scorer = self.scorer(weights)
        if self.dtype not in ANSWERS:
            return scorer, None
        dtype: torch.dtype = getattr(torch, self.dtype)
        tile = Tile({key: w.to(dtype) for key, w in weights.items()})
        return scorer, Engine(tile, self.max_batch, self.threads)
