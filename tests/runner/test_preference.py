"""Preferences between two arms, against numbers worked out by hand and by scipy."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest, norm, ttest_1samp

from evalflow.ratings import Choice
from evalflow.record import Item
from evalflow.runner.preference import Counted, Preference, preferences
from tests.runner.reviewed import answers, sheet, stored

ARMS = ("old", "new")


def chosen(*lines: str) -> tuple[list[Choice], dict[str, Item]]:
    """Choices of raters r0, r1 and so on, a word for each: per item `n`(ew), `o`(ld), `t`(ie) or `.` (not rated)."""
    found = []
    for number, line in enumerate(lines):
        for place, letter in enumerate(line):
            if letter == ".":
                continue
            left, right = ("new", "old") if place % 2 else ("old", "new")
            liked = "tie" if letter == "t" else "left" if left.startswith(letter) else "right"
            found.append(Choice(f"r{number}", f"q{place:02}", (left, 0), (right, 0), liked))
    items = {f"q{place:02}": Item(f"q{place:02}", "?") for place in range(len(lines[0]))}
    return found, items


def only(*lines: str) -> Preference:
    choices, items = chosen(*lines)
    (found,) = preferences(choices, [], items, ARMS)
    return found


def test_one_rater_without_ties_is_a_binomial() -> None:
    """Share, Wilson's interval and the exact sign test are scipy's."""
    found = only("n" * 14 + "o" * 4)
    peer = binomtest(14, 18)
    ends = peer.proportion_ci(method="wilson")
    assert found.share.value == pytest.approx(14 / 18)
    assert (found.share.low, found.share.high) == pytest.approx((ends.low, ends.high))
    assert (found.share.method, found.share.n_scored) == ("wilson", 18)
    assert found.p == found.p_adjusted == pytest.approx(peer.pvalue)
    assert found.choices == found.items == Counted(14, 4, 0)
    assert found.conclusion == "better"
    assert found.words.startswith("new is liked better than old: new has 77.8 % [54.8, 91.0] of 18 items")
    turned = only("o" * 14 + "n" * 4)
    assert turned.conclusion == "worse" and turned.words.startswith("old is liked better than new: new has 22.2 %")


def test_ties_are_half_and_have_no_say_in_the_test() -> None:
    """Six won, two lost, four tied: 8 of 12 with ties as half, 6 of 8 without; the sign test is of the eight."""
    found = only("nnnnnnootttt")
    assert found.share.value == pytest.approx(8 / 12)
    assert (found.decided.value, found.decided.n_scored, found.decided.n_total) == (0.75, 8, 12)
    ends = binomtest(6, 8).proportion_ci(method="wilson")
    assert found.decided.low is not None and found.decided.low <= ends.low
    assert found.p == pytest.approx(binomtest(6, 8).pvalue)
    assert found.items == Counted(6, 2, 4)


def test_with_ties_the_interval_is_students() -> None:
    """Of scores 0, 1/2 and 1 over items: narrower than that of won and lost would be. What could be shown is told."""
    found = only("nnnnnnnnoooooootttttttto")
    ends = ttest_1samp([1.0] * 8 + [0.0] * 8 + [0.5] * 8, 0).confidence_interval()
    assert (found.share.value, found.share.method) == (0.5, "t")
    assert (found.share.low, found.share.high) == (pytest.approx(ends.low), pytest.approx(ends.high))
    sd = (16 / 23) ** 0.5  # of the differences 1, -1 and 0
    power = norm.ppf(0.975) + norm.ppf(0.8)
    assert found.mde == pytest.approx(power * sd / 24**0.5 / 2, rel=0.1)  # by the normal, which is a little less
    assert found.words.endswith(f"this review could have shown {50 + 100 * (found.mde or 0):.0f} %")


def test_three_raters_of_ten_items_are_ten_items() -> None:
    """They agree throughout: the interval is as wide and p as large as one rater's, not those of thirty choices."""
    one, three = only("nnnnnnnnoo"), only(*["nnnnnnnnoo"] * 3)
    assert (three.choices, three.items) == (Counted(24, 6, 0), Counted(8, 2, 0))
    assert (three.share.value, three.share.low, three.share.high, three.p) == (
        one.share.value,
        one.share.low,
        one.share.high,
        one.p,
    )
    assert three.decided.low is not None and three.decided.low < binomtest(24, 30).proportion_ci(method="wilson").low
    assert [(own.rater, own.counts) for own in three.by_rater] == [(f"r{n}", Counted(8, 2, 0)) for n in range(3)]


def test_an_item_goes_to_whom_most_of_its_raters_like() -> None:
    """Two of three is won, a win, a loss and a tie are level, and so are 2/3 and 1/3 of a cluster."""
    found = only("nntnn", "noono", "on.nt")
    assert found.items == Counted(3, 1, 1)
    assert found.choices == Counted(8, 4, 2)
    assert found.share.value == pytest.approx((2 / 3 + 2 / 3 + 1 / 4 + 1 + 1 / 2) / 5)
    choices, _ = chosen("no", "no", "on")
    one_cluster = {name: Item(name, "?", cluster="c") for name in ("q00", "q01")}
    (level,) = preferences(choices, [], one_cluster, ARMS)
    assert level.items == Counted(0, 0, 1)  # 2/3 and 1/3


def test_clusters_are_the_units() -> None:
    """Items of one cluster are one unit of the test; its mean decides which way it leans."""
    choices, items = chosen("nnonno")
    clustered = {name: Item(name, "?", cluster=f"c{place // 3}") for place, name in enumerate(items)}
    (found,) = preferences(choices, [], clustered, ARMS)
    assert (found.items, found.n_units, found.share.n_scored) == (Counted(2, 0, 0), 2, 6)
    assert "2 clusters for it" in found.words and "with 2 that lean to a side, 0.05 cannot be reached" in found.words


def test_one_text_twice_is_a_tie_by_design() -> None:
    """It counts among the items once, whatever the number of raters, and is of no rater's own share."""
    run = stored([f"q{n:02}" for n in range(6)])
    same = {f"{arm}_q0{n}": "same" for arm in ARMS for n in (4, 5)}
    drawn = sheet(run, answers(run, **same))
    choices, _ = chosen("nnno", "nnnn")
    (found,) = preferences(choices, [drawn], {item.id: item for item in run.items}, ARMS)
    assert (found.n_identical, found.share.n_scored, found.share.n_total) == (2, 6, 6)
    assert found.share.value == pytest.approx((3 + 0.5 + 2 * 0.5) / 6)
    assert found.items == Counted(3, 0, 3)
    assert [own.share.n_scored for own in found.by_rater] == [4, 4]
    assert "2 items level by design" in found.words


def test_the_side_is_looked_at() -> None:
    """Left is `old` at even places: all for the left is no preference, and is seen in the share of the left."""
    found = only("onononononononononon")
    assert (found.share.value, found.left.value) == (0.5, 1.0)
    low = binomtest(20, 20).proportion_ci(method="wilson").low
    assert (found.left.low, found.left.high) == pytest.approx((low, 1.0))
    assert found.conclusion == "not shown" and found.p == 1.0


def test_what_is_undefined_says_why() -> None:
    """No share without ties where all were ties; of one tie hardly an interval; no agreement of one rater."""
    found = only("t")
    assert (found.share.value, found.share.low, found.share.method) == (0.5, pytest.approx(0.0125), "exact bound")
    assert (found.decided.value, found.decided.reason) == (None, "every choice was a tie")
    assert (found.left.value, found.left.reason) == (None, "every choice was a tie")
    assert (found.agreement.alpha.value, found.agreement.alpha.reason) == (None, "nothing was rated by two")
    assert "undefined" not in found.words and found.conclusion == "not shown"


def test_several_pairs_of_arms_are_one_family() -> None:
    """By Holm: the smallest p times three, the next times two, the last as it is."""
    lines = {("old", "new"): "n" * 10, ("old", "next"): "x" * 8 + "o", ("new", "next"): "xxxxxxnn"}
    items = {f"q{n:02}": Item(f"q{n:02}", "?") for n in range(10)}
    choices = []
    for (one, other), line in lines.items():
        for place, letter in enumerate(line):
            name = {"n": "new", "o": "old", "x": "next"}[letter]
            liked = "left" if name == one else "right"
            choices.append(Choice("r", f"q{place:02}", (one, 0), (other, 0), liked))  # type: ignore[arg-type]
    found = preferences(choices, [], items, ("old", "new", "next"))
    assert [(one.reference, one.candidate) for one in found] == [("old", "new"), ("old", "next"), ("new", "next")]
    raw = [binomtest(10, 10).pvalue, binomtest(8, 9).pvalue, binomtest(6, 8).pvalue]
    assert [one.p for one in found] == pytest.approx(raw)
    assert [one.p_adjusted for one in found] == pytest.approx([3 * raw[0], 2 * raw[1], raw[2]])
