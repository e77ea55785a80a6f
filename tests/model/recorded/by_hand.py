"""Recordings made without the code that reads them, and windows to ask them for."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np

from evalflow.model.scorer import Window

TOKENS = [3, 1, 4, 1, 5, 9, 2, 6]


def logits_of(n_tokens: int, width: int = 10, seed: int = 0) -> np.ndarray:
    """Rows (n_tokens, width) of float32, one after each token."""
    return np.random.default_rng(seed).standard_normal((n_tokens, width)).astype(np.float32)


def window(item_id: str, tokens: list[int], first: int = 1, position: int | None = None, bos: bool = False) -> Window:
    """A window; it scores from the text's token `first` on, unless `position` says another."""
    place = first if position is None else position
    return Window(item_id, np.array(tokens, dtype=np.int64), first, place, bos)


def base_bytes(tokens: list[list[int]], n_vocab: int, rows: list[list[tuple[float, float, list[int]]]]) -> bytes:
    """A base file, entry by entry: of each chunk its tokens, and for each row scale, least and units."""
    whole = b"_logits_" + struct.pack("<iii", len(tokens[0]), n_vocab, len(tokens))
    for chunk in tokens:
        whole += struct.pack(f"<{len(chunk)}i", *chunk)
    for chunk_rows in rows:
        for scale, least, units in chunk_rows:
            padded = [*units, *([0] if n_vocab % 2 else [])]
            whole += struct.pack(f"<ff{len(padded)}H", scale, least, *padded)
    return whole


def save_bfloat16(path: Path, rows: np.ndarray, **arrays: np.ndarray) -> Path:
    """A safetensors file whose logits are bfloat16: the upper halves of float32; its bytes are written by hand."""
    upper = (np.ascontiguousarray(rows, dtype=np.float32).view(np.uint32) >> 16).astype("<u2")
    parts = {"logits": ("BF16", upper)} | {name: ("I64", np.asarray(a, dtype="<i8")) for name, a in arrays.items()}
    header, at = {}, 0
    for name, (kind, array) in parts.items():
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for _, array in parts.values()))
    return path
