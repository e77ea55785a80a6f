"""The report of a model against a base, held against numpy and scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from evalflow.numeric.ratio_report import ratio_report
from evalflow.numeric.undefined import Undefined


def test_figures_are_scipys():
    """Ratio, errors, correlation and dp of 200 tokens."""
    rng = np.random.default_rng(0)
    base = rng.exponential(2, size=200)
    own, same = base + rng.normal(0.02, 0.1, size=200), rng.integers(0, 2, size=200)
    said = ratio_report(own, base, same)
    dp = np.exp(-own) - np.exp(-base)
    expected = {
        "ln_ppl_ratio": (own - base).mean(),
        "ln_ppl_ratio_se": stats.sem(own - base),
        "ppl_ratio": np.exp(own.mean()) / np.exp(base.mean()),
        "ppl_ratio_se": np.exp((own - base).mean()) * stats.sem(own - base),
        "correlation": stats.pearsonr(own, base).statistic,
        "mean_dp": dp.mean(),
        "rms_dp": np.sqrt((dp**2).mean()),
        "same_top_p": same.mean(),
        "same_top_p_se": stats.sem(same),
    }
    for name, value in expected.items():
        assert getattr(said, name) == pytest.approx(value, rel=1e-11), name
    wilson = stats.binomtest(int(same.sum()), 200).proportion_ci(method="wilson")
    assert (said.same_top_interval.low, said.same_top_interval.high) == pytest.approx((wilson.low, wilson.high))


def test_the_ratios_error_is_that_of_the_covariance():
    """sqrt(var a + var b - 2 cov) over n - 1, as it is propagated elsewhere, is the same number."""
    own, base = np.array([1.0, 2.0, 4.0, 3.0]), np.array([0.5, 2.5, 3.0, 3.5])
    cov = np.cov(own, base)
    propagated = math.sqrt((cov[0, 0] + cov[1, 1] - 2 * cov[0, 1]) / 4)
    assert ratio_report(own, base, [1, 1, 0, 1]).ln_ppl_ratio_se == pytest.approx(propagated, rel=1e-14)


def test_a_ratio_beyond_a_float_is_infinite():
    """Its logarithm stays, and its error has no value."""
    said = ratio_report([900.0, 902.0], [0.0, 0.0], [0, 0])
    assert (said.ln_ppl_ratio, said.ppl_ratio) == (901.0, math.inf)
    assert said.ppl_ratio_se.reason == "non-finite result"


def test_a_nll_that_is_of_no_probability_is_no_warning():
    """e^1000 is beyond a float: the means of p are infinite or undefined, the ratio stands."""
    said = ratio_report([-1000.0, 1.0], [1.0, 1.0], [1, 1])
    assert (said.ln_ppl_ratio, said.mean_dp, said.rms_dp.reason) == (-500.5, math.inf, "infinite value")


def test_what_cannot_be_is_refused():
    """Lengths that differ, and a same_top that is no flag; NaN has no report."""
    with pytest.raises(ValueError, match="2 NLL, 1 of the base and 2 same_top"):
        ratio_report([1.0, 2.0], [1.0], [1, 0])
    with pytest.raises(ValueError, match="same_top has other numbers"):
        ratio_report([1.0], [1.0], [0.5])
    for bad in (math.nan, math.inf):
        with pytest.raises(Undefined, match="non-finite value"):
            ratio_report([1.0, bad], [1.0, 2.0], [1, 0])
