"""How a text is scored, as settings: what they mean, and which make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from evalflow.scoring import Scoring


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ({}, None),
        ({"path": "whole", "chunk": 7}, None),
        ({"path": "chunks"}, 32),
        ({"path": "chunks", "chunk": 7}, 7),
        ({"path": "tokens", "chunk": 7}, 1),
    ],
)
def test_how_many_tokens_are_computed_at_once(settings: dict[str, Any], tokens: int | None) -> None:
    """All of a window, a chunk of them, or one; a chunk's size means nothing to the other paths."""
    assert Scoring(**settings).chunk_tokens == tokens


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"window": 1}, "window is 1; give at least 2 tokens"),
        ({"stride": 0}, "stride is 0; give 1 to the window's 512 tokens"),
        ({"window": 8, "stride": 9}, "stride is 9; give 1 to the window's 8 tokens"),
        ({"window": 8, "stride": 8, "bos": "none"}, "stride is 8, the whole window: .*; give at most 7, or bos=each"),
        ({"window": 8, "stride": 8, "bos": "first"}, "stride is 8, the whole window: .*; give at most 7, or bos=each"),
        ({"chunk": 0}, "chunk is 0; give at least 1"),
        ({"batch": 0}, "batch is 0; give at least 1"),
        ({"free_from": 0}, "free_from is 0; give at least 1"),
        ({"free_run": -1}, "free_run is -1; give at least 0"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], said: str) -> None:
    """A window has a token to see and one to score, and none of the text is passed over between two windows."""
    with pytest.raises(ValueError, match=said):
        Scoring(**settings)


def test_the_ends_of_what_can_be() -> None:
    """Windows of two tokens that advance by one, or by themselves."""
    for stride in (1, 2, None):
        assert Scoring(window=2, stride=stride, chunk=1, batch=1, free_run=0, free_from=1).stride == stride
