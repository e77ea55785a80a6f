"""Scoring with the embedded model: the plain network's logits by every path, and near them in lower precision."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import rel_entr, softmax

from evalflow.errors import ModelError
from evalflow.model.scorer import Window
from evalflow.model.tiny_gpt import vocabulary
from evalflow.model.tiny_gpt.checkpoint import load
from evalflow.model.tiny_gpt.model import TinyGPT
from evalflow.model.tiny_gpt.network import Weights, forward, init_weights
from evalflow.model.tiny_gpt.pinned import torch_threads
from evalflow.model.tiny_gpt.scorer import Dtype, TextScorer
from evalflow.model.tiny_gpt.shape import CONTEXT
from evalflow.record import Cache, Decoding, Request
from evalflow.string_tasks import TASKS, WordPool, answer_for, prompt_for

TEXTS = [prompt_for(task, word) + answer_for(task, word) for word in WordPool().split()[1][:4] for task in TASKS]
IDS = [vocabulary.encode(text) for text in TEXTS]
RANDOM = torch.from_numpy(np.random.default_rng(0).integers(0, vocabulary.SIZE, (3, CONTEXT)))


@pytest.fixture(scope="module")
def weights() -> Weights:
    """Random weights, large enough that logits spread over several units."""
    return {name: weight * 5 if weight.dim() == 2 else weight for name, weight in init_weights(0).items()}


@pytest.fixture(scope="module")
def shipped() -> Weights:
    """Weights that know the tasks."""
    return {name: torch.from_numpy(array) for name, array in load("long").items()}


def logits(weights: Weights, dtype: Dtype, ids_bt: torch.Tensor, chunk: int | None = None) -> np.ndarray:
    with torch_threads(1), torch.inference_mode():
        return np.asarray(TextScorer(weights, dtype).logits(ids_bt, chunk).numpy())


def plain(weights: Weights, ids_bt: torch.Tensor) -> np.ndarray:
    """The reference: the network that trains, without a cache, in float64."""
    with torch_threads(1), torch.inference_mode():
        return np.asarray(forward({name: weight.double() for name, weight in weights.items()}, ids_bt).numpy())


@pytest.mark.parametrize("length", [1, 2, 47, CONTEXT])
def test_in_float64_it_is_the_network(weights: Weights, length: int) -> None:
    """Of several texts at once, at any length: to 1e-12 of logits that spread over several units."""
    ids_bt = RANDOM[:, :length]
    wanted = plain(weights, ids_bt)
    assert length < 2 or np.abs(wanted).max() > 1
    assert np.abs(logits(weights, "float64", ids_bt) - wanted).max() < 1e-12


@pytest.mark.parametrize("chunk", [1, 7, 32, CONTEXT - 1, CONTEXT, 500])
def test_chunks_are_the_whole(weights: Weights, chunk: int) -> None:
    """From the keys and values of what came before: token by token, in pieces that do or do not come out even."""
    whole = logits(weights, "float64", RANDOM)
    assert np.abs(logits(weights, "float64", RANDOM, chunk) - whole).max() < 1e-12


@pytest.mark.parametrize("chunk", [None, 1, 7])
def test_in_float32_it_is_the_network_to_rounding(weights: Weights, chunk: int | None) -> None:
    """By every path."""
    assert np.abs(logits(weights, "float32", RANDOM, chunk) - plain(weights, RANDOM)).max() < 1e-4


def test_a_text_is_scored_alike_in_any_company(weights: Weights) -> None:
    """Rows of a batch do not see one another."""
    together = logits(weights, "float64", RANDOM)
    for place in range(3):
        alone = logits(weights, "float64", RANDOM[place : place + 1])
        assert np.abs(alone[0] - together[place]).max() < 1e-12


@pytest.mark.parametrize(("dtype", "most"), [("bfloat16", 0.02), ("int8", 0.02)])
@pytest.mark.parametrize("chunk", [None, 1])
def test_lower_precision_is_close_and_not_the_same(
    shipped: Weights, dtype: Dtype, most: float, chunk: int | None
) -> None:
    """On texts that the model knows: a mean KL of less than a fiftieth of a nat, and more than float32's.

    What comes back is float32: bfloat16 logits would lie on a grid.
    """
    klds = []
    for ids in IDS:
        ids_bt = torch.tensor([ids])
        found = logits(shipped, dtype, ids_bt, chunk)
        assert found.dtype == np.float32
        wanted = softmax(plain(shipped, ids_bt)[0], axis=1)
        klds.append(rel_entr(wanted, softmax(found[0].astype(np.float64), axis=1)).sum(1))
    mean = float(np.concatenate(klds).mean())
    assert 1e-7 < mean < most


def test_int8_quantises_the_matrices_alone(weights: Weights) -> None:
    """Embeddings, norms and biases stay; the given weights are not written to."""
    before = {name: weight.clone() for name, weight in weights.items()}
    scorer = TextScorer(weights, "int8")
    assert set(scorer._int8) == {name for name in weights if name.endswith(".matrix") or name == "head"}
    assert len(scorer._int8) == 9
    assert all(torch.equal(weights[name], before[name]) for name in weights)


def argmax_loop(weights: Weights, tokens: Sequence[int], count: int) -> list[int]:
    """Greedy decoding without a cache: the whole text computed again for every token."""
    given = list(tokens)
    for _ in range(count):
        given.append(int(plain(weights, torch.tensor([given]))[0, -1].argmax()))
    return given[len(tokens) :]


@pytest.mark.parametrize("at", [1, 40, 70])
def test_greedy_is_an_argmax_after_another(shipped: Weights, at: int) -> None:
    """With the cache as without it."""
    tokens = IDS[0][:at]
    with torch_threads(1), torch.inference_mode():
        assert TextScorer(shipped, "float64").greedy(tokens, 12) == argmax_loop(shipped, tokens, 12)


@pytest.mark.parametrize(("length", "n"), [(CONTEXT - 3, 4), (CONTEXT - 1, 2), (CONTEXT, 1), (CONTEXT + 1, 0)])
def test_it_writes_as_far_as_the_context_reaches(shipped: Weights, length: int, n: int) -> None:
    """The last position of the context still tells the token after it; beyond, nothing is written."""
    tokens = (IDS[0] * 2)[:length]
    with torch_threads(1), torch.inference_mode():
        assert len(TextScorer(shipped, "float64").greedy(tokens, 10)) == n


def test_of_equally_likely_tokens_the_lowest_is_written(weights: Weights) -> None:
    """A head of zeros says the same of every token."""
    level = {**weights, "head": torch.zeros_like(weights["head"])}
    with torch.inference_mode():
        assert TextScorer(level, "float64").greedy([3], 3) == [0, 0, 0]


def during(model: TinyGPT, act: Any) -> Any:
    async def run() -> Any:
        await model.start()
        try:
            return await act(model)
        finally:
            await model.close()

    return asyncio.run(run())


def window(ids: Sequence[int], first: int, start: int = 0) -> Window:
    return Window("i", np.array(ids, dtype=np.int64), first, start + first)


@pytest.mark.parametrize("chunk", [None, 5])
def test_windows_of_many_lengths_come_back_in_their_order(shipped: Weights, chunk: int | None) -> None:
    """Each with the rows that predict its targets, and no others; those of one length are computed together."""
    windows = [window(IDS[0][:30], 1), window(IDS[1][:12], 5), window(IDS[2][:30], 29), window(IDS[3][:2], 1)]
    found = during(TinyGPT(dtype="float64"), lambda model: model.logits(windows, chunk))
    assert [rows.shape for rows in found] == [(len(one.targets), vocabulary.SIZE) for one in windows]
    assert [len(rows) for rows in found] == [29, 7, 1, 1]
    for one, rows in zip(windows, found, strict=True):
        wanted = plain(shipped, torch.from_numpy(one.tokens[None]))[0, one.first - 1 : -1]
        assert np.abs(rows - wanted).max() < 1e-11


def test_a_character_is_a_token_and_none_begins_a_text() -> None:
    """And what has no token is refused with the character."""
    model = TinyGPT()
    encoded = asyncio.run(model.encode(TEXTS[0], "i"))
    assert vocabulary.decode(encoded.tokens.tolist()) == TEXTS[0]
    assert encoded.starts.tolist() == list(range(len(TEXTS[0])))
    with pytest.raises(ModelError, match=r"holds 'é' \(U\+00E9\)"):
        asyncio.run(model.encode("né", "i"))
    facts = model.scorer_facts()
    assert (facts["vocabulary"], facts["bos"], facts["adds_bos"], facts["context"]) == (58, None, False, 96)
    assert facts["tokenizer"] == TinyGPT(checkpoint="short", dtype="int8").scorer_facts()["tokenizer"]


def test_the_model_writes_as_its_scorer_does(shipped: Weights) -> None:
    """Greedily, from tokens."""
    tokens = np.array(IDS[4][:60])
    written = during(TinyGPT(dtype="float64"), lambda model: model.greedy(tokens, 8))
    assert list(written) == argmax_loop(shipped, tokens.tolist(), 8)


@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
def test_a_dtype_that_only_scores_answers_nothing(dtype: Any) -> None:
    """It starts, it scores, and an arm that asks it for answers is refused by name before the first of them."""

    async def act(model: TinyGPT) -> None:
        (rows,) = await model.logits([window(IDS[0], 1)], None)
        assert np.isfinite(rows).all()
        said = f"tiny_gpt: in {dtype} it scores texts and answers nothing; set model.dtype to float32 or float64"
        with pytest.raises(ModelError, match=said):
            await model.prove(Decoding(), "cold")

    during(TinyGPT(dtype=dtype), act)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_dtype_that_answers_scores_too(dtype: Any) -> None:
    """One and the same model does both."""

    async def act(model: TinyGPT) -> tuple[str, np.ndarray]:
        for cache in ("cold", "warm"):
            await model.prove(Decoding(), cache)  # type: ignore[arg-type]
        answer = await model.complete(Request("i", prompt_for("loud", "cat"), Decoding(), 0))
        (rows,) = await model.logits([window(IDS[0], 1)], None)
        return answer.text, rows

    text, rows = during(TinyGPT(dtype=dtype), act)
    assert (text, rows.dtype.name) == ("CAT!", dtype)


def test_its_memory_is_that_of_its_dtype() -> None:
    """113,664 parameters of 8, 4, 2 bytes or one."""
    for dtype, size in (("float64", 8), ("float32", 4), ("bfloat16", 2), ("int8", 1)):
        (told,) = asyncio.run(TinyGPT(dtype=dtype).measure("memory")) or ()  # type: ignore[arg-type]
        assert (told["param_bytes"], told["bytes_per_value"]) == (113_664 * size, size)


def test_identity_tells_dtypes_apart() -> None:
    """So that a run of one is not gone on with in another."""
    assert len({TinyGPT(dtype=dtype).identity()["dtype"] for dtype in ("float32", "float64", "bfloat16", "int8")}) == 4  # type: ignore[arg-type]


def test_an_unknown_dtype_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(ValueError, match="dtype is 'int4'; give one of float32, float64, bfloat16, int8"):
        TinyGPT(dtype="int4")  # type: ignore[arg-type]


def test_caches_are_named() -> None:
    """The embedded model offers all three regimes, whatever it computes in."""
    regimes: tuple[Cache, ...] = ("cold", "isolated", "warm")
    assert TinyGPT(dtype="int8").regimes == regimes
