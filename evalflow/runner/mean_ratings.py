"""Arms by the numbers that people gave to their answers.

Several raters of one answer do not make several items: what they gave is averaged first. Arms are compared on each item
by those who rated both, so that one rater's severity is no arm's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evalflow.comparison import Measure, Paired, conclude
from evalflow.numeric.cluster import mean_interval
from evalflow.numeric.interval import Interval
from evalflow.numeric.moments import mean
from evalflow.numeric.seed import derive_seed
from evalflow.ratings import Rating
from evalflow.record import Delta, Figure, Item
from evalflow.runner.rater_agreement import LEVEL, Agreement, agreement_of, figure_of
from evalflow.runner.review_sheet import Sheet, shown_as

FIGURE = "rating"
ItemStats = dict[str, tuple[float, ...]]


@dataclass(frozen=True)
class ArmRatings:
    """One arm's mean rating over items, and how often each number was given to its answers."""

    arm: str
    mean: Figure
    counts: Mapping[float, int]


@dataclass(frozen=True)
class RaterMean:
    """How many answers somebody rated, and how severely."""

    rater: str
    n: int
    mean: float


@dataclass(frozen=True)
class Difference:
    """Candidate minus reference, in ratings, paired by item."""

    reference: str
    candidate: str
    delta: Delta


@dataclass(frozen=True)
class MeanRatings:
    """All that was rated, on a `scale` (None: on no sheet's)."""

    scale: tuple[int, int] | None
    arms: tuple[ArmRatings, ...]
    by_rater: tuple[RaterMean, ...]
    differences: tuple[Difference, ...]
    agreement: Agreement


def mean_ratings(
    ratings: Sequence[Rating], sheets: Sequence[Sheet], items: Mapping[str, Item], arms: Sequence[str]
) -> MeanRatings:
    """Every arm of `arms` that was rated, and every two of them, the earlier one the reference; Holm over all pairs."""
    ordered = sorted(ratings, key=lambda one: (one.item_id, one.arm, one.seed, one.rater))
    rated = [arm for arm in arms if any(one.arm == arm for one in ordered)]
    shown = {arm: _shown(arm, sheets) for arm in rated}
    scale = next((sheet.scale for sheet in sheets if sheet.scale is not None), None)
    tested = {pair: _difference(*pair, ordered, items) for pair in combinations(rated, 2)}
    keys = {(f"{candidate} {reference}", FIGURE): pair for pair in tested for reference, candidate in [pair]}
    concluded = conclude({key: tested[pair] for key, pair in keys.items()})
    return MeanRatings(
        scale=scale,
        arms=tuple(_arm(arm, ordered, items, shown[arm]) for arm in rated),
        by_rater=tuple(_rater(name, ordered) for name in sorted({one.rater for one in ordered})),
        differences=tuple(Difference(*keys[key], delta) for key, delta in concluded.items()),
        agreement=_agreement(ordered, sheets, items, scale),
    )


def _shown(arm: str, sheets: Sequence[Sheet]) -> set[str]:
    """The items under which an answer of the arm was on a sheet to be rated."""
    single = [ticket for sheet in sheets if sheet.kind == "single" for ticket in sheet.tickets]
    return {ticket.item_id for ticket in single for of, _ in ticket.answers if of == arm}


def _arm(arm: str, ratings: Sequence[Rating], items: Mapping[str, Item], shown: set[str]) -> ArmRatings:
    own = [one for one in ratings if one.arm == arm]
    by_item: dict[str, list[float]] = {}
    for one in own:
        by_item.setdefault(one.item_id, []).append(one.value)
    values = [mean(given) for given in by_item.values()]
    clusters = [items[name].dependence for name in by_item]

    def interval() -> Interval | None:  # ratings that are all the same claim no certainty
        return mean_interval(values, clusters, LEVEL) if len(set(values)) > 1 else None

    figure = figure_of(mean(values), interval, "rating", (len(shown | set(by_item)), len(values)))
    return ArmRatings(arm, figure, dict(sorted(Counter(one.value for one in own).items())))


def _rater(name: str, ratings: Sequence[Rating]) -> RaterMean:
    values = [one.value for one in ratings if one.rater == name]
    return RaterMean(name, len(values), mean(values))


def _difference(
    reference: str, candidate: str, ratings: Sequence[Rating], items: Mapping[str, Item]
) -> tuple[Paired, Delta]:
    given: dict[tuple[str, str], dict[str, list[float]]] = {}
    for one in ratings:
        if one.arm in (reference, candidate):
            given.setdefault((one.item_id, one.rater), {}).setdefault(one.arm, []).append(one.value)
    before: dict[str, list[float]] = {}
    after: dict[str, list[float]] = {}
    for (item_id, _), by_arm in given.items():
        if len(by_arm) == 2:
            before.setdefault(item_id, []).append(mean(by_arm[reference]))
            after.setdefault(item_id, []).append(mean(by_arm[candidate]))
    sides = [{name: (mean(values),) for name, values in side.items()} for side in (before, after)]
    touched = {item_id for item_id, _ in given}
    clusters = {name: item.dependence for name, item in items.items() if name in touched}
    paired = Paired(reference, candidate, (FIGURE,), LEVEL, test="permutation")
    measure = Measure(_mean, _first, is_mean=True, is_rate=False, higher_is_better=True)
    seed = derive_seed(0, f"{reference}\n{candidate}", 0)
    return paired, paired.compare(measure, sides[0], sides[1], clusters, seed)


def _mean(stack: NDArray[np.float64]) -> float:
    return mean(stack[:, 0])


def _first(stats: tuple[float, ...]) -> float:
    return stats[0]


def _agreement(
    ratings: Sequence[Rating], sheets: Sequence[Sheet], items: Mapping[str, Item], scale: tuple[int, int] | None
) -> Agreement:
    """Of raters on what they saw: a text that several arms gave was rated once."""
    seen = shown_as(sheets)
    given: dict[Hashable, dict[str, Hashable]] = {}
    clusters: dict[Hashable, str] = {}
    for one in ratings:
        answer = (one.item_id, one.arm, one.seed)
        unit = seen.get(answer, answer)
        given.setdefault(unit, {})[one.rater] = one.value
        clusters[unit] = items[one.item_id].dependence
    values = {one.value for one in ratings}
    places = {float(place) for place in range(scale[0], scale[1] + 1)} if scale else set()
    return agreement_of(given, clusters, sorted(values | places), "ordinal")
