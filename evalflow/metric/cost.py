"""What an arm's answers cost, all together: tokens, and money where prices are given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from evalflow.metric.protocol import Answer, Clusters, Metric, Stack
from evalflow.numeric.interval import Interval
from evalflow.price import Prices


class _Total(Metric):
    """The sum over all answers; a row without a number of its own leaves it a part, and is counted as excluded."""

    averages_seeds: ClassVar[bool] = False
    higher_is_better: ClassVar[bool] = False

    def value(self, stack: Stack) -> float:
        """The sum of the first statistic."""
        return float(stack[:, 0].sum())

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None: what was spent was spent."""
        return None


@dataclass(frozen=True)
class TokensIn(_Total):
    """Tokens of all prompts, cached ones among them."""

    figure: ClassVar[str | None] = "cost/tokens_in"
    measured_in: ClassVar[str] = "tokens"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(tokens,)`; None where they are not known."""
        return None if unit.row.tokens_in is None else (float(unit.row.tokens_in),)


@dataclass(frozen=True)
class TokensOut(_Total):
    """Tokens of all answers, reasoning among them."""

    figure: ClassVar[str | None] = "cost/tokens_out"
    measured_in: ClassVar[str] = "tokens"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(tokens,)`; None where they are not known."""
        return None if unit.row.tokens_out is None else (float(unit.row.tokens_out),)


@dataclass(frozen=True)
class Price(_Total):
    """What all answers cost at `prices`, in their currency."""

    figure: ClassVar[str | None] = "cost/price"
    prices: Prices = field(default_factory=Prices)

    def __post_init__(self) -> None:
        if self.prices.input_per_million is None:
            raise ValueError("prices is empty; give input_per_million and output_per_million")

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(price,)`; None for a row whose tokens are not known."""
        price = self.prices.of(unit.row)
        return None if price is None else (price,)
