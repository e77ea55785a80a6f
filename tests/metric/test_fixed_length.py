"""The fixed-length protocol's two figures."""

import pytest

from evalflow.metric.fixed_length import FixedDecode, FixedTtft
from evalflow.metric.protocol import figure_names
from evalflow.record import Probe


def repeat(**values):
    return Probe("a", "fixed_length", values)


def test_the_first_token_takes_its_seconds():
    """The prompt pass's time is taken as it is."""
    assert FixedTtft().stats(repeat(ttft_s=0.0125, decode_s=0.1, tokens=16)) == (0.0125,)


def test_speed_is_tokens_over_seconds():
    """16 tokens in 0.1 s are 160 a second."""
    assert FixedDecode().stats(repeat(ttft_s=0.01, decode_s=0.1, tokens=16)) == pytest.approx((160.0,))


def test_a_repeat_too_short_to_time_is_excluded():
    """No seconds at all is no infinite speed."""
    assert FixedDecode().stats(repeat(ttft_s=0.01, decode_s=0.0, tokens=16)) is None


def test_names_units_and_directions():
    """Less time and more speed are better; both are medians by default, of the probe's repeats."""
    assert figure_names("x", FixedTtft()) == ("lat/fixed_ttft_s/p50",)
    assert figure_names("x", FixedDecode()) == ("tps/fixed_decode/p50",)
    assert (FixedTtft.measured_in, FixedTtft.higher_is_better) == ("s", False)
    assert (FixedDecode.measured_in, FixedDecode.higher_is_better) == ("tokens/s", True)
    assert {FixedTtft.grain, FixedDecode.grain} == {"probe"}
    assert {FixedTtft.probe, FixedDecode.probe} == {"fixed_length"}


@pytest.mark.parametrize("kind", [FixedTtft, FixedDecode])
def test_percentiles_that_are_none_are_refused(kind):
    """A percentile of 100 is no percentile."""
    with pytest.raises(ValueError, match="percentiles is"):
        kind(percentiles=(100.0,))
