"""Totals of what answers cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evalflow.metric.cost import Price, TokensIn, TokensOut
from evalflow.metric.protocol import Answer
from evalflow.price import Prices
from tests.metric.by_hand import answer

PRICES = Prices(input_per_million=2.0, cached_per_million=0.5, output_per_million=10.0)


def told(**counts: int | None) -> Answer:
    whole = answer("text")
    return Answer(whole.item, replace(whole.row, **counts))


def test_a_price_by_hand() -> None:
    """1,000 tokens of which 400 cached, and 100 written: 600 x 2 + 400 x 0.5 + 100 x 10 = 2,400 millionths."""
    row = told(tokens_in=1000, cached_tokens=400, tokens_out=100)
    assert Price(PRICES).stats(row) == pytest.approx((0.0024,))
    assert Price(Prices(2.0, None, 10.0)).stats(row) == pytest.approx((0.003,))  # cached ones as any other


@pytest.mark.parametrize("unknown", ["tokens_in", "tokens_out"])
def test_unknown_tokens_have_no_price(unknown: str) -> None:
    """What is not known is excluded, and never 0; cached tokens that are not known are not reduced."""
    counts = {"tokens_in": 1000, "tokens_out": 100, unknown: None}
    assert Price(PRICES).stats(told(**counts)) is None
    assert Price(PRICES).stats(told(tokens_in=1000, tokens_out=100, cached_tokens=None)) == pytest.approx((0.003,))


def test_tokens_are_summed_and_an_unknown_count_is_excluded() -> None:
    """30 and 12 make 42; there is no interval around what was spent."""
    assert TokensIn().stats(told(tokens_in=30)) == (30.0,)
    assert TokensOut().stats(told(tokens_out=None)) is None
    stack = np.array([[30.0], [12.0]])
    assert TokensOut().value(stack) == 42.0
    assert TokensOut().interval(stack, np.array(["a", "b"], dtype=object), 0.95) is None


def test_a_price_needs_prices() -> None:
    """Without any there is nothing to add up."""
    with pytest.raises(ValueError, match="prices is empty; give input_per_million"):
        Price()
