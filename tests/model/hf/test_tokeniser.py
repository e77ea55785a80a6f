"""Texts to tokens and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import ModelError
from evalflow.model.hf.model import HF
from evalflow.model.hf.tokeniser import Tokeniser
from evalflow.model.scorer import Encoded
from tests.model.hf.by_hand import started


def reader(folder: Path) -> Tokeniser:
    pytest.importorskip("transformers")
    from transformers import AutoTokenizer

    return Tokeniser(AutoTokenizer.from_pretrained(folder, local_files_only=True), "tiny")


def encoded(folder: Path, text: str) -> Encoded:
    return started(HF(str(folder)), lambda model: model.encode(text, "a"))


def test_a_text_is_read_with_nothing_added(tiny: Path) -> None:
    """The tokeniser's own `<s>` is left to whoever scores; each token says where it begins, in characters."""
    text = "the cat é🎉 sat"
    read = encoded(tiny, text)
    assert 0 not in read.tokens
    assert len(read.starts) == len(read.tokens)
    assert reader(tiny).text(read.tokens.tolist()) == text
    ends = [*read.starts[1:].tolist(), len(text)]
    pieces = [text[start:end] for start, end in zip(read.starts.tolist(), ends, strict=True)]
    assert "".join(pieces) == text
    assert pieces[:2] == ["the", " cat"]
    assert read.starts.tolist().count(9) == 4  # a party popper is four bytes, and a token each


def test_an_empty_text_has_no_tokens(tiny: Path) -> None:
    """It is not an error: there is nothing to score."""
    read = encoded(tiny, "")
    assert (read.tokens.shape, read.starts.shape, str(read.tokens.dtype)) == ((0,), (0,), "int64")


@pytest.mark.parametrize("text", ["half \ud83d", "\udfff"])
def test_half_a_character_is_refused(tiny: Path, text: str) -> None:
    """A lone surrogate is no text; the item, the code and the place are named."""
    with pytest.raises(ModelError, match=r"item 'a' holds half a character \(U\+D[0-9A-F]{3}, character \d\); mend"):
        encoded(tiny, text)


@pytest.mark.parametrize("text", ["e\u0301\u200d\ufeff\u2028", "\x00\x01\x7f", "\U0010ffff", "שלום नमस्ते"])
def test_odd_characters_come_back(tiny: Path, text: str) -> None:
    """Whatever is Unicode is read, and no character of it lost."""
    assert reader(tiny).text(encoded(tiny, text).tokens.tolist()) == text


def test_the_beginning_of_a_text_is_told(tiny: Path) -> None:
    """The token, and whether the tokeniser puts it there by itself; of one that does not it is known all the same."""
    plain = reader(tiny)
    assert {**plain.facts(), "tokenizer": ""} == {"tokenizer": "", "bos": 0, "adds_bos": True, "adds_before": [0]}
    plain.tokenizer.backend_tokenizer.post_processor = _nothing_added()
    assert {**plain.facts(), "tokenizer": ""} == {"tokenizer": "", "bos": 0, "adds_bos": False, "adds_before": []}


def test_the_digest_is_of_what_is_read(tiny: Path) -> None:
    """What stands before a text is no part of it; another token for one string is, and so is another way to cut."""
    first, other, third = reader(tiny), reader(tiny), reader(tiny)
    other.tokenizer.backend_tokenizer.post_processor = _nothing_added()
    assert other.digest() == first.digest()
    other.tokenizer.add_tokens(["brown"])
    assert other.digest() != first.digest()
    third.tokenizer.backend_tokenizer.pre_tokenizer = _cut_at_spaces()
    assert third.digest() != first.digest()


def test_a_prompt_is_a_message_where_there_is_a_template(chatty: Path) -> None:
    """The template writes its own marks; without it the text stands after what the tokeniser puts before texts."""
    spoken = reader(chatty)
    ids = spoken.prompt("the cat", None, chat=True)
    assert spoken.tokenizer.decode(ids) == "<s>user: the cat</s><s>assistant:"
    ids = spoken.prompt("the cat", "be brief", chat=True)
    assert spoken.tokenizer.decode(ids) == "<s>system: be brief</s><s>user: the cat</s><s>assistant:"
    ids = spoken.prompt("the cat", None, chat=False)
    assert spoken.tokenizer.decode(ids) == "<s>the cat"


def test_a_template_may_refuse(chatty: Path) -> None:
    """What it says is passed on."""
    with pytest.raises(ModelError, match=r"its chat template refuses this .*no such thing"):
        reader(chatty).prompt("the cat", "no", chat=True)


def test_a_slow_tokeniser_cannot_say_where_tokens_begin() -> None:
    """-1 of every token."""

    class Slow:
        is_fast = False

        def __call__(self, text: str, **settings: Any) -> dict[str, list[int]]:
            assert settings == {"add_special_tokens": False, "return_offsets_mapping": False}
            return {"input_ids": [ord(letter) for letter in text]}

    read = Tokeniser(Slow(), "slow").encode("ab", "a")
    assert (read.tokens.tolist(), read.starts.tolist()) == ([97, 98], [-1, -1])


def _nothing_added() -> Any:
    from tokenizers.processors import TemplateProcessing

    return TemplateProcessing(single="$A", special_tokens=[])


def _cut_at_spaces() -> Any:
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    return Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=True)])
