"""Checkpoints on disk: safetensors with recipe and digest inside, and an index of the digests beside them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from evalflow.errors import ModelError
from evalflow.model.tiny_gpt.recipe import RECIPES, CheckpointName, Recipe
from evalflow.model.tiny_gpt.shape import shapes

SHIPPED = Path(__file__).parent / "checkpoints"
INDEX = "checkpoints.json"
FORMAT = "tiny_gpt 1"

Arrays = Mapping[str, np.ndarray[Any, np.dtype[np.float32]]]


def weights_digest(arrays: Arrays) -> str:
    """SHA-256 (64 hex digits) of every weight's name, type, shape and bytes, in the order of names."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def path_of(name: CheckpointName, folder: Path = SHIPPED) -> Path:
    """Where the checkpoint lies, if it is there."""
    return folder / f"{name}.safetensors"


def save(name: CheckpointName, arrays: Arrays, folder: Path = SHIPPED) -> str:
    """Write a checkpoint and its line of the index; returns the digest of its weights."""
    digest = weights_digest(arrays)
    recipe = RECIPES[name]
    metadata = {"format": FORMAT, "recipe": _recipe_text(recipe), "sha256": digest}
    contiguous = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
    path_of(name, folder).write_bytes(to_bytes(contiguous, metadata))
    index_path = folder / INDEX
    entries = _read_index(folder) if index_path.exists() else {}
    index = {
        "format": FORMAT,
        "checkpoints": {**entries, name: {"sha256": digest, "recipe": asdict(recipe)}},
    }
    index_path.write_text(json.dumps(index, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return digest


def listed_digest(name: CheckpointName, folder: Path = SHIPPED) -> str:
    """The digest that the index gives for a checkpoint.

    Raises:
        ModelError: the index is missing, damaged, of another format, or lists no such checkpoint.
    """
    entry = _read_index(folder).get(name)
    sha256 = entry.get("sha256") if isinstance(entry, dict) else None
    if not isinstance(sha256, str):
        raise _damaged(folder / INDEX, f"lists no digest of {name!r}")
    return sha256


def load(name: CheckpointName, folder: Path = SHIPPED) -> Arrays:
    """The weights of a checkpoint, float32, proven to be those that the index lists and the recipe names.

    Raises:
        ModelError: the file is missing or is not exactly what was shipped.
    """
    path = path_of(name, folder)
    arrays, metadata = _read(path)
    if metadata.get("format") != FORMAT:
        raise _damaged(path, f"has format {metadata.get('format')!r}, not {FORMAT!r}")
    if metadata.get("recipe") != _recipe_text(RECIPES[name]):
        raise _damaged(path, f"was made by another recipe than {name!r} has now")
    if {key: array.shape for key, array in arrays.items()} != shapes():
        raise _damaged(path, "does not hold the weights of this network")
    if {array.dtype for array in arrays.values()} != {np.dtype(np.float32)}:
        raise _damaged(path, "holds weights that are not float32")
    digest = weights_digest(arrays)
    for where, expected in ((path, metadata.get("sha256")), (folder / INDEX, listed_digest(name, folder))):
        if digest != expected:
            raise _damaged(path, f"holds weights {digest[:12]}, but {where.name} says {str(expected)[:12]}")
    return arrays


def _read(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    try:
        with safe_open(path, framework="numpy") as file:
            return {key: file.get_tensor(key) for key in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (OSError, SafetensorError) as fault:
        raise _damaged(path, f"cannot be read ({fault})") from None


def _read_index(folder: Path) -> dict[str, Any]:
    path = folder / INDEX
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise _damaged(path, f"cannot be read ({fault})") from None
    entries = index.get("checkpoints") if isinstance(index, dict) and index.get("format") == FORMAT else None
    if not isinstance(entries, dict):
        raise _damaged(path, f"is not an index of format {FORMAT!r}")
    return entries


def _recipe_text(recipe: Recipe) -> str:
    return json.dumps(asdict(recipe), sort_keys=True)


def _damaged(path: Path, what: str) -> ModelError:
    return ModelError(f"{path}: {what}; reinstall evalflow, or set model.retrain=true to train again")
