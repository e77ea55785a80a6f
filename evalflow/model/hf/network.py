"""A loaded network as one thread uses it: logits of windows, greedy tokens, a text read on token by token.

Letters of shapes: B windows of one length, T tokens, N scored rows, V vocabulary.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from evalflow.errors import ModelError
from evalflow.model.scorer import Rows, Tokens, Window, same_length

CACHES = ("cache", "past_key_values", "cache_params")
"""What versions and kinds of networks call the keys and values of what came before."""
HALVES = (torch.bfloat16, torch.float16)
FEW = 7
"""Tokens that a network is tried out on."""


class Network:
    """For one thread at a time. `context` is the longest window (tokens), None where it has no end.

    No window is ever padded, so none can see or score a token that is not its own: windows of one length are computed
    together, at most `max_batch` of them, others apart. The last token of a window is not read, for nothing after it
    is scored.
    """

    def __init__(self, module: Any, name: str, context: int | None, max_batch: int) -> None:
        self.module, self.name, self.context = module, name, context
        self._max_batch = max_batch
        self._whole: Callable[..., Any] = module.forward
        parameters = inspect.signature(module.forward).parameters
        self._cache_word = next((word for word in CACHES if word in parameters), None)
        self._keeps = "logits_to_keep" in parameters
        first = next(module.parameters())
        self.device: torch.device = first.device
        self.known = int(module.get_input_embeddings().weight.shape[0])
        self.width = 0  # of its logits; that, and what its cache can do, is found by `prove`
        self.proof: Mapping[str, bool] = {}

    def compile(self) -> None:
        """Have torch compile what computes whole windows; with a cache, whose shapes never settle, nothing changes."""
        self._whole = torch.compile(self.module.forward, dynamic=True)

    @torch.inference_mode()
    def try_out(self) -> Tensor:
        """The logits (1, T, V) of a few tokens, which tell how wide they are.

        Raises:
            ModelError: they are not finite.
        """
        rows_btv = self._rows(self._few(), FEW, None)
        if not bool(torch.isfinite(rows_btv).all()):
            raise self._not_finite()
        self.width = int(rows_btv.shape[-1])
        return rows_btv

    @torch.inference_mode()
    def prove(self) -> None:
        """Find out on a few tokens whether its cache holds what it should; float layers only, for int8's own noise is
        as large as what this looks for.

        Raises:
            ModelError: what it says of a token depends on those after it, or its logits are not finite.
        """
        ids_bt, whole_btv = self._few(), self.try_out()
        other_btv = self._rows(torch.cat([ids_bt[:, :-1], ids_bt[:, :1]], 1), FEW, None)
        if not _alike(whole_btv[:, :-1], other_btv[:, :-1]):
            raise ModelError(f"{self.name}: its logits depend on later tokens; name a causal language model")
        by_token, by_chunk = (self._agrees(ids_bt, chunk, whole_btv) for chunk in (1, 3))
        self.proof = {"cache_by_token": by_token, "cache_by_chunk": by_chunk}

    @torch.inference_mode()
    def logits(self, windows: Sequence[Window], chunk: int | None) -> list[Rows]:
        """For each window the logits (N, V) of its targets: float32 or float64 arrays from a CPU (narrower ones are
        read as float32), else tensors as they lie on the device.

        Raises:
            ModelError: a window is too long or holds an unknown token, or there is no cache to compute chunks with.
        """
        for window in windows:
            self._check(window.tokens, f"item {window.item_id!r}: its window", "lower scoring.window")
        if chunk is not None and not self.proof["cache_by_token" if chunk == 1 else "cache_by_chunk"]:
            raise ModelError(
                f"{self.name}: what it computes with its cache is not what it computes without; use path whole"
            )
        rows: list[Rows] = [None] * len(windows)
        for places in same_length(windows):
            for begin in range(0, len(places), self._max_batch):
                batch = places[begin : begin + self._max_batch]
                together = self._together([windows[place] for place in batch], chunk)
                for place, rows_nv in zip(batch, together, strict=True):
                    rows[place] = rows_nv
        return rows

    @torch.inference_mode()
    def greedy(self, tokens: Tokens, count: int) -> list[int]:
        """The `count` likeliest tokens after these, as far as the context reaches; of equals the lowest.

        Raises:
            ModelError: they are too many or none, one is unknown, or the logits are not finite.
        """
        room = count if self.context is None else min(count, self.context + 1 - len(tokens))
        reading = self.read(tokens)
        written: list[int] = []
        given: Sequence[int] = [int(token) for token in tokens]
        for _ in range(room):
            logits_v = reading.feed(given)
            best = int(logits_v.argmax())
            if not np.isfinite(logits_v[best]):
                raise self._not_finite()
            written.append(best)
            given = [best]
        return written

    def read(self, tokens: Tokens | Sequence[int]) -> Reading:
        """A text that begins with these tokens, to be fed to it and read on.

        Raises:
            ModelError: they are too many or none, or one is unknown.
        """
        self._check(np.asarray(tokens, dtype=np.int64), "the prompt", "give a shorter one")
        return Reading(self)

    def advance(self, ids_bt: Tensor, n_rows: int, cache: Any, use_cache: bool) -> tuple[Tensor, Any]:
        """Logits (B, n_rows, V) of the last positions of these tokens, which follow what `cache` holds; the cache
        with them in it, None where there is none."""
        asked: dict[str, Any] = {"input_ids": ids_bt, "use_cache": use_cache}
        if self._keeps:
            asked["logits_to_keep"] = n_rows
        if self._cache_word is not None and cache is not None:
            asked[self._cache_word] = cache
        out = (self.module.forward if use_cache else self._whole)(**asked)
        after = next((out[word] for word in CACHES if word in out), None) if use_cache else None
        return out.logits[:, -n_rows:], after

    @property
    def cached(self) -> bool:
        """Whether a text can be read on token by token."""
        return bool(self.proof["cache_by_token"])

    def memory(self) -> Mapping[str, float]:
        """Bytes of its parameters; its layers with keys and values, their mean width, and the bytes of each value."""
        kept = {id(part): part for part in (*self.module.parameters(), *_whole_numbers(self.module))}
        told = {"param_bytes": float(sum(part.numel() * part.element_size() for part in kept.values()))}
        return {**told, **self._key_values()}

    @torch.inference_mode()
    def _key_values(self) -> Mapping[str, float]:
        _, cache = self.advance(torch.ones(1, 2, dtype=torch.int64, device=self.device), 1, None, True)
        pairs = [(layer.keys, layer.values) for layer in getattr(cache, "layers", ()) if _is_tensor(layer)]
        if not pairs:
            return {"layers": 0.0, "kv_width": 0.0, "bytes_per_value": 0.0}
        widths = [(keys[0].numel() + values[0].numel()) / keys.shape[2] / 2 for keys, values in pairs]
        size = pairs[0][0].element_size()
        return {"layers": len(pairs), "kv_width": sum(widths) / len(widths), "bytes_per_value": size}

    def _together(self, windows: Sequence[Window], chunk: int | None) -> list[Rows]:
        """The rows of windows of one length."""
        ids_bt = torch.from_numpy(np.stack([window.tokens[:-1] for window in windows])).to(self.device)
        n_rows = max(len(window.targets) for window in windows)
        if n_rows == 0:
            return [np.empty((0, self.width), dtype=np.float32) for _ in windows]
        rows_bnv = self._rows(ids_bt, n_rows, chunk)
        if self.device.type != "cpu":
            return [rows_nv[n_rows - len(w.targets) :] for w, rows_nv in zip(windows, rows_bnv, strict=True)]
        wide_bnv = (rows_bnv.float() if rows_bnv.dtype in HALVES else rows_bnv).numpy()
        return [rows_nv[n_rows - len(w.targets) :] for w, rows_nv in zip(windows, wide_bnv, strict=True)]

    def _rows(self, ids_bt: Tensor, n_rows: int, chunk: int | None) -> Tensor:
        """Logits (B, n_rows, V) of the last positions, computed at once or `chunk` tokens at a time."""
        length = ids_bt.shape[1]
        kept, cache = [], None
        for start in range(0, length, chunk or length):
            part_bt = ids_bt[:, start : start + (chunk or length)]
            end = start + part_bt.shape[1]
            wanted = min(part_bt.shape[1], n_rows - (length - end))
            logits_bnv, cache = self.advance(part_bt, max(wanted, 1), cache, chunk is not None)
            if wanted > 0:
                kept.append(logits_bnv)
        return torch.cat(kept, 1) if len(kept) > 1 else kept[0]

    def _agrees(self, ids_bt: Tensor, chunk: int, whole_btv: Tensor) -> bool:
        """Whether its cache holds what it should: chunks then give what the whole gives, but for rounding."""
        if self._cache_word is None:
            return False
        try:
            return _alike(self._rows(ids_bt, whole_btv.shape[1], chunk), whole_btv)
        except Exception:  # noqa: BLE001 - a network that cannot go on from its cache may fail in any way
            return False

    def _few(self) -> Tensor:
        return torch.arange(1, FEW + 1, device=self.device)[None] % self.known

    def _not_finite(self) -> ModelError:
        return ModelError(f"{self.name}: its logits are not finite; its weights are damaged, or its dtype too narrow")

    def _check(self, tokens: Tokens, what: str, todo: str) -> None:
        if self.context is not None and len(tokens) > self.context:
            said = f"{what} of {len(tokens)} tokens is longer than its context of {self.context}"
            raise ModelError(f"{self.name}: {said}; {todo}")
        if len(tokens) == 0:
            raise ModelError(f"{self.name}: {what} has no token; give a text")
        if not 0 <= int(tokens.min()) <= int(tokens.max()) < self.known:
            raise ModelError(f"{self.name}: {what} holds a token beyond its {self.known}; use its own tokeniser")


class Reading:
    """One text as it is read on; a network without a sound cache reads it from the start each time."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._cache: Any = None
        self._tokens: list[int] = []

    @torch.inference_mode()
    def feed(self, tokens: Sequence[int]) -> np.ndarray[Any, np.dtype[np.floating[Any]]]:
        """The logits (V,) of what follows, once these are read too; narrow ones as float32."""
        network = self._network
        self._tokens += tokens
        given = list(tokens) if network.cached else self._tokens
        ids_bt = torch.tensor([given], device=network.device)
        logits_bnv, self._cache = network.advance(ids_bt, 1, self._cache, network.cached)
        logits_v = logits_bnv[0, -1]
        wide_v = logits_v.float() if logits_v.dtype in HALVES else logits_v
        return np.asarray(wide_v.cpu().numpy())


def _alike(one: Tensor, other: Tensor) -> bool:
    """Equal but for rounding: the mean square of what differs is small beside that of the logits themselves."""
    wide, differs = one.float(), one.float() - other.float()
    share = 0.1 if one.dtype in HALVES else 0.001
    return bool(differs.square().mean().sqrt() <= share * wide.square().mean().sqrt())


def _is_tensor(layer: Any) -> bool:
    return isinstance(getattr(layer, "keys", None), Tensor) and layer.keys.dim() == 4


def _whole_numbers(module: nn.Module) -> list[Tensor]:
    """What quantised layers hold in place of their weights."""
    return [part for layer in module.modules() for part in getattr(layer, "quantised", ())]
