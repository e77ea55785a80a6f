"""Intervals are two finite ends in order."""

from dataclasses import FrozenInstanceError

import pytest

from evalflow.numeric.interval import Interval
from evalflow.numeric.undefined import Undefined


@pytest.mark.parametrize(("low", "high"), [(float("nan"), 1.0), (0.0, float("nan")), (0.0, float("inf"))])
def test_an_end_that_is_not_finite_is_undefined(low, high):
    """No interval reaches to NaN or infinity."""
    with pytest.raises(Undefined, match="non-finite result"):
        Interval(low, high, 0.95, "wilson")


def test_an_interval_is_not_degenerate_unless_said():
    """Whoever makes one without width for want of spread says so."""
    assert not Interval(0.0, 1.0, 0.95, "wilson").degenerate
    assert Interval(1.0, 1.0, 0.95, "normal", degenerate=True).degenerate


def test_ends_are_in_order():
    """The low end never exceeds the high one."""
    with pytest.raises(AssertionError):
        Interval(1.0, 0.0, 0.95, "wilson")


def test_an_interval_is_not_edited():
    """What was computed stays as it was."""
    with pytest.raises(FrozenInstanceError):
        Interval(0.0, 1.0, 0.95, "wilson").low = 0.5
