"""Answers, token by token."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from evalflow.errors import ModelError
from evalflow.model.hf.answer import cut
from evalflow.model.hf.model import HF
from evalflow.record import Completion, Decoding, Request
from tests.model.hf.by_hand import plain, started

PROMPTS = ("the cat", "What was that?", "a dog and a mat", "é")
SAMPLED = Decoding(temperature=1.0, top_p=0.9, max_tokens=12)


def requests(decoding: Decoding) -> list[Request]:
    return [Request(str(i), prompt, decoding, seed=i) for i, prompt in enumerate(PROMPTS)]


def answers(model: HF, asked: Sequence[Request], together: bool = True) -> list[Completion]:
    async def use(each: HF) -> list[Completion]:
        if together:
            return list(await asyncio.gather(*(each.complete(request) for request in asked)))
        return [await each.complete(request) for request in asked]

    return started(model, use)


def test_a_greedy_answer_is_the_best_of_each_step(tiny: Path) -> None:
    """As a loop of plain forward passes over prompt and answer, with the token that the tokeniser puts before texts."""
    (answer,) = answers(HF(str(tiny)), [Request("a", "the cat", Decoding(max_tokens=6), 0)])
    model = HF(str(tiny))

    async def use(each: HF) -> tuple[list[int], str]:
        prompt = [0, *(await each.encode("the cat", "a")).tokens.tolist()]
        text = list(prompt)
        while len(text) < len(prompt) + 6:
            text.append(int(plain(tiny, text)[-1].argmax()))
        assert each._tokeniser is not None
        return prompt, each._tokeniser.text(text[len(prompt) :])

    prompt, expected = started(model, use)
    assert (answer.text, answer.finish_reason) == (expected, "length")
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_source) == (len(prompt), 6, "local")


def test_sampled_answers_are_the_same_in_any_order_and_at_once(tiny: Path) -> None:
    """Each is drawn by its own generator, so that neither order nor concurrency can change it; another seed does."""
    asked = requests(SAMPLED)
    alone = [one.text for one in answers(HF(str(tiny)), asked, together=False)]
    assert [one.text for one in answers(HF(str(tiny)), asked)] == alone
    assert [one.text for one in answers(HF(str(tiny)), asked[::-1])] == alone[::-1]
    others = [Request(one.item_id, one.prompt, one.decoding, one.seed + 9) for one in asked]
    assert [one.text for one in answers(HF(str(tiny)), others)] != alone


def test_an_ending_token_ends(copy: Path) -> None:
    """It counts and adds no text; here every token ends, by the generation config."""
    (copy / "generation_config.json").write_text(f'{{"eos_token_id": {list(range(300))}}}', encoding="utf-8")
    (answer,) = answers(HF(str(copy)), [Request("a", "the cat", Decoding(max_tokens=6), 0)])
    assert (answer.text, answer.finish_reason, answer.tokens_out) == ("", "stop", 1)
    assert answer.times.first_visible is None


def test_a_stop_string_ends_and_is_cut(tiny: Path) -> None:
    """Where it stands in the text, whatever follows in the same token."""
    decoding = Decoding(max_tokens=12)
    (free,) = answers(HF(str(tiny)), [Request("a", "the cat", decoding, 0)])
    stop = free.text[3:5]
    (stopped,) = answers(HF(str(tiny)), [Request("a", "the cat", Decoding(max_tokens=12, stop=(stop,)), 0)])
    assert (stopped.text, stopped.finish_reason) == (free.text[: free.text.index(stop)], "stop")
    assert (stopped.tokens_out or 0) < 12
    assert cut("abcabc", ("ca", "b")) == ("a", True)
    assert cut("abc", ("x",)) == ("abc", False)
    with pytest.raises(ModelError, match="a stop string is empty"):
        answers(HF(str(tiny)), [Request("a", "the cat", Decoding(stop=("",)), 0)])


def test_stamps_are_in_order(tiny: Path) -> None:
    """Sent, first token, last token, end; a gap between every two tokens."""
    (answer,) = answers(HF(str(tiny)), [Request("a", "the cat", Decoding(max_tokens=5), 0)])
    times = answer.times
    assert times.sent is not None and times.first_token is not None
    assert times.last_token is not None and times.end is not None
    assert times.sent < times.first_token < times.last_token <= times.end
    assert answer.gaps is not None and len(answer.gaps) == 4
    assert sum(answer.gaps) == pytest.approx(times.last_token - times.first_token)
    assert (answer.cached_tokens, answer.cached_source) == (0, "local")


def test_the_context_is_the_room_there_is(tiny: Path) -> None:
    """Of 64 places a prompt of 60 leaves 4; one of 64 leaves none, and is refused."""
    letters = "".join(chr(letter) for letter in np.random.default_rng(0).integers(0x2500, 0x2580, 20))
    (answer,) = answers(HF(str(tiny)), [Request("a", letters[:19], Decoding(max_tokens=50), 0)])
    assert answer.tokens_in == 58
    assert (answer.tokens_out, answer.finish_reason) == (6, "length")
    with pytest.raises(ModelError, match="64 tokens, which leaves nothing of its context of 64"):
        answers(HF(str(tiny)), [Request("a", letters + "€", Decoding(max_tokens=50), 0)])


def test_an_answer_that_nobody_waits_for_is_given_up(tiny: Path) -> None:
    """The thread asks before each token, so that the next request is not kept waiting."""

    async def use(model: HF) -> Completion:
        long = asyncio.create_task(model.complete(Request("a", "the cat", Decoding(max_tokens=60), 0)))
        await asyncio.sleep(0)
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        return await model.complete(Request("b", "the cat", Decoding(max_tokens=2), 0))

    assert started(HF(str(tiny)), use).tokens_out == 2


def test_closing_ends_what_waits(tiny: Path) -> None:
    """With an error, and not never."""

    async def use(model: HF) -> list[object]:
        tasks = [asyncio.create_task(model.complete(request)) for request in requests(Decoding(max_tokens=50))]
        await asyncio.sleep(0)
        await model.close()
        return list(await asyncio.gather(*tasks, return_exceptions=True))

    ended = started(HF(str(tiny)), use)
    assert {type(one) for one in ended} <= {ModelError, Completion}
    assert isinstance(ended[-1], ModelError)
    assert "was closed; start the model again" in str(ended[-1])
