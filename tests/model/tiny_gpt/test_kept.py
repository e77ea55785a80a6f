"""Checkpoints that were trained here and are kept: the same bits as trained at once, and never somebody else's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from evalflow.errors import ModelError
from evalflow.model.tiny_gpt import kept as kept_module
from evalflow.model.tiny_gpt.kept import Kept
from evalflow.model.tiny_gpt.model import TinyGPT
from evalflow.model.tiny_gpt.recipe import Recipe
from evalflow.model.tiny_gpt.train import Tuned, train, tuned

BRIEF = Recipe(pretrain_steps=2, steps=5)


def never() -> bool:
    return False


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """From which step to which each training went."""
    told: list[tuple[int, int]] = []

    def watched(recipe: Recipe, name: str, stopped: Callable[[], bool], start: Tuned | None) -> Tuned:
        told.append((-1 if start is None else start.steps, recipe.steps))
        return tuned(recipe, name, stopped, start)

    monkeypatch.setattr(kept_module, "tuned", watched)
    return told


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_step_of_a_longer_training_is_the_shorter_training(tmp_path: Path, trained: list[tuple[int, int]]) -> None:
    """Nothing in a recipe depends on its length: gone on from step 0, then 2, step 5 has the bits of 5 at once."""
    kept = Kept(tmp_path)
    for steps in (0, 2, 5):
        recipe = replace(BRIEF, steps=steps)
        assert same(kept.weights(recipe, never), train(recipe, "at once"))
    assert trained == [(-1, 0), (0, 2), (2, 5)]


def test_what_is_kept_is_not_trained_again(tmp_path: Path, trained: list[tuple[int, int]]) -> None:
    """Neither the same step nor, in another order, one on the way; `fresh` trains from the start all the same."""
    kept = Kept(tmp_path / "deep" / "down")
    first = kept.weights(BRIEF, never)
    assert same(kept.weights(BRIEF, never), first)
    kept.weights(replace(BRIEF, steps=3), never)
    assert same(kept.weights(BRIEF, never, fresh=True), first)
    assert trained == [(-1, 5), (-1, 3), (-1, 5)]
    assert {path.suffix for path in (tmp_path / "deep" / "down").iterdir()} == {".safetensors"}


@pytest.mark.parametrize("other", [{"tuning_seed": 3}, {"pretrain_steps": 1}, {"labels": "shuffled"}])
def test_another_recipe_is_another_training(
    tmp_path: Path, trained: list[tuple[int, int]], other: dict[str, Any]
) -> None:
    """Only its number of steps may differ."""
    kept = Kept(tmp_path)
    kept.weights(BRIEF, never)
    kept.weights(replace(BRIEF, **other), never)
    assert [begun for begun, _ in trained] == [-1, -1]


def test_a_damaged_file_is_trained_again(
    tmp_path: Path, trained: list[tuple[int, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Cut short, or of another step: it says so, and the bits are those of before."""
    kept = Kept(tmp_path)
    first = kept.weights(BRIEF, never)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-7])
    assert same(kept.weights(BRIEF, never), first)
    assert "it cannot be read" in capsys.readouterr().err
    path.rename(path.with_name(path.name.replace("-5.", "-4.")))
    assert same(kept.weights(BRIEF, never), first)
    assert "it is not the checkpoint that was kept" in capsys.readouterr().err
    assert trained == [(-1, 5)] * 3


def test_a_folder_that_cannot_be_written_costs_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The weights are there; a line says that the next run trains again."""
    (tmp_path / "file").touch()
    assert same(Kept(tmp_path / "file").weights(BRIEF, never), train(BRIEF, "at once"))
    assert "the checkpoint cannot be kept" in capsys.readouterr().err


def test_a_training_that_is_stopped_keeps_nothing(tmp_path: Path) -> None:
    """What is half trained has no name."""
    with pytest.raises(ModelError, match="training to step 5 was stopped"):
        Kept(tmp_path).weights(BRIEF, lambda: True)
    assert list(tmp_path.iterdir()) == []


def test_a_model_of_some_steps_is_trained_here(tmp_path: Path) -> None:
    """Even of as many steps as what ships: all points of a curve are of one training."""
    model = TinyGPT("untrained", steps=2, kept_in=str(tmp_path))
    assert model.trains
    assert same(model.weights(), train(Recipe(pretrain_steps=0, steps=2), "at once"))
    assert len(list(tmp_path.iterdir())) == 1
    assert same(TinyGPT("untrained", steps=2).weights(), model.weights())
    assert len(list(tmp_path.iterdir())) == 1
