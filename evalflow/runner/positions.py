"""The positions of an arm's scored texts as one stack, of bounded size however long the texts are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evalflow.metric.protocol import Clusters, Stack
from evalflow.metric.spread import Spread
from evalflow.numeric.histogram import binned
from evalflow.runner.units import ArmScores, answers_of

EXACT = 1_000_000
"""Positions up to which every one is kept by itself."""


@dataclass(frozen=True)
class Positions:
    """Values and how often each occurs (N, 2), the cluster of each (N,), and the counts of what they come from."""

    stack: Stack
    clusters: Clusters
    n_total: int
    n_scored: int
    n_error: int
    n_texts: int


def positions_of(
    metric: Spread, arm: ArmScores, where: Mapping[str, object], seeds: Sequence[int], exact: int = EXACT
) -> Positions:
    """The positions of every planned row that matches `where`; a text without any counts as the longest does."""
    parts: list[Stack] = []
    clusters: list[str] = []
    answers, n_texts, n_error = answers_of(arm, where, seeds)
    n_lost, n_total, n_scored, longest = n_texts - len(answers), 0, 0, 1
    for answer in answers:
        values = metric.values(answer)
        if values is None:
            n_lost += 1
            continue
        longest = max(longest, values.size)
        known = values[np.isfinite(values)]
        n_total, n_scored = n_total + values.size, n_scored + known.size
        parts.append(np.column_stack([known, np.ones(known.size)]))
        clusters.append(answer.item.dependence)
        if n_scored > exact and n_scored - known.size <= exact:
            parts = [_few(part) for part in parts]  # from here on they are too many to keep
        elif n_scored > exact:
            parts[-1] = _few(parts[-1])
    names = np.repeat(np.array(clusters, dtype=object), [len(part) for part in parts]) if parts else np.array([])
    stack = np.concatenate(parts) if parts else np.empty((0, 2))
    return Positions(stack, names, n_total + n_lost * longest, n_scored, n_error * longest, n_texts)


def _few(part: Stack) -> Stack:
    """The bins of a text's values, each by its middle, and how many lie in each."""
    middles, counts = binned(part[:, 0])
    return np.column_stack([middles, counts])
