"""What every run reports about its own rows, asked for or not: errors, cut answers, coverage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    """The share of planned rows that have an answer which every metric of `of` scored."""

    figure: ClassVar[str | None] = "n/coverage"
    missing: ClassVar[tuple[float, ...] | None] = (0.0,)
    of: tuple[str, ...] = ()

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """`(1,)` for a row that all of them scored, else `(0,)`."""
        scored = unit.row.status != "error" and all(unit.row.stats.get(key) is not None for key in self.of)
        return (float(scored),)


NAMES = ("coverage", "error_share", "truncated_share")
"""Keys that no metric of an experiment may take."""


def health(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """The metrics that every run adds to its own; coverage is of the quality metrics, which name no figure."""
    quality = tuple(key for key, metric in metrics.items() if metric.grain == "row" and metric.figure is None)
    return {"coverage": Coverage(quality), "error_share": ErrorShare(), "truncated_share": TruncatedShare()}
