"""What answers cost."""

from __future__ import annotations

from typing import Any

import pytest

from evalflow.price import Prices
from evalflow.record import Completion


def completion(**counts: Any) -> Completion:
    return Completion("x", "stop", **{"tokens_in": 1000, "tokens_out": 100, **counts})


def test_tokens_times_prices() -> None:
    """1000 in at 2 and 100 out at 10 a million are 0.002 and 0.001."""
    prices = Prices(input_per_million=2.0, output_per_million=10.0)
    assert prices.of(completion()) == pytest.approx(0.003)
    assert prices.of(completion(cached_tokens=400)) == pytest.approx(0.003)


def test_the_cached_part_has_its_own_price() -> None:
    """600 at 2 and 400 at 0.5 a million are 0.0012 and 0.0002; where nobody says what was cached, nothing was."""
    prices = Prices(input_per_million=2.0, cached_per_million=0.5, output_per_million=10.0)
    assert prices.of(completion(cached_tokens=400)) == pytest.approx(0.0024)
    assert prices.of(completion(cached_tokens=None)) == pytest.approx(0.003)


def test_unknown_is_not_free() -> None:
    """Without prices, or without a count, there is no price; an answer at a price of 0 costs 0."""
    prices = Prices(input_per_million=2.0, output_per_million=10.0)
    assert Prices().of(completion()) is None
    assert prices.of(completion(tokens_in=None)) is None
    assert prices.of(completion(tokens_out=None)) is None
    assert Prices(input_per_million=0.0, output_per_million=0.0).of(completion()) == 0.0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"input_per_million": 1.0}, "belong together; give both or neither"),
        ({"input_per_million": -1.0, "output_per_million": 1.0}, "input_per_million is -1.0"),
        ({"cached_per_million": 1.0}, "cached_per_million"),
    ],
)
def test_prices_that_cannot_be_meant(wrong: dict[str, Any], said: str) -> None:
    """Half a price would count half an answer."""
    with pytest.raises(ValueError, match=said):
        Prices(**wrong)
