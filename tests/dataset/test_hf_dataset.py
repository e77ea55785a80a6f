"""Items from a data set of Hugging Face's package: splits, columns, damage, and the package that is not there."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from evalflow.dataset.hf_dataset import HfDataset
from evalflow.dataset.protocol import collect
from tests.dataset.sources import refusal

ROWS = [{"id": "a", "input": "x", "target": "1"}, {"id": "b", "input": "y", "target": "2"}]


@pytest.fixture
def package() -> Any:
    """The package, where it is installed."""
    return pytest.importorskip("datasets")


@pytest.fixture
def two(package: Any, tmp_path: Path) -> str:
    """A folder of two splits, the second of one row."""
    splits = {"train": package.Dataset.from_list(ROWS), "test": package.Dataset.from_list(ROWS[:1])}
    package.DatasetDict(splits).save_to_disk(str(tmp_path / "two"))
    return str(tmp_path / "two")


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the line that installs it, and only when items are asked for."""
    monkeypatch.setitem(sys.modules, "datasets", None)
    said = f"{tmp_path}: it needs the package datasets; pip install 'evalflow[datasets]'"
    assert refusal(HfDataset(str(tmp_path))) == said


def test_settings_of_the_hub_need_the_hub() -> None:
    """A revision of a folder would be ignored in silence."""
    for key in ("subset", "revision"):
        with pytest.raises(ValueError, match=f"{key} is of a data set on the hub; set hub to true"):
            HfDataset("x", **{key: "main"})


def test_a_name_is_not_looked_up_unless_asked(package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no folder is refused without a question to the hub; with `hub` it is asked, at the given revision."""
    asked: list[Any] = []

    def load(*args: Any, **settings: Any) -> Any:
        asked.append((args, settings))
        return package.DatasetDict({"test": package.Dataset.from_list(ROWS)})

    monkeypatch.setattr(package, "load_dataset", load)
    said = "nobody/nothing: there is no such folder; give one, or set hub to true for a name on the hub"
    assert refusal(HfDataset("nobody/nothing")) == said
    assert not asked
    dataset = HfDataset("nobody/nothing", split="test", hub=True, subset="main", revision="v1")
    assert [item.id for item in collect(dataset)] == ["a", "b"]
    assert asked == [(("nobody/nothing", "main"), {"revision": "v1"})]


def test_a_hub_that_cannot_be_reached_is_one_line(package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package's own reason is kept."""

    def load(*args: Any, **settings: Any) -> Any:
        raise ConnectionError("no\nnetwork")

    monkeypatch.setattr(package, "load_dataset", load)
    said = "a/b: cannot be read (ConnectionError: no network); name a data set that is there"
    assert refusal(HfDataset("a/b", hub=True)) == said


def test_a_split_is_named_where_there_are_several(two: str) -> None:
    """One is never picked; those that there are are said."""
    assert [item.id for item in collect(HfDataset(two, split="test"))] == ["a"]
    assert refusal(HfDataset(two)) == f"{two}: no split is named; choose split from train, test"
    assert refusal(HfDataset(two, split="tests")) == f"{two}: no split 'tests'; choose split from train, test"


def test_a_split_of_a_folder_without_is_refused(package: Any, tmp_path: Path) -> None:
    """It would be taken for the one asked for."""
    path = str(tmp_path / "one")
    package.Dataset.from_list(ROWS).save_to_disk(path)
    assert len(collect(HfDataset(path))) == 2
    assert refusal(HfDataset(path, split="test")).startswith(f"{path}: it has no splits, and 'test' is asked for; ")


def test_examples_come_from_a_split_of_their_own(two: str) -> None:
    """An item of the test split is shown one of the training split, not its own answer."""
    dataset = HfDataset(two, split="test", few_shot=1, few_shot_path=two, few_shot_split="train")
    assert [item.prompt for item in collect(dataset)] == ["y\n2\n\nx"]


def test_columns_are_read_as_they_are_asked_for(package: Any, tmp_path: Path) -> None:
    """Bytes and NaN are refused by row and column; a column left out does no harm, a format saved with it neither."""
    path = str(tmp_path / "one")
    columns = {"input": ["x", "y"], "raw": [b"1", b"2"], "n": [1, 2], "score": [0.5, float("nan")]}
    package.Dataset.from_dict(columns).with_format("numpy").save_to_disk(path)
    assert refusal(HfDataset(path)).startswith(f"{path}: row 1: 'raw' holds bytes; ")
    few = ("input", "n", "score")
    assert "row 2: 'score' holds nan" in refusal(HfDataset(path, columns=few))
    found = [item.fields for item in collect(HfDataset(path, columns=few, nan_is_null=True))]
    assert found == [{"input": "x", "n": 1, "score": 0.5}, {"input": "y", "n": 2, "score": None}]
    said = f"{path}: no column 'm'; choose columns from input, raw, n, score"
    assert refusal(HfDataset(path, columns=("m",))) == said


@pytest.mark.parametrize("name", ["state.json", "dataset_info.json", "data-00000-of-00001.arrow"])
def test_a_damaged_folder_is_one_line(package: Any, tmp_path: Path, name: str) -> None:
    """Each of its files cut, emptied, gone or of another shape."""
    whole = tmp_path / "whole"
    package.Dataset.from_list(ROWS).save_to_disk(str(whole))
    raw = (whole / name).read_bytes()
    for number, content in enumerate((raw[: len(raw) // 2], b"", b"[1]", None)):
        path = tmp_path / f"hurt{number}"
        shutil.copytree(whole, path)
        (path / name).unlink()
        if content is not None:
            (path / name).write_bytes(content)
        assert refusal(HfDataset(str(path))).startswith(f"{path}: cannot be read (")


def test_a_folder_of_something_else_is_refused(package: Any, tmp_path: Path) -> None:
    """An empty one, say."""
    assert refusal(HfDataset(str(tmp_path))).startswith(f"{tmp_path}: cannot be read (FileNotFoundError: ")
