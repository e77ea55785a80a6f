"""Critical values against scipy."""

import pytest
from scipy import stats

from evalflow.numeric.critical import normal_critical, t_critical, tail


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_critical_values_are_the_quantiles(level):
    """The normal and the t quantile are scipy's, at common levels."""
    assert normal_critical(level) == pytest.approx(stats.norm.isf((1 - level) / 2), rel=1e-12)
    for df in (1, 2, 5, 30, 1000):
        assert t_critical(level, df) == pytest.approx(stats.t.isf((1 - level) / 2, df), rel=1e-10)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.5, float("nan")])
def test_a_level_is_strictly_between_0_and_1(level):
    """95 is not 0.95, and NaN is no level."""
    with pytest.raises(ValueError, match="level is"):
        tail(level)
