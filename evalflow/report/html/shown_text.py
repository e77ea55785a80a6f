"""Somebody else's text as a page may show it: every character seen, and none of it endless."""

from __future__ import annotations

import re
from dataclasses import dataclass

PREVIEW = 280
"""Characters of a long text that stand there before it is opened."""
FEW_LINES = 4
"""A text of as many lines is long, however few its characters."""
HEAD, TAIL = 3000, 1000
"""Of a text that is longer than both together, its beginning and its end are kept."""
LONGEST = 6000
"""Whatever else is written on the page is no longer."""
# control characters but tab and line feed, what has no width or turns a line's direction (of emoji and of Persian the
# joiners stay), halves of surrogate pairs, and what is no character at all
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f]"
)


@dataclass(frozen=True)
class Clip:
    """A long text in parts: what stands there, and what may be opened, where that is more.

    Of a text of which `n_left_out` characters are not on the page, `tail` is the end.
    """

    preview: str
    head: str = ""
    tail: str = ""
    n: int = 0
    n_left_out: int = 0


def visible(text: str) -> str:
    """The text with every character that cannot be seen, or moves others, written out: `‹U+0000›`, `‹U+202E›`."""
    return _UNSEEN.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text)


def clip(text: str) -> Clip:
    """The text as it is where it is short; else its beginning and end on one line, and more of both to be opened."""
    n = len(text)
    if n <= PREVIEW and text.count("\n") < FEW_LINES:
        return Clip(visible(text), n=n)
    end = PREVIEW // 3
    preview = text if n <= PREVIEW else f"{text[: PREVIEW - end]} … {text[-end:]}"
    preview = visible(preview).replace("\n", "⏎")
    if n <= HEAD + TAIL:
        return Clip(preview, visible(text), n=n)
    return Clip(preview, visible(text[:HEAD]), visible(text[-TAIL:]), n, n - HEAD - TAIL)


def short(text: str, most: int = 120) -> str:
    """A name or a message in at most `most` characters, its middle left out where it has more."""
    seen = visible(text[: 4 * most] + text[-4 * most :] if len(text) > 8 * most else text)
    if len(seen) <= most:
        return seen
    end = most // 3
    return f"{seen[: most - end - 1]}…{seen[-end:]}"
