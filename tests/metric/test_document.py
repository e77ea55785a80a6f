"""Figures over positions: what counts of a text, what is left out, and which places are named."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from evalflow.metric.document import DocumentMetric, Place, Values, column, context, worst_places
from evalflow.metric.perplexity import Nll
from evalflow.metric.protocol import Answer
from tests.metric.by_hand import answer, stacked, text

NAN = math.nan


@dataclass(frozen=True)
class Plain(DocumentMetric):
    """The column x of every position."""

    def values(self, unit: Answer) -> Values | None:
        return column(unit, "x")


def test_a_texts_statistics() -> None:
    """Positions with a value, all positions, the sum, the least, the largest, and the squared deviations: of 3, -1
    and 2.5 from 1.5 they add up to 2.25 + 6.25 + 1."""
    assert Plain().stats(text(x=[3.0, -1.0, 2.5])) == (3.0, 3.0, 4.5, -1.0, 3.0, 9.5)


@pytest.mark.parametrize("lost", [NAN, math.inf, -math.inf])
def test_what_is_not_finite_counts_as_a_position_without_a_value(lost: float) -> None:
    """It is in the total, and in no sum; a text of nothing else has sums of nothing."""
    assert Plain().stats(text(x=[3.0, lost, 2.5])) == (2.0, 3.0, 5.5, 2.5, 3.0, 0.125)
    assert Plain().stats(text(x=[lost, lost])) == (0.0, 2.0, 0.0, 0.0, 0.0, 0.0)


def test_a_row_without_such_columns_is_excluded() -> None:
    """An answer has none, and a model that gives no logits has no KL."""
    assert Plain().stats(answer("an answer")) is None
    assert Plain().stats(text(y=[1.0])) is None


def test_every_position_weighs_the_same() -> None:
    """Of 3 positions at 1 and 1 at 5 the mean is 2, and not the texts' mean of 3."""
    metric = Plain()
    stack = stacked(metric, text(x=[1.0, 1.0, 1.0]), text(x=[5.0]))
    assert metric.value(stack) == 2.0
    assert [metric.point(tuple(stats)) for stats in stack.tolist()] == [1.0, 5.0]


def test_the_interval_is_over_texts() -> None:
    """Means 1 and 3 of two texts of equal length: 2 +/- t(1) * 1 = 12.706."""
    metric = Plain()
    stack = stacked(metric, text(x=[0.0, 2.0]), text(x=[2.0, 4.0]))
    found = metric.interval(stack, np.array(["a", "b"], dtype=object), 0.95)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((2 - 12.7062047, 2 + 12.7062047))


def test_one_value_everywhere_is_known_exactly() -> None:
    """As of bit-identical arms, be there one text or a cluster of them; a text that lost its values is no other."""
    metric = Plain()
    stack = stacked(metric, text(x=[0.0, 0.0]), text(x=[0.0]), text(x=[NAN]))
    found = metric.interval(stack, np.array(["a", "a", "a"], dtype=object), 0.95)
    assert found is not None
    assert (found.low, found.high, found.method) == (0.0, 0.0, "exact: one value everywhere")


def test_what_counts_of_a_text_may_begin_later() -> None:
    """What stands before `scored_from` is context: in no sum and no count."""
    plain = text("0123456789", x=[1.0, 2.0, 3.0, 4.0], starts=[1, 3, 5, 7])
    assert Plain().stats(plain) == (4.0, 4.0, 10.0, 1.0, 4.0, 5.0)
    for begins, left in ((0, 4), (1, 4), (2, 3), (3, 3), (4, 2), (7, 1)):
        found = Plain().stats(text("0123456789", begins, x=[1.0, 2.0, 3.0, 4.0], starts=[1, 3, 5, 7]))
        assert found is not None
        assert found[:3] == (left, left, sum((1.0, 2.0, 3.0, 4.0)[4 - left :]))
    nothing = text("0123456789", 8, x=[1.0, 2.0, 3.0, 4.0], starts=[1, 3, 5, 7])
    assert Plain().stats(nothing) is None, "a text of which nothing counts is excluded, and counted as that"


def test_a_token_that_begins_before_is_context() -> None:
    """Though it reaches beyond: 5 to 7 does not count where what counts begins at 6."""
    assert Plain().stats(text("0123456789", 6, x=[1.0, 2.0], starts=[5, 8])) == (1.0, 1.0, 2.0, 2.0, 2.0, 0.0)


def test_the_worst_places_of_a_text() -> None:
    """The three largest above nothing, worst first, each with its value and the words around it."""
    one = text("the quick brown fox", nll=[0.5, 9.0, 0.0, 7.0, 8.0], starts=[4, 6, 10, 11, 16])
    places = worst_places(one, Nll().badness(one))
    assert [(place.at, place.value) for place in places] == [(2, 9.0), (5, 8.0), (4, 7.0)]
    assert str(places[0]) == "at 2 (9): the qu⟦ick ⟧brown fox"
    assert str(places[1]) == "at 5 (8): the quick brown ⟦fox⟧"


def test_what_is_not_finite_is_worse_than_anything() -> None:
    """NaN and infinity stand first, in the text's order, and are named so."""
    one = text("0123456789", nll=[5.0, NAN, 1e300, math.inf, 2.0])
    places = worst_places(one, Nll().badness(one))
    assert [place.at for place in places] == [2, 4, 3]
    assert [place.value for place in places] == [None, None, 1e300]
    assert [place.rank for place in places] == [math.inf, math.inf, 1e300]
    assert str(places[0]) == "at 2 (not finite): 01⟦2⟧3456789"


def test_nothing_above_nought_is_no_worst_place() -> None:
    """Identical arms have none; nor has a row without columns, or a metric that ranks none."""
    one = text(nll=[0.0, 0.0, 0.0])
    assert worst_places(one, Nll().badness(one)) == []
    assert worst_places(one, None) == ()
    assert worst_places(answer("x"), np.array([1.0])) == ()


def test_places_of_what_counts_lie_after_the_context() -> None:
    """Positions are numbered in the whole text, whatever of it counts."""
    one = text("0123456789", 4, nll=[9.0, 8.0, 7.0, 6.0, 5.0], starts=[1, 2, 3, 4, 7])
    places = worst_places(one, Nll().badness(one))
    assert [(place.at, place.value, place.context) for place in places] == [
        (4, 6.0, "0123⟦456⟧789"),
        (5, 5.0, "0123456⟦789⟧"),
    ]


def test_the_text_around_a_place() -> None:
    """Twenty-four characters at each side, line ends shown; nothing where nobody knows where tokens lie."""
    long = "x" * 50 + "\n!" + "y" * 50
    assert context(long, np.array([50, 52], dtype=np.int32), 0) == f"{'x' * 24}⟦⏎!⟧{'y' * 24}"
    assert context(long, np.array([-1, -1], dtype=np.int32), 0) == ""
    assert Place(3, 0.25, "").rank == 0.25
