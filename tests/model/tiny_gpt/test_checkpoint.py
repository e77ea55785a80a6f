"""The checkpoints of tiny_gpt on disk."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from evalflow.errors import ModelError
from evalflow.model.tiny_gpt.checkpoint import INDEX, SHIPPED, listed_digest, load, path_of, save, weights_digest
from evalflow.model.tiny_gpt.recipe import RECIPES
from evalflow.model.tiny_gpt.shape import shapes


def zeros() -> dict[str, np.ndarray]:
    """Weights of the right shapes."""
    return {name: np.zeros(shape, dtype=np.float32) for name, shape in shapes().items()}


@pytest.mark.parametrize("name", RECIPES)
def test_what_ships_is_what_the_index_lists(name: Any) -> None:
    """File, its metadata and the index agree on digest and recipe, and the recipe is the one of that name."""
    assert weights_digest(load(name)) == listed_digest(name)
    with safe_open(path_of(name), framework="numpy") as file:
        metadata = file.metadata()
    entry = json.loads((SHIPPED / INDEX).read_text())["checkpoints"][name]
    assert metadata["sha256"] == entry["sha256"]
    assert json.loads(metadata["recipe"]) == entry["recipe"]
    assert path_of(name).stat().st_size < 470_000


def test_the_digest_sees_a_bit_a_name_and_a_shape() -> None:
    """Any change of the weights changes the digest; the order of the names does not."""
    weights = zeros()
    changed, renamed, reshaped = (dict(weights) for _ in range(3))
    changed["head"] = weights["head"].copy()
    changed["head"][3, 3] = -0.0
    renamed["foot"] = renamed.pop("head")
    reshaped["head"] = weights["head"].T
    digests = {weights_digest(each) for each in (weights, changed, renamed, reshaped)}
    assert len(digests) == 4
    assert weights_digest(dict(reversed(weights.items()))) == weights_digest(weights)


def test_saved_weights_come_back(tmp_path: Path) -> None:
    """What was saved is loaded, and a second checkpoint keeps the first one's line of the index."""
    weights = {name: array + 1.5 for name, array in zeros().items()}
    first = save("long", weights, tmp_path)
    save("short", zeros(), tmp_path)
    assert listed_digest("long", tmp_path) == first == weights_digest(weights)
    loaded = load("long", tmp_path)
    assert all(np.array_equal(loaded[name], weights[name]) for name in weights)


def rewrite(folder: Path, change: Callable[[dict[str, np.ndarray], dict[str, str]], None]) -> None:
    """Write the file of `long` again after a change of its weights or metadata."""
    with safe_open(folder / "long.safetensors", framework="numpy") as file:
        metadata = file.metadata()
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (it is no mapping)
    change(arrays, metadata)
    save_file(arrays, folder / "long.safetensors", metadata)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays, _: arrays["head"].__iadd__(1e-7), "long.safetensors says"),
        (lambda arrays, _: arrays.pop("head"), "does not hold the weights"),
        (lambda arrays, _: arrays.update(head=arrays["head"].T.copy()), "does not hold the weights"),
        (lambda arrays, _: arrays.update(head=arrays["head"].astype(np.float64)), "not float32"),
        (lambda _, metadata: metadata.update(format="tiny_gpt 9"), "has format 'tiny_gpt 9'"),
        (lambda _, metadata: metadata.update(recipe="{}"), "another recipe"),
    ],
)
def test_a_changed_file_is_refused(tmp_path: Path, change: Any, message: str) -> None:
    """A bit, a weight, a shape, a type, the format or the recipe: an error that says which, and what to do."""
    shutil.copytree(SHIPPED, tmp_path, dirs_exist_ok=True)
    rewrite(tmp_path, change)
    with pytest.raises(ModelError, match=f"{message}.*retrain=true"):
        load("long", tmp_path)


def test_a_file_that_the_index_does_not_mean_is_refused(tmp_path: Path) -> None:
    """A file that is sound in itself but not the listed one is refused."""
    save("long", zeros(), tmp_path)
    shutil.copy(path_of("long"), tmp_path)
    with pytest.raises(ModelError, match=r"checkpoints\.json says"):
        load("long", tmp_path)


@pytest.mark.parametrize("text", [None, "{", "[]", '{"format": "other"}', '{"format": "tiny_gpt 1"}'])
def test_a_damaged_index_is_refused(tmp_path: Path, text: str | None) -> None:
    """An index that is missing, no JSON or of another format is an error."""
    if text is not None:
        (tmp_path / INDEX).write_text(text)
    with pytest.raises(ModelError, match=r"checkpoints\.json"):
        listed_digest("long", tmp_path)


def test_a_checkpoint_that_is_not_listed_is_refused(tmp_path: Path) -> None:
    """The index must list what is asked for."""
    save("long", zeros(), tmp_path)
    with pytest.raises(ModelError, match="no digest of 'short'"):
        listed_digest("short", tmp_path)


@pytest.mark.parametrize("content", [None, b"", b"not safetensors at all"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """Missing, empty or another kind of file: an error that names it."""
    if content is not None:
        (tmp_path / "long.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match=r"long\.safetensors: cannot be read"):
        load("long", tmp_path)
