"""Which of two arms people like better, from their choices between answers to the same item.

Several raters of one item do not make several items: what they chose there is averaged first, a tie as half, and the
interval and the test are over items, or over their clusters. What both arms answered to the letter is a tie by design.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from evalflow.numeric.cluster import cluster_means
from evalflow.numeric.moments import mean
from evalflow.numeric.multiplicity import holm, rejected
from evalflow.numeric.proportion import rate_interval
from evalflow.numeric.ratio import ratio, share_interval
from evalflow.numeric.sign import sign_test, smallest_p
from evalflow.ratings import Choice
from evalflow.record import Conclusion, Figure, Item
from evalflow.runner.rater_agreement import LEVEL, Agreement, agreement_of, figure_of
from evalflow.runner.review_sheet import Sheet

_SCORE = {"won": 1.0, "tie": 0.5, "lost": 0.0}
_LABELS = tuple(_SCORE)
_DUST = 2.0**40  # thirds do not add up to halves in floats


@dataclass(frozen=True)
class Counted:
    """How often the candidate won, lost and tied."""

    won: int
    lost: int
    tied: int


@dataclass(frozen=True)
class RaterShare:
    """One rater's choices, and the candidate's share of them, ties as half."""

    rater: str
    counts: Counted
    share: Figure


@dataclass(frozen=True)
class Preference:
    """One pair of arms.

    `share` is the candidate's, ties as half, over items; `decided` its share of the choices that are no ties; `left`
    the share of those that fell on the left answer. `choices` counts what raters chose, `items` the units of the sign
    test that lean to either side: clusters, of which there are `n_units`. `n_identical` items are level by design.
    """

    reference: str
    candidate: str
    share: Figure
    decided: Figure
    left: Figure
    choices: Counted
    items: Counted
    n_units: int
    n_identical: int
    p: float
    p_adjusted: float
    by_rater: tuple[RaterShare, ...]
    agreement: Agreement
    conclusion: Conclusion = "undefined"
    words: str = ""


@dataclass(frozen=True)
class _Chosen:
    """One choice, seen from the candidate: of which two answers, by whom, and on which side the liked one stood."""

    rater: str
    item_id: str
    of: Hashable
    result: str
    side: str


def preferences(
    choices: Sequence[Choice], sheets: Sequence[Sheet], items: Mapping[str, Item], arms: Sequence[str]
) -> tuple[Preference, ...]:
    """Every pair of `arms` between which somebody chose, the earlier one its reference; Holm over all pairs."""
    found = []
    for reference, candidate in combinations(arms, 2):
        chosen = [
            _seen_from(candidate, one) for one in choices if {one.left[0], one.right[0]} == {reference, candidate}
        ]
        if chosen:
            found.append(_preference(reference, candidate, chosen, sheets, items))
    adjusted = holm([one.p for one in found])
    return tuple(_worded(replace(one, p_adjusted=p)) for one, p in zip(found, adjusted, strict=True))


def _seen_from(candidate: str, one: Choice) -> _Chosen:
    liked = {"left": one.left[0], "right": one.right[0], "tie": None}[one.liked]
    result = "tie" if liked is None else "won" if liked == candidate else "lost"
    return _Chosen(one.rater, one.item_id, frozenset((one.left, one.right)), result, one.liked)


def _preference(
    reference: str, candidate: str, chosen: Sequence[_Chosen], sheets: Sequence[Sheet], items: Mapping[str, Item]
) -> Preference:
    identical = {
        item_id
        for sheet in sheets
        for item_id, one, other in sheet.identical
        if {one[0], other[0]} == {reference, candidate}
    }
    by_item: dict[str, list[float]] = {}
    for one in chosen:
        by_item.setdefault(one.item_id, []).append(_SCORE[one.result])
    level = identical - set(by_item)
    means = {item_id: mean(scores) for item_id, scores in by_item.items()} | dict.fromkeys(level, 0.5)
    names = sorted(means)
    values, clusters = np.array([means[name] for name in names]), [items[name].dependence for name in names]
    _, leanings = cluster_means(np.round((2 * values - 1) * _DUST) / _DUST, clusters)
    signs = sign_test(np.round(leanings * _DUST) / _DUST)
    shown = {
        ticket.item_id
        for sheet in sheets
        for ticket in sheet.tickets
        if {arm for arm, _ in ticket.answers} == {reference, candidate}
    }
    return Preference(
        reference=reference,
        candidate=candidate,
        share=_share(values, clusters, len(shown | set(means))),
        decided=_decided(chosen, items),
        left=_left(chosen, items),
        choices=_counted(chosen),
        items=Counted(signs.wins, signs.losses, signs.ties),
        n_units=leanings.size,
        n_identical=len(level),
        p=signs.p,
        p_adjusted=signs.p,
        by_rater=tuple(_of_rater(name, chosen, items) for name in sorted({one.rater for one in chosen})),
        agreement=_agreement(chosen, items),
    )


def _counted(chosen: Sequence[_Chosen]) -> Counted:
    results = [one.result for one in chosen]
    return Counted(results.count("won"), results.count("lost"), results.count("tie"))


def _share(values: Any, clusters: Sequence[str], n_total: int) -> Figure:
    return figure_of(mean(values), lambda: rate_interval(values, clusters, LEVEL), "share", (n_total, len(values)))


def _of_rater(rater: str, chosen: Sequence[_Chosen], items: Mapping[str, Item]) -> RaterShare:
    own = sorted((one for one in chosen if one.rater == rater), key=lambda one: one.item_id)
    values = np.array([_SCORE[one.result] for one in own])
    share = _share(values, [items[one.item_id].dependence for one in own], len(own))
    return RaterShare(rater, _counted(own), share)


def _decided(chosen: Sequence[_Chosen], items: Mapping[str, Item]) -> Figure:
    """The candidate's share of the choices that are no ties; those of one item depend on each other."""
    by_item = Counter(one.item_id for one in chosen if one.result != "tie")
    won_by_item = Counter(one.item_id for one in chosen if one.result == "won")
    if not by_item:
        return Figure(None, unit="share", n_total=len(chosen), reason="every choice was a tie")
    names = sorted(by_item)
    won, made = [won_by_item[name] for name in names], [by_item[name] for name in names]
    clusters, n = [items[name].dependence for name in names], (len(chosen), by_item.total())
    return figure_of(ratio(won, made), lambda: share_interval(won, made, clusters, LEVEL), "share", n)


def _left(chosen: Sequence[_Chosen], items: Mapping[str, Item]) -> Figure:
    """How much of what was no tie fell on the left: half, where the side says nothing to raters."""
    made = sorted((one for one in chosen if one.side != "tie"), key=lambda one: (one.item_id, one.rater))
    if not made:
        return Figure(None, unit="share", n_total=len(chosen), reason="every choice was a tie")
    values = [float(one.side == "left") for one in made]
    clusters = [items[one.item_id].dependence for one in made]
    n = (len(chosen), len(made))
    return figure_of(mean(values), lambda: rate_interval(values, clusters, LEVEL), "share", n)


def _agreement(chosen: Sequence[_Chosen], items: Mapping[str, Item]) -> Agreement:
    given: dict[Hashable, dict[str, Hashable]] = {}
    clusters: dict[Hashable, str] = {}
    for one in sorted(chosen, key=lambda one: (one.item_id, one.rater)):
        unit = (one.item_id, one.of)
        given.setdefault(unit, {})[one.rater] = one.result
        clusters[unit] = items[one.item_id].dependence
    return agreement_of(given, clusters, _LABELS, "nominal")


def _worded(one: Preference) -> Preference:
    assert one.share.value is not None, "somebody chose"
    low, high = (0.0, 1.0) if one.share.low is None or one.share.high is None else (one.share.low, one.share.high)
    ahead = one.items.won - one.items.lost
    (significant,) = rejected([one.p_adjusted], 1 - LEVEL)
    conclusion: Conclusion = "not shown"
    # the test is of the signs and the interval of the mean: both have to say it
    if significant and low > 0.5 and ahead > 0:
        conclusion = "better"
    elif significant and high < 0.5 and ahead < 0:
        conclusion = "worse"
    says = {
        "better": f"{one.candidate} is liked better than {one.reference}",
        "worse": f"{one.reference} is liked better than {one.candidate}",
    }.get(conclusion, f"no preference between {one.candidate} and {one.reference} is shown")
    clustered = one.n_units < one.share.n_scored
    unit = "clusters" if clustered else "items"
    interval = f" [{100 * low:.1f}, {100 * high:.1f}]" if one.share.low is not None else ""
    clauses = [
        f"{one.candidate} has {100 * one.share.value:.1f} %{interval} of {one.share.n_scored} items, ties as half"
    ]
    clauses.append(f"{one.items.won} {unit} for it, {one.items.lost} against, {one.items.tied} level")
    if one.n_identical:
        items = "1 item" if one.n_identical == 1 else f"{one.n_identical} items"
        clauses.append(f"{items} level by design, both answers being one text")
    clauses.append(f"exact sign test p = {one.p:.3g}, p = {one.p_adjusted:.3g} after Holm")
    discordant = one.items.won + one.items.lost
    if smallest_p(discordant) > 1 - LEVEL:
        clauses.append(f"with {discordant} that lean to a side, {1 - LEVEL:.2g} cannot be reached")
    return replace(one, conclusion=conclusion, words=f"{says}: {'; '.join(clauses)}")
