"""Shares of what annotators have alike, by hand."""

import pytest

from evalflow.metric.agreement import AgreementRate, AlignmentCoverage
from evalflow.metric.protocol import figure_names
from tests.metric.by_hand import stacked
from tests.metric.transcribed import document

RATE, COVERAGE = AgreementRate(), AlignmentCoverage()


def test_what_faces_each_other_agrees_or_not():
    """Mills and nil: n for m, i, l, and two units that face nothing; 2 of 3 alike, 3 of 5 face each other."""
    unit = document("", A="mills", B="nil")
    assert RATE.stats(unit) == (2.0, 3.0)
    assert COVERAGE.stats(unit) == (3.0, 5.0)


def test_every_two_annotators_are_counted():
    """ab against ab, and twice against xb: 2 + 1 + 1 of 6."""
    assert RATE.stats(document("", A="ab", B="ab", C="xb")) == (4.0, 6.0)
    assert COVERAGE.stats(document("", A="ab", B="ab", C="xb")) == (6.0, 6.0)


def test_a_label_agrees_as_a_whole():
    """One of three items; all face each other."""
    rate = AgreementRate(unit="label")
    units = [document("", A="cat", B=b) for b in ("cat", "bat", "cats")]
    assert rate.value(stacked(rate, *units)) == pytest.approx(1 / 3, rel=1e-15)
    assert AlignmentCoverage(unit="label").value(stacked(AlignmentCoverage(unit="label"), *units)) == 1.0


def test_an_item_that_fewer_than_two_read_is_excluded():
    """It says nothing of agreement."""
    assert RATE.stats(document("", A="x", B=None)) is None
    assert COVERAGE.stats(document("", target="x")) is None


def test_they_are_shares_of_the_items():
    """Fixed names, more is better, and no two arms can be compared by them."""
    assert figure_names("x", RATE) + figure_names("y", COVERAGE) == ("agreement/rate", "agreement/coverage")
    assert all(
        (one.measured_in, one.higher_is_better, one.paired) == ("share", True, False) for one in (RATE, COVERAGE)
    )
    with pytest.raises(ValueError, match="unit is 'line'"):
        AgreementRate(unit="line")
