"""The string tasks: how many, of which words, and that nobody sees the words kept apart."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from evalflow.dataset.protocol import collect
from evalflow.dataset.strings import Strings
from evalflow.record import fingerprints
from evalflow.string_tasks import WordPool, answer_for, prompt_for


def test_sixty_items_over_twenty_words():
    """Each of 20 held-out words is asked each of three tasks; the word is the cluster, the task the kind."""
    items = collect(Strings())
    assert len(items) == 60
    assert set(Counter(item.cluster for item in items).values()) == {3}
    assert len({item.cluster for item in items}) == 20
    assert Counter(item.kind for item in items) == {"capitals": 20, "twice": 20, "loud": 20}
    assert all(item.dependence == item.fields["word"] for item in items)


def test_questions_and_answers_by_hand():
    """The three answers to `tree`, and the prompt that asks for one, as written down here."""
    assert answer_for("capitals", "tree") == "TREE"
    assert answer_for("twice", "tree") == "tree tree"
    assert answer_for("loud", "tree") == "TREE!"
    assert prompt_for("twice", "tree") == (
        "### Instruction:\nsay the word twice\n\n### Input:\ntree\n\n### Response:\n"
    )


def test_items_ask_what_their_kind_says():
    """Every item's prompt holds its word and its target is the answer to its task."""
    by_task = {"capitals": str.upper, "twice": lambda w: f"{w} {w}", "loud": lambda w: w.upper() + "!"}
    for item in Strings().items():
        assert f"\n{item.cluster}\n" in item.prompt
        assert item.target == by_task[item.kind](item.cluster)
        assert item.id == f"{item.kind}/{item.cluster}"


def test_the_three_word_lists_are_disjoint():
    """400 words train, 20 are held out and 40 choose recipes: 460 distinct words of 3 to 5 lower-case letters."""
    parts = WordPool().split()
    assert [len(part) for part in parts] == [400, 20, 40]
    words = [word for part in parts for word in part]
    assert len(set(words)) == 460
    assert all(3 <= len(word) <= 5 and word.isascii() and word.islower() and word.isalpha() for word in words)
    held_out = {item.cluster for item in Strings().items()}
    validation = {item.cluster for item in Strings(split="validation").items()}
    assert (len(held_out), len(validation)) == (20, 40)
    assert not held_out & validation
    assert not (held_out | validation) & set(parts[0])


def test_the_items_are_the_same_on_any_call_and_in_any_process():
    """Neither a second call nor another process, with other hashing, gives other items."""
    here = fingerprints(Strings().items())
    assert fingerprints(Strings().items()) == here
    code = (
        "from evalflow.dataset.strings import Strings; from evalflow.record import fingerprints;"
        "print(fingerprints(Strings().items())['request_fp'])"
    )
    for hashing in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hashing}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == here["request_fp"]


def test_another_seed_is_another_pool():
    """The seed decides the words."""
    assert fingerprints(Strings(seed=1).items())["content_fp"] != fingerprints(Strings().items())["content_fp"]


def test_fewer_tasks_are_fewer_items():
    """Only the tasks named are asked, in the order named, of the same words."""
    items = Strings(tasks=("loud", "capitals")).items()
    assert [item.kind for item in items[:2]] == ["loud", "capitals"]
    assert len(items) == 40
    assert {item.cluster for item in items} == {item.cluster for item in Strings().items()}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tasks": ("shout",)}, "choose from capitals, twice, loud"),
        ({"tasks": ()}, "choose from"),
        ({"size": 419}, "do not fit a pool of 419"),
        ({"held_out": 0}, "give at least 1 of each"),
        ({"train": 0}, "give at least 1 of each"),
    ],
)
def test_a_pool_that_cannot_be_split_is_refused(settings, said):
    """Unknown tasks and splits that do not fit are refused on building."""
    with pytest.raises(ValueError, match=said):
        replace(Strings(), **settings)
