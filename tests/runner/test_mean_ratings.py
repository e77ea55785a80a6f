"""Arms by the numbers that people gave, worked out by hand."""

from __future__ import annotations

import pytest
from scipy.stats import permutation_test, ttest_1samp

from evalflow.ratings import Rating
from evalflow.record import Item
from evalflow.runner.mean_ratings import mean_ratings
from tests.runner.reviewed import answers, sheet, stored

ITEMS = {f"q{n}": Item(f"q{n}", "?") for n in range(8)}
GAPS = [1, 2, 1, 0, -1, 2, 1, 3]


def ratings(rater: str, base: str, gaps: list[int]) -> list[Rating]:
    """Of `old` as in `base`, of `new` more by the gaps."""
    found = []
    for (name, _), old, gap in zip(ITEMS.items(), base, gaps, strict=False):
        found += [Rating(rater, name, "old", 0, float(old)), Rating(rater, name, "new", 0, float(old) + gap)]
    return found


def test_one_raters_numbers() -> None:
    """Means, counts, the paired difference with Student's interval, and the exact permutation test."""
    found = mean_ratings(ratings("ann", "23123212", GAPS), [], ITEMS, ("old", "new"))
    old, new = found.arms
    assert (old.arm, old.mean.value, old.counts) == ("old", 2.0, {1.0: 2, 2.0: 4, 3.0: 2})
    assert new.mean.value == 2.0 + 9 / 8
    (difference,) = found.differences
    delta = difference.delta
    assert (difference.reference, difference.candidate, delta.delta) == ("old", "new", 9 / 8)
    peer = ttest_1samp(GAPS, 0).confidence_interval()
    assert (delta.low, delta.high) == pytest.approx((peer.low, peer.high))
    exact = permutation_test((GAPS,), lambda x: abs(sum(x)), permutation_type="samples", alternative="greater")
    assert delta.p == pytest.approx(exact.pvalue)
    assert (delta.wins, delta.losses, delta.ties) == (6, 1, 1)
    assert delta.words.startswith("no difference between new and old is shown on rating: 3.12 against 2; +1.12 [")
    assert found.scale is None and found.by_rater[0].mean == pytest.approx((16 + 25) / 16)


def test_ratings_that_are_all_the_same_claim_no_certainty() -> None:
    """Eight threes have a mean and no interval; one that differs gives the mean an interval again."""
    old, new = mean_ratings(ratings("ann", "33333333", [0] * 7 + [1]), [], ITEMS, ("old", "new")).arms
    assert (old.mean.value, old.mean.low, old.mean.high) == (3.0, None, None)
    assert new.mean.low is not None and new.mean.low < 3.125


def test_a_severe_rater_is_no_arms() -> None:
    """Arms are compared by those who rated both: what a severe rater gave to one alone moves no difference."""
    both = ratings("ann", "3333", [1, 1, 0, 2])
    severe = [Rating("bob", name, "new", 0, 1.0) for name in ITEMS]
    found = mean_ratings([*both, *severe], [], ITEMS, ("old", "new"))
    delta = found.differences[0].delta
    assert (delta.delta, delta.n_pairs, set(delta.unpaired)) == (1.0, 4, {"q4", "q5", "q6", "q7"})
    assert found.arms[1].mean.value == pytest.approx(((4 + 1) / 2 + (4 + 1) / 2 + (3 + 1) / 2 + (5 + 1) / 2 + 4) / 8)


def test_raters_of_one_item_are_averaged() -> None:
    """Two who gave a difference of 2 and of 0 make an item of 1."""
    said = [*ratings("ann", "11", [2, 2]), *ratings("bob", "33", [0, 2])]
    delta = mean_ratings(said, [], ITEMS, ("old", "new")).differences[0].delta
    assert (delta.delta, delta.n_pairs) == (1.5, 2)


def test_one_text_of_two_arms_is_one_rating_to_agree_on() -> None:
    """And its difference is 0; the items that were shown are the whole of which some were rated."""
    run = stored(["q0", "q1"])
    drawn = sheet(run, answers(run, old_q0="same", new_q0="same"), kind="single")
    said = [Rating(rater, "q0", arm, 0, value) for rater, value in (("a", 4.0), ("b", 2.0)) for arm in ("old", "new")]
    found = mean_ratings(said, [drawn], {item.id: item for item in run.items}, ("old", "new"))
    assert (found.scale, found.agreement.alpha.n_total) == ((1, 5), 1)
    assert (found.differences[0].delta.delta, found.differences[0].delta.conclusion) == (0.0, "identical")
    assert (found.arms[0].mean.n_scored, found.arms[0].mean.n_total) == (1, 2)


def test_three_arms_are_one_family() -> None:
    """Each pair is told, corrected together; one arm alone has a mean and nothing to be compared with."""
    said = [
        Rating("a", name, arm, 0, float(value))
        for name in ITEMS
        for arm, value in (("old", 1), ("new", 3), ("next", 5))
    ]
    found = mean_ratings(said, [], ITEMS, ("old", "new", "next"))
    assert [(one.reference, one.candidate) for one in found.differences] == [
        ("old", "new"),
        ("old", "next"),
        ("new", "next"),
    ]
    assert [one.delta.p for one in found.differences] == [2 / 2**8] * 3
    assert [one.delta.p_adjusted for one in found.differences] == [6 / 2**8] * 3
    alone = mean_ratings([one for one in said if one.arm == "old"], [], ITEMS, ("old", "new"))
    assert (len(alone.arms), alone.differences) == (1, ())
