"""What every run reports about its own rows, asked for or not: errors, cut answers, coverage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from evalflow.metric.protocol import Answer, Metric
from evalflow.metric.rate import Rate


@dataclass(frozen=True)
class ErrorShare(Rate):
    """The share of planned rows that have no answer."""

    figure: ClassVar[str | None] = "n/error_share"
    higher_is_better: ClassVar[bool] = False

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(1,)` for an error row, else `(0,)`."""
        return (float(unit.row.status == "error"),)


@dataclass(frozen=True)
class TruncatedShare(Rate):
    """The share of answers that were cut at a token limit instead of ending by themselves."""

    figure: ClassVar[str | None] = "n/truncated_share"
    higher_is_better: ClassVar[bool] = False

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(1,)` for a cut answer, else `(0,)`; None where the model did not say why it stopped."""
        if unit.row.finish_reason is None:
            return None
        return (float(unit.row.finish_reason == "length"),)


@dataclass(frozen=True)
class Coverage(Rate):
    """The share of planned rows that every quality metric scored."""

    figure: ClassVar[str | None] = "n/coverage"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(1,)` where no metric before this one excluded the row and it has an answer."""
        scored = unit.row.status != "error" and all(stats is not None for stats in unit.row.stats.values())
        return (float(scored),)


HEALTH: Mapping[str, Metric] = MappingProxyType(
    {"coverage": Coverage(), "error_share": ErrorShare(), "truncated_share": TruncatedShare()}
)
"""Computed after the quality metrics, coverage first: it reads what those excluded."""
