"""The network of tiny_gpt and its cached twin, the tile."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from evalflow.model.tiny_gpt import vocabulary
from evalflow.model.tiny_gpt.network import Weights, forward, init_weights
from evalflow.model.tiny_gpt.pinned import torch_threads
from evalflow.model.tiny_gpt.shape import CONTEXT, SLOTS, parameter_count
from evalflow.model.tiny_gpt.tile import Tile
from evalflow.string_tasks import TASKS, WordPool, prompt_for

PROMPTS = [vocabulary.encode(prompt_for(task, word)) for word in WordPool().split()[0][:30] for task in TASKS]


@pytest.fixture(scope="module")
def weights() -> Weights:
    """Random weights, large enough that logits spread over several units."""
    return {name: weight * 5 if weight.dim() == 2 else weight for name, weight in init_weights(0).items()}


def walk(tile: Tile, slot: int, prompt: list[int], fed: list[int], others: bool) -> list[np.ndarray]:
    """The logits (V,) of `slot` after the prompt and after each fed token, alone or with others."""
    if others:
        for neighbour in set(range(SLOTS)) - {slot}:
            tile.prefill(neighbour, PROMPTS[neighbour])
    seen = [tile.prefill(slot, prompt)]
    for number, token in enumerate(fed):
        tokens, positions = np.zeros(SLOTS, dtype=np.int64), np.zeros(SLOTS, dtype=np.int64)
        if others:
            tokens[:] = [(7 * number + i) % vocabulary.SIZE for i in range(SLOTS)]
            positions[:] = [max(0, len(prompt) - i + number) for i in range(SLOTS)]
        tokens[slot], positions[slot] = token, len(prompt) + number
        seen.append(tile.step(tokens, positions)[slot].copy())
    return seen


def test_parameters_are_counted_exactly() -> None:
    """113,664: 58 x 64 and 96 x 64 embeddings, two blocks of 49,984, a norm of 128 and a head of 64 x 58."""
    block = 2 * (64 + 64) + (64 * 192 + 192) + (64 * 64 + 64) + (64 * 256 + 256) + (256 * 64 + 64)
    assert block == 49_984
    assert parameter_count() == 58 * 64 + 96 * 64 + 2 * block + 128 + 64 * 58 == 113_664
    assert sum(weight.numel() for weight in init_weights(0).values()) == 113_664


def test_init_depends_on_the_seed_alone() -> None:
    """The same seed gives the same bits and leaves torch's own generator alone; another seed gives others."""
    before = torch.get_rng_state()
    first, again, other = init_weights(0), init_weights(0), init_weights(1)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["head"], other["head"])


def test_attention_is_causal(weights: Weights) -> None:
    """What comes later changes no earlier logits."""
    ids = torch.tensor([PROMPTS[0]])
    changed = ids.clone()
    changed[0, 40:] = 3
    with torch.inference_mode():
        same = forward(weights, ids)[0, :40] - forward(weights, changed)[0, :40]
    assert same.abs().max() < 1e-5


@pytest.mark.parametrize("length", [1, 16, 47, 48, 49, 77, 94])
def test_the_cached_path_agrees_with_the_plain_network(weights: Weights, length: int) -> None:
    """Prefill and steps give the plain forward pass's logits within 1e-4, at any prompt length."""
    text = (PROMPTS[1] + PROMPTS[2])[:length]
    fed = [5, 9][: CONTEXT - length]
    with torch_threads(1), torch.inference_mode():
        cached = walk(Tile(weights), 3, text, fed, others=True)
        plain = forward(weights, torch.tensor([text + fed]))[0, length - 1 :].numpy()
    assert np.abs(plain).max() > 1
    assert np.abs(np.stack(cached) - plain).max() < 1e-4


# two threads beside a busy core take a minute for what one does in a second
@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_logits_are_bit_equal_in_any_company(weights: Weights, threads: int) -> None:
    """Alone or among 31 others, in any slot, after other tenants: the same bits, so that no tie can turn."""
    fed = vocabulary.encode("ABCDE")
    with torch_threads(threads), torch.inference_mode():
        tile = Tile(weights)
        alone = np.stack(walk(tile, 0, PROMPTS[0], fed, others=False))
        for slot in range(SLOTS):
            assert np.array_equal(np.stack(walk(tile, slot, PROMPTS[0], fed, others=True)), alone), slot
        assert tile.slots_agree()


def test_a_stale_cache_is_noticed(weights: Weights) -> None:
    """The self-check is no formality: a slot where one key differs a little fails it."""

    class Stale(Tile):
        def prefill(self, slot: int, tokens: Sequence[int], cached: int = 0) -> np.ndarray:
            logits = super().prefill(slot, tokens, cached)
            if slot == 17:
                self._cache[0, 0, 17, 0, 0, 0] *= 1.001
            return logits

    with torch_threads(1), torch.inference_mode():
        assert not Stale(weights).slots_agree()
