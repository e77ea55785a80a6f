"""Which of two arms people like better, from their choices between answers to the same item.

Several raters of one item do not make several items: what they chose there is averaged first, a tie as half, and the
interval and the test are over items, or over their clusters. What both arms answered to the letter is a tie by design.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evalflow.comparison import Measure, Paired
from evalflow.numeric.interval import Interval
from evalflow.numeric.moments import mean
from evalflow.numeric.multiplicity import holm, rejected
from evalflow.numeric.proportion import rate_interval
from evalflow.numeric.ratio import ratio, share_interval
from evalflow.numeric.seed import derive_seed
from evalflow.numeric.sign import smallest_p
from evalflow.ratings import Choice
from evalflow.record import Conclusion, Delta, Figure, Item
from evalflow.runner.rater_agreement import LEVEL, Agreement, agreement_of, figure_of
from evalflow.runner.review_sheet import Sheet

_SCORE = {"won": 1.0, "tie": 0.5, "lost": 0.0}
_LABELS = tuple(_SCORE)


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
    `mde` is how far from one half a share has to be for such a review to show it; None where none could.
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
    mde: float | None
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
    scores: dict[str, list[float]] = {}
    for one in chosen:
        scores.setdefault(one.item_id, []).append(_SCORE[one.result])
    level = identical - set(scores)
    means = {item_id: mean(given) for item_id, given in scores.items()} | dict.fromkeys(level, 0.5)
    delta = _delta(reference, candidate, means, items)
    assert delta.p is not None, "a sign test has a p wherever somebody chose"
    shown = {
        ticket.item_id
        for sheet in sheets
        for ticket in sheet.tickets
        if {arm for arm, _ in ticket.answers} == {reference, candidate}
    }
    return Preference(
        reference=reference,
        candidate=candidate,
        share=_share(delta, means, items, len(shown | set(means))),
        decided=_decided(chosen, items),
        left=_left(chosen, items),
        choices=_counted(chosen),
        items=Counted(delta.wins, delta.losses, delta.ties),
        n_units=delta.n_clusters,
        n_identical=len(level),
        p=delta.p,
        p_adjusted=delta.p,
        mde=None if delta.mde is None else delta.mde / 2,
        by_rater=tuple(
            _of_rater(name, (reference, candidate), chosen, items) for name in sorted({one.rater for one in chosen})
        ),
        agreement=_agreement(chosen, items),
    )


def _counted(chosen: Sequence[_Chosen]) -> Counted:
    results = [one.result for one in chosen]
    return Counted(results.count("won"), results.count("lost"), results.count("tie"))


def _delta(reference: str, candidate: str, means: Mapping[str, float], items: Mapping[str, Item]) -> Delta:
    """The candidate's score less the reference's, which is what is left of 1, item by item."""
    sides = ({name: (1 - value,) for name, value in means.items()}, {name: (value,) for name, value in means.items()})
    paired = Paired(reference, candidate, ("preference",), LEVEL, resamples=1000, test="sign")
    measure = Measure(_mean, _first, is_mean=True, is_rate=True, higher_is_better=True)
    clusters = {name: items[name].dependence for name in sorted(means)}
    return paired.compare(measure, *sides, clusters, derive_seed(0, f"{reference}\n{candidate}", 0))


def _mean(stack: NDArray[np.float64]) -> float:
    return mean(stack[:, 0])


def _first(stats: tuple[float, ...]) -> float:
    return stats[0]


def _share(delta: Delta, means: Mapping[str, float], items: Mapping[str, Item], n_total: int) -> Figure:
    """The candidate's share of items: Wilson's interval where each is won or lost, else half that of the difference.

    A tie, or raters who differ, make an item's score vary less than won or lost would: Wilson then covers too much
    (simulated at level 0.95 with three raters, a fifth ties, 20 or 60 items: .99-1.00; that of the difference .93-.99).
    """
    names = sorted(means)
    values = [means[name] for name in names]

    def interval() -> Interval | None:
        if set(values) <= {0.0, 1.0}:
            return rate_interval(values, [items[name].dependence for name in names], LEVEL)
        if delta.low is None or delta.high is None:
            return None
        return Interval((1 + delta.low) / 2, (1 + delta.high) / 2, delta.level, delta.method or "")

    return figure_of(mean(values), interval, "share", (n_total, len(values)))


def _of_rater(rater: str, arms: tuple[str, str], chosen: Sequence[_Chosen], items: Mapping[str, Item]) -> RaterShare:
    own = [one for one in chosen if one.rater == rater]
    scores: dict[str, list[float]] = {}
    for one in own:
        scores.setdefault(one.item_id, []).append(_SCORE[one.result])
    means = {name: mean(given) for name, given in scores.items()}
    return RaterShare(rater, _counted(own), _share(_delta(*arms, means, items), means, items, len(means)))


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
    elif conclusion == "not shown" and one.mde is not None:
        clauses.append(f"this review could have shown {50 + 100 * one.mde:.0f} %")
    return replace(one, conclusion=conclusion, words=f"{says}: {'; '.join(clauses)}")
