"""Cache hits: half of the prompt's tokens, and unknown is not 0."""

import pytest

from evalflow.metric.cache_hit_share import CacheHitShare
from evalflow.metric.protocol import figure_names
from tests.metric.by_hand import answer


@pytest.mark.parametrize(("cached", "total", "score"), [(0, 100, 0.0), (49, 100, 0.0), (50, 100, 1.0), (7, 7, 1.0)])
def test_a_hit_is_half_of_the_input(cached, total, score):
    """A row is a hit from half of its input tokens on."""
    assert CacheHitShare().stats(answer(cached_tokens=cached, tokens_in=total)) == (score,)


@pytest.mark.parametrize(("cached", "total"), [(None, 100), (None, None), (5, None), (0, None), (0, 0)])
def test_an_unknown_count_is_not_0(cached, total):
    """A row whose cached or input tokens are not known is excluded, and so is one without input."""
    assert CacheHitShare().stats(answer(cached_tokens=cached, tokens_in=total)) is None


def test_its_name_is_fixed():
    """The figure is cache/hit_share whatever its key."""
    assert figure_names("c", CacheHitShare()) == ("cache/hit_share",)
