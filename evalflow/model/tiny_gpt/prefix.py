"""Prompt prefixes that were read before: blocks of keys and values, put back instead of read again.

A block's keys and values depend on its tokens and all before them alone, and a copy has the bits of the original
(see `tile`), so what the store happens to hold changes times and `cached_tokens`, never a text.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from evalflow.model.tiny_gpt.sampling import Logits
from evalflow.model.tiny_gpt.shape import BLOCK
from evalflow.model.tiny_gpt.tile import Block, Tile

CAPACITY = 64
"""How many blocks are kept, the least recently used leaving first: 48 KiB each in float32."""

Key = tuple[str, tuple[int, ...]]  # the salt, every token up to the block's end


class PrefixStore:
    """Whole blocks of the prompts read so far, each for requests of its own salt only."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._blocks: OrderedDict[Key, Block] = OrderedDict()  # the latest used at the end
        self.lookups = self.hits = 0  # of blocks

    def prefill(self, tile: Tile, slot: int, tokens: Sequence[int], salt: str) -> tuple[Logits, int]:
        """Read a prompt into `slot`; the logits (V,) of what follows, and how many tokens came from here.

        The block that ends the prompt is always read: the store has no logits.
        """
        keys = [(salt, tuple(tokens[:end])) for end in range(BLOCK, len(tokens) + 1, BLOCK)]
        cached = 0
        while cached + BLOCK < len(tokens) and self._restore(tile, slot, cached, keys[cached // BLOCK]):
            cached += BLOCK
        logits_v = tile.prefill(slot, tokens, cached)
        for start in range(cached, len(keys) * BLOCK, BLOCK):
            self._blocks[keys[start // BLOCK]] = tile.block(slot, start)
        while len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)
        return logits_v, cached

    def _restore(self, tile: Tile, slot: int, start: int, key: Key) -> bool:
        """Put the block of `key` into `slot`, if it is kept."""
        self.lookups += 1
        block = self._blocks.get(key)
        if block is None:
            return False
        self.hits += 1
        self._blocks.move_to_end(key)
        tile.put(slot, start, block)
        return True
