"""The store of prompt prefixes: what it keeps, for whom, and that nobody's bits change."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from evalflow.model.tiny_gpt import prefix as prefix_module
from evalflow.model.tiny_gpt import tile as tile_module
from evalflow.model.tiny_gpt import vocabulary
from evalflow.model.tiny_gpt.network import init_weights
from evalflow.model.tiny_gpt.pinned import torch_threads
from evalflow.model.tiny_gpt.prefix import PrefixStore
from evalflow.model.tiny_gpt.shape import BLOCK, CONTEXT, SLOTS
from evalflow.model.tiny_gpt.tile import Tile

TEXT = vocabulary.encode("the quick brown fox jumps over the lazy dog ".replace("b", "B") * 3)[:CONTEXT]
"""A prompt of 96 tokens, to be cut."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As in the engine's worker."""
    with torch_threads(1), torch.inference_mode():
        yield


@pytest.fixture
def tile() -> Tile:
    """A tile whose random weights spread the logits over several units."""
    return Tile({name: weight * 5 if weight.dim() == 2 else weight for name, weight in init_weights(0).items()})


@pytest.fixture
def blocks_of_16(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorter blocks, so that a prompt has several whole ones."""
    for module in (tile_module, prefix_module):
        monkeypatch.setattr(module, "BLOCK", 16)


def changed(tokens: list[int], place: int) -> list[int]:
    """The tokens with another one at `place`."""
    return [*tokens[:place], tokens[place] % 50 + 1, *tokens[place + 1 :]]


def continued(tile: Tile, slot: int, logits_v: np.ndarray, length: int) -> list[np.ndarray]:
    """The logits (V,) after a prompt and after each of up to four greedy tokens."""
    seen = [logits_v.copy()]
    for position in range(length, min(length + 4, CONTEXT)):
        tokens, positions = np.zeros(SLOTS, dtype=np.int64), np.zeros(SLOTS, dtype=np.int64)
        tokens[slot], positions[slot] = seen[-1].argmax(), position
        seen.append(tile.step(tokens, positions)[slot].copy())
    return seen


@pytest.mark.parametrize("block", [16, 48])
@pytest.mark.parametrize("length", [1, 16, 17, 48, 49, 64, 70, 95])
def test_a_hit_changes_no_bit(tile: Tile, monkeypatch: pytest.MonkeyPatch, block: int, length: int) -> None:
    """Read whole, or put back into any slot after a tenant whose prompt was longer: the same bits, to the last."""
    for module in (tile_module, prefix_module):
        monkeypatch.setattr(module, "BLOCK", block)
    store, prompt = PrefixStore(), TEXT[:length]
    whole = continued(tile, 0, tile.prefill(0, prompt), length)
    hits = (length - 1) // block * block
    for slot, expected in ((3, 0), (3, hits), (0, hits), (31, hits)):
        tile.prefill(slot, changed(TEXT, 0))
        logits_v, cached = store.prefill(tile, slot, prompt, "")
        assert cached == expected
        assert np.array_equal(continued(tile, slot, logits_v, length), whole)


def test_a_wrong_number_in_a_kept_block_would_be_seen(tile: Tile) -> None:
    """The equality above can fail: change one kept key by a thousandth, and the logits are others."""
    store, prompt = PrefixStore(), TEXT[:70]
    first, _ = store.prefill(tile, 0, prompt, "")
    again, cached = store.prefill(tile, 1, prompt, "")
    assert np.array_equal(first, again)
    (block,) = store._blocks.values()
    block[0, 0, 0, 7, 0] *= 1.001
    spoilt, cached = store.prefill(tile, 2, prompt, "")
    assert cached == 48
    assert not np.array_equal(first, spoilt)


@pytest.mark.usefixtures("blocks_of_16")
def test_cached_tokens_by_hand(tile: Tile) -> None:
    """Blocks of 16: what is shared counts in whole blocks, and the block that ends a prompt is always read."""
    store = PrefixStore()

    def cached(tokens: list[int], salt: str = "") -> int:
        return store.prefill(tile, 0, tokens, salt)[1]

    assert cached(TEXT[:70]) == 0
    assert cached(TEXT[:70]) == 64
    assert cached(TEXT[:64]) == 48  # its fourth block ends it
    assert cached(TEXT[:65]) == 64
    assert cached(TEXT[:95]) == 64
    assert cached(TEXT[:95]) == 80  # the block from 64 to 80 was new to the call before
    assert cached(changed(TEXT, 40)[:70]) == 32  # the third block differs, and so do all after it
    assert cached(changed(TEXT, 0)[:70]) == 0  # equal tokens after another beginning are another prefix
    assert cached(TEXT[:16]) == cached(TEXT[:5]) == 0


def test_salts_share_nothing(tile: Tile) -> None:
    """Each salt reads for itself once, the empty one too, and all get the same bits."""
    store = PrefixStore()
    found = [store.prefill(tile, 0, TEXT[:70], salt) for salt in ("", "a", "b", "a", "b", "")]
    assert [cached for _, cached in found] == [0, 0, 0, 48, 48, 48]
    assert all(np.array_equal(logits_v, found[0][0]) for logits_v, _ in found)
    assert (store.lookups, store.hits) == (6, 3)


def test_the_least_recently_used_block_leaves_first(tile: Tile) -> None:
    """Room for two: a, b, a again, then c drives out b; who was driven out reads again and gets the same bits."""
    store = PrefixStore(capacity=2)
    found = {salt: store.prefill(tile, 0, TEXT[:70], salt)[0] for salt in ("a", "b")}
    assert [store.prefill(tile, 0, TEXT[:70], salt)[1] for salt in ("a", "c", "a")] == [48, 0, 48]
    logits_v, cached = store.prefill(tile, 9, TEXT[:70], "b")
    assert cached == 0
    assert np.array_equal(logits_v, found["b"])
    assert len(store._blocks) == 2


def test_a_kept_block_is_a_copy(tile: Tile) -> None:
    """The slot that read it goes on to other prompts; what is kept stays."""
    store = PrefixStore()
    store.prefill(tile, 0, TEXT[:70], "")
    (block,) = store._blocks.values()
    before = block.clone()
    tile.prefill(0, changed(TEXT, 0)[:70])
    store.prefill(tile, 1, TEXT[:70], "")
    tile.put(1, 0, torch.zeros_like(block))
    assert torch.equal(block, before)
    assert block.shape[3] == BLOCK
