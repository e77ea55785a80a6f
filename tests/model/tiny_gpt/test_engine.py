"""The engine of tiny_gpt: who joins, who leaves, and what everyone is told."""

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import numpy as np
import pytest

from evalflow.errors import ModelError
from evalflow.model.tiny_gpt import vocabulary
from evalflow.model.tiny_gpt.engine import Engine
from evalflow.model.tiny_gpt.network import init_weights
from evalflow.model.tiny_gpt.shape import SLOTS
from evalflow.model.tiny_gpt.tile import Block, Tile
from evalflow.record import Completion, Decoding
from evalflow.string_tasks import TASKS, WordPool, prompt_for

T = TypeVar("T")

GREEDY = Decoding()
SAMPLED = Decoding(temperature=1.0, top_p=0.95)
PROMPTS = [prompt_for(task, word) for word in WordPool().split()[2] for task in TASKS][:60]


class Scripted(Tile):
    """A tile whose every sequence goes on with `script`, then END; `gate` holds each step back."""

    def __init__(self, script: str, gate: threading.Event | None = None) -> None:
        super().__init__(init_weights(0))
        self.tokens = [*vocabulary.encode(script), vocabulary.END]
        self.ends = np.zeros(SLOTS, dtype=np.int64)
        self.gate = gate

    def prefill(self, slot: int, tokens: Sequence[int], cached: int = 0) -> np.ndarray:
        self.ends[slot] = len(tokens)
        return self._one_hot(0)

    def step(self, tokens_b: np.ndarray, positions_b: np.ndarray) -> np.ndarray:
        if self.gate is not None:
            self.gate.wait(timeout=10)
        return np.stack([self._one_hot(positions_b[slot] - self.ends[slot] + 1) for slot in range(SLOTS)])

    def _one_hot(self, place: int) -> np.ndarray:
        return np.eye(vocabulary.SIZE)[self.tokens[min(max(place, 0), len(self.tokens) - 1)]]


def with_engine(tile: Tile, use: Callable[[Engine], Awaitable[T]], slots: int = SLOTS) -> T:
    """What `use` gives with an engine that is closed afterwards."""

    async def run() -> T:
        engine = Engine(tile, slots=slots)
        try:
            return await asyncio.wait_for(use(engine), timeout=30)
        finally:
            await engine.close()

    return asyncio.run(run())


def answer(script: str, decoding: Decoding = GREEDY, prompt: str = "abc") -> Completion:
    """What one request gets where the network says `script`."""
    return with_engine(Scripted(script), lambda engine: engine.generate(prompt, decoding, 0))


def test_a_text_ends_at_end() -> None:
    """END stops, is no part of the text, and counts among the tokens that were drawn."""
    done = answer("HELLO")
    assert (done.text, done.finish_reason) == ("HELLO", "stop")
    assert (done.tokens_in, done.tokens_out, done.tokens_source) == (3, 6, "local")


def test_an_empty_answer_is_one_token_and_shows_nothing() -> None:
    """END at once: no text, one token, and no time at which anything was visible."""
    done = answer("")
    assert (done.text, done.finish_reason, done.tokens_out, done.gaps) == ("", "stop", 1, ())
    assert done.times.first_token is not None
    assert done.times.first_visible is None


@pytest.mark.parametrize(
    ("prompt", "max_tokens", "drawn"),
    [("abc", 5, 5), ("abc", 256, 24), ("a" * 90, 256, 6), ("a" * 95, 256, 1)],
)
def test_a_text_ends_at_the_least_of_three_limits(prompt: str, max_tokens: int, drawn: int) -> None:
    """`max_tokens`, 24 new tokens, or a context of 96 with the prompt in it: "length", whichever comes first."""
    done = answer("x" * 90, Decoding(max_tokens=max_tokens), prompt)
    assert (done.text, done.finish_reason, done.tokens_out) == ("x" * drawn, "length", drawn)


def test_an_answer_that_just_fits_is_not_truncated() -> None:
    """Five characters and END fit six tokens; five tokens cut before END."""
    assert answer("HELLO", Decoding(max_tokens=6)).finish_reason == "stop"
    assert answer("HELLO", Decoding(max_tokens=5)).finish_reason == "length"


@pytest.mark.parametrize(("stop", "text"), [(("L",), "HE"), (("LO",), "HEL"), (("zz", "EL"), "H"), (("HE",), "")])
def test_a_stop_string_ends_the_text_before_it(stop: tuple[str, ...], text: str) -> None:
    """The first stop string that the text reaches is cut off, and the reason is "stop"."""
    done = answer("HELLO", Decoding(stop=stop))
    assert (done.text, done.finish_reason) == (text, "stop")


@pytest.mark.parametrize(
    ("prompt", "decoding", "message"),
    [
        ("a" * 96, GREEDY, "has 96 characters, but its context of 96 takes 1 to 95"),
        ("", GREEDY, "has 0 characters"),
        ("naïve", GREEDY, "'ï'"),
        ("abc", Decoding(stop=("x", "")), "stop string is empty"),
    ],
)
def test_what_cannot_be_answered_is_refused(prompt: str, decoding: Decoding, message: str) -> None:
    """A prompt that is empty, too long or not of known characters, and an empty stop string, are errors."""
    with pytest.raises(ModelError, match=message):
        answer("A", decoding, prompt)


def test_times_are_in_order() -> None:
    """Sent, first token, last token, end; one gap between any two tokens, and they add up."""
    done = answer("HELLO")
    times = done.times
    assert times.sent <= times.first_token == times.first_visible <= times.last_token <= times.end
    assert len(done.gaps) == 5
    assert sum(done.gaps) == pytest.approx(times.last_token - times.first_token)


Salt = Callable[[int], str]


def one(number: int) -> str:
    """One salt for all: every prompt of a task after the first takes its prefix from the store."""
    return ""


def two(number: int) -> str:
    """Two salts, in turn."""
    return str(number % 2)


def own(number: int) -> str:
    """A salt a request: nothing is taken from the store."""
    return str(number)


class Spoilt(Tile):
    """Reads as it should, but keeps blocks that are wrong by 10 % in one value of one head at one position."""

    def block(self, slot: int, start: int) -> Block:
        block = super().block(slot, start)
        block[0, 1, 2, 40, :] *= 1.1
        return block


def texts(
    concurrency: int,
    decoding: Decoding,
    order: Sequence[int],
    slots: int = SLOTS,
    salt: Salt = one,
    tile: type[Tile] = Tile,
) -> list[str]:
    """The real network's texts for `PROMPTS`, asked in `order` by so many clients with random pauses."""

    async def use(engine: Engine) -> list[str]:
        answers: dict[int, str] = {}
        queue, pauses = iter(order), random.Random(concurrency)

        async def client() -> None:
            for number in queue:
                await asyncio.sleep(pauses.random() * 0.003)
                done = await engine.generate(PROMPTS[number], decoding, 1000 + number, salt(number))
                answers[number] = done.text

        await asyncio.gather(*(client() for _ in range(concurrency)))
        return [answers[number] for number in range(len(PROMPTS))]

    # weights five times as wide give texts that vary, so that equal ones mean something
    weights = {name: weight * 5 if weight.dim() == 2 else weight for name, weight in init_weights(0).items()}
    return with_engine(tile(weights), use, slots)


@pytest.mark.parametrize("decoding", [GREEDY, SAMPLED])
def test_a_text_is_the_same_whoever_else_is_asked(decoding: Decoding) -> None:
    """One by one, 7, 32 or 60 at once, in any order, with any number of slots: the same texts."""
    order = list(range(len(PROMPTS)))
    alone = texts(1, decoding, order)
    assert len(set(alone)) > 20
    for concurrency, slots in ((7, SLOTS), (32, SLOTS), (60, SLOTS), (60, 3)):
        random.Random(concurrency).shuffle(order)
        assert texts(concurrency, decoding, order, slots) == alone


@pytest.mark.parametrize("decoding", [GREEDY, SAMPLED])
@pytest.mark.parametrize("concurrency", [1, 7, 32])
def test_a_text_is_the_same_whatever_was_read_before(decoding: Decoding, concurrency: int) -> None:
    """In random orders: all prefixes read, one store for all, or two; and a store of wrong blocks would be seen."""
    order = list(range(len(PROMPTS)))
    nothing_shared = texts(1, decoding, order, salt=own)
    random.Random(concurrency).shuffle(order)
    for salt in (one, two, own):
        assert texts(concurrency, decoding, order, salt=salt) == nothing_shared, salt.__name__
    assert texts(concurrency, decoding, order, tile=Spoilt) != nothing_shared
    assert texts(concurrency, decoding, order, salt=own, tile=Spoilt) == nothing_shared


def test_a_sample_depends_on_its_seed() -> None:
    """The same seed draws the same text, other seeds draw others."""

    async def use(engine: Engine) -> list[str]:
        return [(await engine.generate(PROMPTS[0], SAMPLED, seed)).text for seed in (1, 1, 2, 3)]

    first, again, *others = with_engine(Tile(init_weights(0)), use)
    assert first == again
    assert len({first, *others}) == 3


def test_requests_in_flight_are_batched_and_counted() -> None:
    """Four answers of three tokens at once: two steps each beside the prefills, at most four in one."""

    async def use(engine: Engine) -> dict[str, float]:
        gate.clear()
        asked = [asyncio.create_task(engine.generate("abc", GREEDY, 0)) for _ in range(4)]
        await asyncio.sleep(0.05)
        gate.set()
        await asyncio.gather(*asked)
        return dict(engine.facts())

    gate = threading.Event()
    facts = with_engine(Scripted("HI", gate), use)
    assert facts["batch_max"] >= 3
    assert facts["batch_mean"] * facts["steps"] == pytest.approx(8)


def test_a_late_request_joins_those_in_flight() -> None:
    """Who comes in mid-generation is answered before the long one that was there first."""

    async def use(engine: Engine) -> list[str]:
        finished: list[str] = []

        async def ask(name: str, decoding: Decoding) -> None:
            await engine.generate("abc", decoding, 0)
            finished.append(name)

        long = asyncio.create_task(ask("long", GREEDY))
        await asyncio.sleep(0.05)
        short = asyncio.create_task(ask("short", Decoding(max_tokens=2)))
        await asyncio.sleep(0.05)
        gate.set()
        await asyncio.gather(long, short)
        return finished

    gate = threading.Event()
    assert with_engine(Scripted("x" * 20, gate), use) == ["short", "long"]


def test_the_event_loop_runs_on_while_the_engine_computes() -> None:
    """A step that hangs keeps its thread, not the loop."""

    async def use(engine: Engine) -> bool:
        asked = asyncio.create_task(engine.generate("abc", GREEDY, 0))
        for _ in range(20):
            await asyncio.sleep(0.001)
        waiting = not asked.done()
        gate.set()
        await asked
        return waiting

    gate = threading.Event()
    assert with_engine(Scripted("HI", gate), use)


def test_cancelling_frees_the_slot() -> None:
    """One slot: who stands behind a cancelled request is answered; one cancelled in the queue is skipped."""

    async def use(engine: Engine) -> str:
        running, waiting, last = (asyncio.create_task(engine.generate("abc", GREEDY, 0)) for _ in range(3))
        await asyncio.sleep(0.05)
        running.cancel()
        waiting.cancel()
        gate.set()
        done = await last
        assert running.cancelled()
        assert waiting.cancelled()
        return done.text

    gate = threading.Event()
    assert with_engine(Scripted("HELLO", gate), use, slots=1) == "HELLO"


@pytest.mark.parametrize("place", ["prefill", "step"])
def test_a_failure_reaches_everyone(place: str) -> None:
    """When the computation breaks, those in flight, those who wait and those to come all hear of it."""

    class Broken(Scripted):
        def fail(self, *_: object) -> np.ndarray:
            gate.wait(timeout=10)
            raise RuntimeError("out of cheese")

    async def use(engine: Engine) -> list[object]:
        asked = [asyncio.create_task(engine.generate("abc", GREEDY, 0)) for _ in range(3)]
        await asyncio.sleep(0.05)
        gate.set()
        told = await asyncio.gather(*asked, return_exceptions=True)
        late = await asyncio.gather(engine.generate("abc", GREEDY, 0), return_exceptions=True)
        return [*told, *late]

    gate = threading.Event()
    tile = Broken("HELLO")
    setattr(tile, place, tile.fail)
    for fault in with_engine(tile, use, slots=2):
        assert isinstance(fault, ModelError)
        assert "RuntimeError: out of cheese" in str(fault)


def test_damaged_weights_fail_their_request_only() -> None:
    """Logits that are no numbers are this request's error; the engine serves the next."""

    class Once(Scripted):
        def prefill(self, slot: int, tokens: Sequence[int], cached: int = 0) -> np.ndarray:
            logits = super().prefill(slot, tokens, cached)
            return logits * np.nan if len(tokens) == 4 else logits

    async def use(engine: Engine) -> str:
        with pytest.raises(ModelError, match="not finite"):
            await engine.generate("abcd", GREEDY, 0)
        return (await engine.generate("abc", GREEDY, 0)).text

    assert with_engine(Once("HI"), use, slots=1) == "HI"


def test_an_errand_runs_alone_and_its_failure_is_told() -> None:
    """An errand waits for those in flight; one that breaks is an error, and the engine stops."""

    async def use(engine: Engine) -> None:
        asked = asyncio.create_task(engine.generate("abc", GREEDY, 0))
        await asyncio.sleep(0.05)
        errand = asyncio.create_task(engine.alone(lambda _: asked.done() or len(engine._running)))
        await asyncio.sleep(0.02)
        gate.set()
        assert (await asked).text == "HI"
        assert await errand in (True, 0)
        with pytest.raises(ModelError, match="measurement failed"):
            await engine.alone(lambda _: 1 / 0)
        with pytest.raises(ModelError, match="ZeroDivisionError"):
            await engine.generate("abc", GREEDY, 0)

    gate = threading.Event()
    with_engine(Scripted("HI", gate), use)


def test_closing_ends_those_in_flight_and_the_thread() -> None:
    """A request in flight gets an error instead of silence, and the worker stops."""

    async def run() -> object:
        engine = Engine(Scripted("x" * 20, gate))
        asked = asyncio.create_task(engine.generate("abc", GREEDY, 0))
        await asyncio.sleep(0.05)
        threading.Timer(0.05, gate.set).start()
        await engine.close()
        assert not engine._worker.is_alive()
        return (await asyncio.gather(asked, return_exceptions=True))[0]

    gate = threading.Event()
    fault = asyncio.run(run())
    assert isinstance(fault, ModelError)
    assert "closed" in str(fault)
