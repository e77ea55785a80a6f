"""The human ceiling, and a system's error over it, by hand."""

import numpy as np
import pytest

from evalflow.metric.error_rate import ErrorRate
from evalflow.metric.human_error_rate import HumanErrorRate, OverHuman
from evalflow.metric.protocol import figure_names
from evalflow.numeric.undefined import Undefined
from tests.metric.by_hand import stacked
from tests.metric.transcribed import document

HUMAN, TIMES = HumanErrorRate(), OverHuman()


def test_two_annotators_are_each_once_the_reference():
    """Kitten and sittings differ in four edits, over six units one way and eight the other: 8 of 14."""
    unit = document("", A="kitten", B="sittings")
    assert HUMAN.stats(unit) == (4.0, 7.0)
    assert HUMAN.value(stacked(HUMAN, unit)) == pytest.approx(8 / 14, rel=1e-15)


def test_of_three_every_two_count():
    """Six ordered pairs: edits 1, 2 and 1 twice each, units 2, 3 and 4 four times each."""
    assert HUMAN.stats(document("", A="ab", B="abc", C="abcd")) == (4 / 3, 3.0)


def test_a_document_that_one_alone_read_is_excluded():
    """And one that nobody did; a missing annotator leaves the pairs of the others."""
    assert HUMAN.stats(document("", A="x", B=None)) is None
    assert HUMAN.stats(document("", target="x")) is None
    assert HUMAN.stats(document("", A="x", B=None, C="y")) == (1.0, 1.0)


def test_it_is_of_the_items_whatever_was_answered():
    """A row in error has the ceiling too; no two arms can be compared by it."""
    assert HUMAN.stats(document(None, A="x", B="y")) == (1.0, 1.0)
    assert (HUMAN.paired, HUMAN.higher_is_better) == (False, False)
    assert figure_names("h", HUMAN) == ("agreement/human_cer",)


def test_it_is_in_the_unit_that_is_asked_for():
    """One word of two differs."""
    unit = document("", A="so it", B="ſo it")
    assert HumanErrorRate(unit="word").stats(unit) == (1.0, 2.0)
    assert HUMAN.stats(unit) == (1.0, 5.0)
    with pytest.raises(ValueError, match="unit is 'line'; choose"):
        HumanErrorRate(unit="line")


def test_what_annotators_confuse_is_named():
    """Names in order: A read the first, B the second."""
    assert HUMAN.detail(document("", A="ſoſo", B="so so"))["confusions"] == [["ſ", "s", 2], ["", " ", 1]]
    assert HUMAN.detail(document("", A="x")) == {}


def test_a_system_is_measured_in_human_differences():
    """2 edits of 10 units against each annotator, who differ in 1 of 10: twice as much."""
    unit = document("xxcdefghij", A="abcdefghij", B="abcdefghiz")
    assert TIMES.stats(unit) == (2.5, 10.0, 1.0, 10.0)
    assert TIMES.value(stacked(TIMES, unit)) == 2.5
    assert TIMES.point(TIMES.stats(unit)) == 0.25


def test_a_copy_of_one_annotator_has_one_half():
    """No error against one and the human difference against the other; of three annotators too it is no less."""
    copied = [document("abcd", A="abcd", B="abxd"), document("hello", A="hello", B="hallo")]
    assert TIMES.value(stacked(TIMES, *copied)) == 0.5
    three = document("abcd", A="abcd", B="abxd", C="abcy")
    assert TIMES.value(stacked(TIMES, three)) == pytest.approx((2 / 12) / (4 / 12), rel=1e-15)


def test_annotators_who_do_not_differ_give_no_ratio():
    """Undefined, hence no gate passes; so is a system without a single reference unit."""
    with pytest.raises(Undefined, match=r"^the annotators do not differ$"):
        TIMES.value(stacked(TIMES, document("x", A="y", B="y")))
    with pytest.raises(Undefined, match=r"^nothing counted$"):
        TIMES.value(np.array([[1.0, 0.0, 1.0, 2.0]]))


def test_both_rates_are_needed():
    """Without an answer, or a second annotator, the document is excluded."""
    assert TIMES.stats(document(None, A="x", B="y")) is None
    assert TIMES.stats(document("x", A="x")) is None


def test_it_grades_as_the_error_rate_does():
    """By the same references; `each` is its mean, and the one figure is all there is."""
    unit = document("ab", A="ab", B="xb")
    for reference in ("mean", "each", "min", "A", "B"):
        assert OverHuman(reference=reference).stats(unit)[:2] == ErrorRate(reference=reference).stats(unit)[:2]
    assert figure_names("t", OverHuman(reference="each")) == ("agreement/cer_over_human",)
    assert TIMES.detail(unit) == {}


def test_its_interval_is_a_bootstrap_of_documents():
    """None where a resample may hold no human difference."""
    clusters = np.array(list("abcdefgh"), dtype=object)
    stack = np.array([[i % 3 + 1.0, 100.0, i % 2 + 1.0, 100.0] for i in range(8)])
    interval = TIMES.interval(stack, clusters, 0.95)
    assert interval.method == "document bootstrap"
    assert 1 / 2 < interval.low < TIMES.value(stack) < interval.high < 3
    with pytest.raises(Undefined, match="the annotators do not differ"):
        TIMES.interval(np.array([[1.0, 9.0, 0.0, 9.0], [1.0, 9.0, 2.0, 9.0]]), clusters[:2], 0.95)
