"""The one file that knows transformers: a network and its tokeniser, loaded whole or not at all."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
import transformers
import transformers.modeling_gguf_pytorch_utils as gguf_reader
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from evalflow.errors import ModelError
from evalflow.model.hf.source import Source


@dataclass(frozen=True)
class Loaded:
    """What `load` gives: the network (an nn.Module on the CPU), its tokeniser, and facts of the loading."""

    network: Any
    tokenizer: Any
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Trust:
    """What a model's files may do: run code of their own, hold pickled weights (read without running any)."""

    remote_code: bool = False
    pickled: bool = False


def load(source: Source, dtype: torch.dtype, attention: str | None, trust: Trust) -> Loaded:
    """Read a model; nothing is fetched but for a source on the hub.

    `attention` None leaves the choice to transformers.

    Raises:
        ModelError: the files are damaged, incomplete, of no causal language model, or need what `trust` withholds.
    """
    with quiet(), read_once(source):
        try:
            return _load(source, dtype, attention, trust)
        except ModelError:
            raise
        except Exception as fault:
            raise ModelError(f"{source.name}: {_reason(fault, trust)}") from fault


def _load(source: Source, dtype: torch.dtype, attention: str | None, trust: Trust) -> Loaded:
    where, options = _address(source)
    options |= {"trust_remote_code": trust.remote_code}
    tokenizer = AutoTokenizer.from_pretrained(where, **options)
    config = AutoConfig.from_pretrained(where, **options)
    asked = {} if attention is None else {"attn_implementation": attention}
    if source.kind == "gguf" and hasattr(transformers, "GgufConfig"):
        asked["quantization_config"] = transformers.GgufConfig(dequantize=True)  # else a GPU would keep the blocks
    network, read = AutoModelForCausalLM.from_pretrained(
        where,
        config=config,
        dtype=dtype,
        use_safetensors=None if trust.pickled or source.kind == "gguf" else True,
        weights_only=True,
        output_loading_info=True,
        **asked,
        **options,
    )
    _check_whole(source, read)
    facts = {
        "transformers": transformers.__version__,
        "class": type(network).__name__,
        "attention": getattr(network.config, "_attn_implementation", None),
        "unused_weights": len(read.get("unexpected_keys", ())),
        "commit": getattr(network.config, "_commit_hash", None),
    }
    return Loaded(network.eval(), tokenizer, facts)


def _address(source: Source) -> tuple[str, dict[str, Any]]:
    """Where transformers is to look, and how."""
    if source.kind == "hub":
        return source.place, {"revision": source.revision}
    place = Path(source.place).absolute()
    if source.kind == "gguf":
        return str(place.parent), {"gguf_file": place.name, "local_files_only": True}
    return str(place), {"local_files_only": True}


def _check_whole(source: Source, read: Mapping[str, Any]) -> None:
    """Refuse weights that were made up because the files do not hold them."""
    for key, what in (("missing_keys", "not in its files"), ("mismatched_keys", "of another shape than its config's")):
        names = sorted(str(name) for name in read.get(key, ()))
        if names:
            said = f"{len(names)} of its weights are {what} ({names[0]}, ...)"
            raise ModelError(f"{source.name}: {said}; fetch or save it again")


def _reason(fault: Exception, trust: Trust) -> str:
    said = " ".join(str(fault).split())
    if not trust.remote_code and "trust_remote_code" in said:
        return "it needs code of its own; read that code, then set model.trust_remote_code=true to run it"
    short = said if len(said) <= 300 else f"{said[:300]}..."
    return f"it cannot be loaded ({type(fault).__name__}: {short}); fetch or save it again"


@contextmanager
def read_once(source: Source) -> Iterator[None]:
    """Let a GGUF file be parsed once: transformers reads it anew for tokeniser, config and weights, and names its
    tensors anew for every module, which takes most of the time that loading a small model takes."""
    if source.kind != "gguf":
        yield
        return
    gguf: Any = importlib.import_module("gguf")
    reader, names = gguf.GGUFReader, gguf.get_tensor_name_map
    gguf.GGUFReader, gguf.get_tensor_name_map = lru_cache(1)(reader), lru_cache(1)(names)
    try:
        yield
    finally:
        gguf.GGUFReader, gguf.get_tensor_name_map = reader, names


@contextmanager
def quiet() -> Iterator[None]:
    """No reports and progress bars of transformers on the console; afterwards as it was."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    bar = gguf_reader.tqdm  # its own, which asks nobody
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    gguf_reader.tqdm = partial(bar, disable=True)
    try:
        yield
    finally:
        gguf_reader.tqdm = bar
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
