"""How far the raters of a run's answers agree: Krippendorff's alpha of all of them, and kappa of every two."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalflow.metric.sums import bootstrap_of_sums
from evalflow.numeric.alpha import alpha_of_ratings, alpha_of_sums, alpha_sums
from evalflow.numeric.interval import Interval
from evalflow.numeric.kappa import cohen_kappa
from evalflow.numeric.label_distance import Level
from evalflow.numeric.ratings import ratings_of
from evalflow.numeric.undefined import Undefined
from evalflow.record import Figure

LEVEL = 0.95
Given = Mapping[Hashable, Mapping[str, Hashable]]
"""What was rated -> rater -> the label that he gave it."""


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa of two raters over what both rated."""

    raters: tuple[str, str]
    figure: Figure


@dataclass(frozen=True)
class Agreement:
    """Alpha over all that two or more rated, `n_scored` of `n_total` things, and every two raters' kappa.

    Labels are names (`nominal`) or places on a scale (`ordinal`, whose kappas weigh squared distances).
    """

    level: str
    alpha: Figure
    kappas: tuple[Kappa, ...]


def agreement_of(given: Given, clusters: Mapping[Hashable, str], order: Sequence[Hashable], level: Level) -> Agreement:
    """The agreement of raters; `clusters` says what each rated thing depends on, `order` which labels there are.

    Alpha's interval is a bootstrap over clusters; where a figure is undefined it says why.
    """
    raters = sorted({rater for labels in given.values() for rater in labels})
    return Agreement(
        level,
        _alpha(given, clusters, order, level),
        tuple(Kappa(pair, _kappa(given, pair, order, level)) for pair in combinations(raters, 2)),
    )


def figure_of(value: float, interval: Callable[[], Interval | None], unit: str, n: tuple[int, int]) -> Figure:
    """A figure with its interval, or without one where that is undefined; `n` are all there are and those scored."""
    try:
        ends = interval()
    except Undefined:
        ends = None
    told: dict[str, Any] = {"unit": unit, "n_total": n[0], "n_scored": n[1]}
    if ends is not None:
        told |= {"low": ends.low, "high": ends.high, "level": ends.level, "method": ends.method}
    return Figure(value, **told)


def _alpha(given: Given, clusters: Mapping[Hashable, str], order: Sequence[Hashable], level: Level) -> Figure:
    shared = {unit: list(labels.values()) for unit, labels in given.items() if len(labels) > 1}
    counts: dict[str, Any] = {"n_total": len(given), "n_scored": len(shared), "unit": "alpha"}
    try:
        ratings = ratings_of(list(shared.values()), order)
        value = alpha_of_ratings(ratings, level).value
    except Undefined as undefined:
        only_one = undefined.reason == "no pairs"
        return Figure(None, reason="nothing was rated by two" if only_one else undefined.reason, **counts)
    names, sums = alpha_sums(ratings, [clusters[unit] for unit in shared], level)
    documents_d = np.array(names, dtype=object)

    def figure(added: NDArray[np.float64]) -> float:
        return alpha_of_sums(added, ratings.labels, level).value

    return figure_of(
        value, lambda: bootstrap_of_sums(sums, documents_d, figure, LEVEL), "alpha", (len(given), len(shared))
    )


def _kappa(given: Given, pair: tuple[str, str], order: Sequence[Hashable], level: Level) -> Figure:
    both = [(labels[pair[0]], labels[pair[1]]) for labels in given.values() if set(pair) <= set(labels)]
    counts: dict[str, Any] = {"n_total": len(given), "n_scored": len(both), "unit": "kappa"}
    one, other = [a for a, _ in both], [b for _, b in both]
    try:
        return Figure(cohen_kappa(one, other, "none" if level == "nominal" else "quadratic", order), **counts)
    except Undefined as undefined:
        reason = "nothing was rated by both" if undefined.reason == "no pairs" else undefined.reason
        return Figure(None, reason=reason, **counts)
