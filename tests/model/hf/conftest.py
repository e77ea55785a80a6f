"""A tiny Llama with random weights and a byte-level tokeniser of its own, saved as a folder; no network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TEXT = "the cat sat on the mat, and the dog ran after the cat. What was that?\nA straße and an é for all of them."
TEMPLATE = (
    "{% for message in messages %}{% if message.role == 'system' and message.content == 'no' %}"
    "{{ raise_exception('no such thing') }}{% endif %}"
    "<s>{{ message.role }}: {{ message.content }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant:{% endif %}"
)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder: 2 layers, width 32, context 64; its tokeniser puts `<s>` before a text, and has no template."""
    pytest.importorskip("transformers")
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = tmp_path_factory.mktemp("hf") / "tiny"
    reader = Tokenizer(models.BPE())
    reader.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    reader.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=["<s>", "</s>"],
        show_progress=False,
    )
    reader.train_from_iterator([TEXT] * 3, trainer)
    reader.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=reader, bos_token="<s>", eos_token="</s>")
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=1,
    )
    state = torch.random.get_rng_state()
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(5)
        LlamaForCausalLM(config).save_pretrained(folder)
    assert torch.equal(state, torch.random.get_rng_state())
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def copy(tiny: Path, tmp_path: Path) -> Path:
    """A copy of the folder, to be changed."""
    return Path(shutil.copytree(tiny, tmp_path / "copy"))


@pytest.fixture
def chatty(copy: Path) -> Path:
    """A copy with a chat template, which refuses the system message `no`."""
    (copy / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    return copy


@pytest.fixture
def edit() -> Callable[..., None]:
    """Change keys of a JSON file."""

    def changed(path: Path, **keys: Any) -> None:
        path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **keys}), encoding="utf-8")

    return changed
