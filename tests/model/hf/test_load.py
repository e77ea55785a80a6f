"""A model is loaded whole, quietly and without running what comes with it, or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evalflow.errors import ModelError
from evalflow.model.hf.model import HF
from tests.model.hf.by_hand import logits_of, started, window


async def nothing(model: HF) -> None:
    """Only the start is of interest."""


def test_a_load_says_nothing_on_the_console(tiny: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No bars, no reports; and what transformers would have said before, it says afterwards."""
    pytest.importorskip("transformers")
    from transformers.utils import logging

    before = logging.get_verbosity()
    started(HF(str(tiny)), nothing)
    assert capfd.readouterr() == ("", "")
    assert logging.get_verbosity() == before


def test_weights_that_the_files_lack_are_not_made_up(copy: Path) -> None:
    """transformers would fill them with noise; here the model is refused, and one of them named."""
    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=r"1 of its weights are not in its files \(model.layers.1.mlp.up_proj.weight"):
        started(HF(str(copy)), nothing)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_damaged_file_is_one_clear_line(copy: Path, name: str) -> None:
    """Whatever the library under it raises."""
    (copy / name).write_bytes((copy / name).read_bytes()[:100])
    with pytest.raises(ModelError, match=r"^copy: it cannot be loaded .*; fetch or save it again$") as refused:
        started(HF(str(copy)), nothing)
    assert "\n" not in str(refused.value)


def test_a_shape_that_is_not_the_configs_is_refused(copy: Path, edit: Callable[..., None]) -> None:
    """A config that belongs to other weights."""
    edit(copy / "config.json", intermediate_size=96)
    with pytest.raises(ModelError, match="fetch or save it again"):
        started(HF(str(copy)), nothing)


def test_weights_that_are_no_numbers_are_found_at_the_start(copy: Path) -> None:
    """One NaN is in every logit."""
    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "model.safetensors")
    weights["model.norm.weight"][0] = float("nan")
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match="its logits are not finite; its weights are damaged"):
        started(HF(str(copy)), nothing)


def test_pickled_weights_are_read_only_where_allowed(copy: Path, tiny: Path) -> None:
    """And then without running anything: a pickle that would is refused."""
    import torch
    from safetensors.torch import load_file

    weights = load_file(copy / "model.safetensors")
    (copy / "model.safetensors").unlink()
    torch.save(weights, copy / "pytorch_model.bin")
    with pytest.raises(
        ModelError, match=r"holds pickled weights alone; save them as \.safetensors, or set model\.pickled"
    ):
        started(HF(str(copy)), nothing)
    (rows,) = logits_of(HF(str(copy), pickled=True), [window([0, 5, 9])])
    assert (rows == logits_of(HF(str(tiny)), [window([0, 5, 9])])[0]).all()
    marker = copy / "ran"
    torch.save({"x": _Runs(marker)}, copy / "pytorch_model.bin")
    with pytest.raises(ModelError, match="Weights only load failed"):
        started(HF(str(copy), pickled=True), nothing)
    assert not marker.exists()


def test_code_that_comes_with_a_model_runs_only_where_told(
    copy: Path, edit: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model type that transformers does not know, with a file of its own that says so."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    marker = copy / "ran"
    mapped = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"}
    edit(copy / "config.json", model_type="own", auto_map=mapped, architectures=["OwnModel"])
    (copy / "own.py").write_text(OWN.format(marker=str(marker)), encoding="utf-8")
    with pytest.raises(ModelError, match=r"it needs code of its own; read that code, then set model\.trust_remote"):
        started(HF(str(copy)), nothing)
    assert not marker.exists()
    started(HF(str(copy), trust_remote_code=True), nothing)
    assert marker.exists()


OWN = """
import pathlib
from transformers import LlamaConfig, LlamaForCausalLM
pathlib.Path({marker!r}).touch()
class OwnConfig(LlamaConfig):
    model_type = "own"
class OwnModel(LlamaForCausalLM):
    config_class = OwnConfig
"""


def test_a_model_that_looks_ahead_is_refused(tmp_path: Path, tiny: Path) -> None:
    """A network for filling gaps can be loaded as a causal one, and would score texts that it has seen."""
    pytest.importorskip("transformers")
    from transformers import BertConfig, BertLMHeadModel

    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    folder = tmp_path / "bert"
    config = BertConfig(vocab_size=300, max_position_embeddings=64, initializer_range=0.3, **shape)
    BertLMHeadModel(config).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny / name, folder / name)
    with pytest.raises(ModelError, match="its logits depend on later tokens; name a causal language model"):
        started(HF(str(folder)), nothing)


def test_what_it_was_loaded_as_is_told(tiny: Path) -> None:
    """The class, the attention that it computes with, and how many weights of its files nobody used."""
    model = HF(str(tiny), attention="eager")
    started(model, nothing)
    told = model.facts()
    assert (told["class"], told["attention"], told["unused_weights"]) == ("LlamaForCausalLM", "eager", 0)
    assert (told["parameters"], told["context"], told["vocabulary"], told["end_tokens"]) == (37792, 64, 300, [1])
    assert (told["cache_by_token"], told["cache_by_chunk"]) == (True, True)
    json.dumps(told)


class _Runs:
    """Unpickled, it would touch a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.marker,)
