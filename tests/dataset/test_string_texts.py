"""The string tasks as texts: prompt and answer in one, as the embedded model was taught them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from evalflow.dataset.string_texts import StringTexts
from evalflow.model.tiny_gpt import vocabulary
from evalflow.model.tiny_gpt.shape import CONTEXT
from evalflow.string_tasks import WordPool

TRAIN, HELD_OUT, VALIDATION = WordPool().split()


def test_a_text_by_hand() -> None:
    """The instruction, the word, and what is right to answer."""
    items = {item.id: item for item in StringTexts(words="held_out", n=1).items()}
    word = HELD_OUT[0]
    assert list(items) == [f"{task}/{word}" for task in ("capitals", "twice", "loud")]
    begun = f"### Instruction:\nsay the word twice\n\n### Input:\n{word}\n\n### Response:\n"
    twice = items[f"twice/{word}"]
    assert twice.prompt == f"{begun}{word} {word}"
    assert (twice.kind, twice.cluster, twice.target) == ("twice", word, None)
    assert twice.fields == {"task": "twice", "word": word, "evalflow.scored_from": 0}


@pytest.mark.parametrize("task", ["capitals", "twice", "loud"])
def test_the_answer_alone_may_be_scored(task: str) -> None:
    """What counts begins at its first character: what is before is the prompt."""
    right = {"capitals": str.upper, "twice": lambda word: f"{word} {word}", "loud": lambda word: f"{word.upper()}!"}
    for item in StringTexts(words="held_out", scored="answer").items():
        if item.kind == task:
            assert item.prompt[: item.fields["evalflow.scored_from"]].endswith("### Response:\n")
            assert item.prompt[item.fields["evalflow.scored_from"] :] == right[task](item.fields["word"])  # type: ignore[operator]


def test_what_is_scored_moves_no_text() -> None:
    """Ids and prompts are the same either way."""
    whole, answer = (StringTexts(scored=part).items() for part in ("all", "answer"))  # type: ignore[arg-type]
    assert [(item.id, item.prompt) for item in whole] == [(item.id, item.prompt) for item in answer]


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("train", TRAIN),
        ("held_out", HELD_OUT),
        ("validation", VALIDATION),
        ("all", (*HELD_OUT, *VALIDATION, *TRAIN)),
    ],
)
def test_which_words(words: Any, chosen: tuple[str, ...]) -> None:
    """Each with all three tasks, its own cluster; words kept apart from training come first among all."""
    items = StringTexts(words=words).items()
    assert [item.cluster for item in items] == [word for word in chosen for _ in range(3)]
    assert len({item.id for item in items}) == len(items) == 3 * len(chosen)
    assert Counter(item.kind for item in items) == dict.fromkeys(("capitals", "twice", "loud"), len(chosen))


@pytest.mark.parametrize(("n", "size"), [(1, 3), (7, 21), (20, 60), (500, 60), (None, 60)])
def test_the_first_words(n: int | None, size: int) -> None:
    """So many of them, or as many as there are."""
    items = StringTexts(words="held_out", n=n).items()
    assert items == StringTexts(words="held_out").items()[:size]


def test_the_same_whenever_they_are_asked_for_and_others_by_another_seed() -> None:
    """The seed draws the pool."""
    assert StringTexts().items() == StringTexts().items()
    assert StringTexts(seed=1).items() != StringTexts().items()


def test_every_text_fits_the_embedded_model() -> None:
    """In characters that it knows, and in one window of its context."""
    for item in StringTexts().items():
        assert 2 <= len(vocabulary.encode(item.prompt)) <= CONTEXT


@pytest.mark.parametrize("n", [0, -3])
def test_no_word_is_no_dataset(n: int) -> None:
    """None is said by null."""
    with pytest.raises(ValueError, match=f"n is {n}; give at least 1 word, or null for all"):
        StringTexts(n=n)
