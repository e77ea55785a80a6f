"""Training tiny_gpt by recipe."""

import asyncio
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from evalflow.errors import ModelError
from evalflow.model.tiny_gpt import train as training
from evalflow.model.tiny_gpt.checkpoint import listed_digest, weights_digest
from evalflow.model.tiny_gpt.model import TinyGPT
from evalflow.model.tiny_gpt.network import forward, init_weights
from evalflow.model.tiny_gpt.recipe import RECIPES, Recipe
from evalflow.model.tiny_gpt.train import IGNORED, Lesson, stream, train
from evalflow.model.tiny_gpt.vocabulary import END, decode
from evalflow.string_tasks import WordPool, answer_for, prompt_for

BRIEF = Recipe(pretrain_steps=2, steps=3)


def test_the_recipes_are_the_settled_ones() -> None:
    """Contract 10: 550 and 1,500 tuning steps from one start; the controls differ from `long` in one thing each."""
    assert RECIPES["short"] == Recipe(steps=550, pretrain_steps=150, init_seed=0, stream_seed=1, tuning_seed=2)
    assert RECIPES["long"] == replace(RECIPES["short"], steps=1500)
    assert RECIPES["shuffled"] == replace(RECIPES["long"], labels="shuffled")
    assert RECIPES["untrained"] == replace(RECIPES["long"], pretrain_steps=0, steps=0)


@pytest.mark.parametrize("recipe", RECIPES.values())
def test_training_never_sees_a_word_kept_apart(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row that the network is given while it trains is about a training word, in stream and lesson alike."""
    seen: set[str] = set()

    def watched(weights: dict[str, torch.Tensor], ids_bt: torch.Tensor) -> torch.Tensor:
        seen.update(decode(row) for row in ids_bt.tolist())
        return forward(weights, ids_bt)

    monkeypatch.setattr(training, "forward", watched)
    train(replace(recipe, steps=min(recipe.steps, 30), pretrain_steps=min(recipe.pretrain_steps, 2)), "watched")
    taught, held_out, validation = WordPool().split()
    lines = {line.lower().rstrip("!") for text in seen for line in text.split("\n")}
    words = {word for line in lines for word in line.split(" ")}
    assert bool(words & set(taught)) == (recipe.steps > 0)
    # the ends of a window may cut the stream's word, which the next test pins; every other word is whole
    assert not words & {*held_out, *validation}


def test_the_lesson_holds_every_training_pair_and_no_other() -> None:
    """400 words under three tasks, each prompt followed by its answer and END, the loss on the answer only."""
    lesson = Lesson.of(Recipe(steps=1), torch.Generator().manual_seed(2))
    taught = WordPool().split()[0]
    assert lesson.ids_nt.shape == lesson.targets_nt.shape == (1200, 82)
    expected = {(task, word) for task in ("capitals", "twice", "loud") for word in taught}
    pairs = {(prompt_for(*pair), answer_for(*pair)) for pair in expected}
    for ids_t, targets_t in zip(lesson.ids_nt, lesson.targets_nt, strict=True):
        counted = targets_t != IGNORED
        answer = targets_t[counted].tolist()
        prompt = decode(ids_t[: int(counted.nonzero()[0]) + 1].tolist())
        assert answer[-1] == END
        pairs.remove((prompt, decode(answer)))
    assert not pairs


def test_shuffled_labels_are_all_wrong_and_all_there() -> None:
    """Each prompt has another word's answer to the same task, and each answer is given once."""
    right = Lesson.of(Recipe(steps=1), torch.Generator().manual_seed(2))
    wrong = Lesson.of(Recipe(steps=1, labels="shuffled"), torch.Generator().manual_seed(2))
    answers = [[decode(row[row != IGNORED].tolist()) for row in each.targets_nt] for each in (right, wrong)]
    assert all(ours != theirs for ours, theirs in zip(*answers, strict=True))
    for start in (0, 400, 800):
        assert sorted(answers[0][start : start + 400]) == sorted(answers[1][start : start + 400])


def test_the_stream_is_one_training_word() -> None:
    """4,000 times the same training word and a space; another seed draws another word."""
    words = decode(stream(Recipe(steps=1), random.Random(1)).tolist()).split(" ")
    assert len(words) == 4001
    assert words.pop() == ""
    assert len(set(words)) == 1
    assert words[0] in WordPool().split()[0]
    assert decode(stream(Recipe(steps=1), random.Random(3)).tolist()).split(" ")[0] != words[0]


def test_training_is_bit_reproducible_whatever_the_threads() -> None:
    """Twice the same recipe gives the same bits, even from another thread count, which is then given back."""
    before = torch.get_num_threads()
    first = train(BRIEF, "first")
    torch.set_num_threads(2)
    try:
        again = train(BRIEF, "again")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["head"], train(replace(BRIEF, tuning_seed=5), "other")["head"])


def test_training_leaves_global_randomness_alone() -> None:
    """Nothing draws from torch's own generator."""
    before = torch.get_rng_state()
    train(BRIEF, "quiet")
    assert torch.equal(torch.get_rng_state(), before)


def test_no_progress_bar_where_stderr_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Training is silent when piped."""
    train(BRIEF, "silent")
    assert capsys.readouterr() == ("", "")


def test_no_training_is_the_untouched_start() -> None:
    """The untrained checkpoint is the seeded start and nothing else, here as where it was made."""
    weights = {name: weight.numpy() for name, weight in init_weights(0).items()}
    assert weights_digest(weights) == listed_digest("untrained")


def test_training_stops_after_the_step_that_it_is_told_to() -> None:
    """Whoever waits for a stop waits for one step, not for the recipe."""
    asked = iter([False, False, True])
    with pytest.raises(ModelError, match="training brief was stopped"):
        train(BRIEF, "brief", lambda: next(asked))
    assert next(asked, "asked three times") == "asked three times"


def test_a_start_that_is_cancelled_stops_its_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a checkpoint is trained: its thread ends within a step."""
    begun, ended = threading.Event(), threading.Event()

    def endless(recipe: Recipe, name: str, stopped: Callable[[], bool]) -> None:
        begun.set()
        while not stopped():
            time.sleep(0.001)
        ended.set()
        raise ModelError("stopped")

    async def cancel() -> None:
        start = asyncio.create_task(TinyGPT(retrain=True).start())
        await asyncio.to_thread(begun.wait)
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start

    monkeypatch.setattr(training, "train", endless)
    asyncio.run(cancel())
    assert ended.wait(timeout=10)
