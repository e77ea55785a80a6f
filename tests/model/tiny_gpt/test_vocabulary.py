"""The vocabulary of tiny_gpt."""

import pytest

from evalflow.errors import ModelError
from evalflow.model.tiny_gpt import vocabulary
from evalflow.string_tasks import TASKS, WordPool, answer_for, prompt_for


def test_every_character_comes_back() -> None:
    """Encoding and decoding give the text again, one token a character, and never END."""
    tokens = vocabulary.encode(vocabulary.CHARACTERS)
    assert tokens == list(range(1, 58))
    assert vocabulary.decode(tokens) == vocabulary.CHARACTERS
    assert vocabulary.decode([vocabulary.END, *vocabulary.encode("ab"), vocabulary.END]) == "ab"


def test_the_tasks_can_be_asked_and_answered() -> None:
    """Every prompt and answer over the whole pool is made of known characters."""
    for words in WordPool().split():
        for word in words:
            for task in TASKS:
                vocabulary.encode(prompt_for(task, word) + answer_for(task, word))


def test_an_unknown_character_is_named() -> None:
    """A character without a token is an error that names it and tells which ones there are."""
    with pytest.raises(ModelError, match=r"'é' \(U\+00E9\).*use only these"):
        vocabulary.encode("café")
