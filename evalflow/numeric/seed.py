"""Sampling seeds: one per question and repeat, the same in whatever order they are asked."""

from __future__ import annotations

import hashlib
from operator import index


def derive_seed(root: int, item_id: str, repeat: int) -> int:
    """The sampling seed of one repeat of one item under a root seed: an integer from 0 to 2^31 - 1.

    Source: the first 4 bytes, big-endian and without the top bit, of SHA-256 over "root:repeat:item_id" in
    UTF-8. The numbers hold no colon and the id comes last, so no two triples share a text. A lone surrogate
    is encoded as if it were a character of its own, since ids come from data as it is.

    Raises:
        TypeError: root or repeat is no integer.
    """
    text = f"{index(root)}:{index(repeat)}:{item_id}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big") & 0x7FFFFFFF
