"""Where spread comes from, and how far off a small sample's is."""

import math

import numpy as np
import pandas
import pytest
from statsmodels.formula.api import mixedlm

from evalflow.numeric.undefined import Undefined
from evalflow.numeric.variance import components, design_effect, pass_variance, sd_upper


def test_components_by_hand():
    """Three items of two passes, (0, 2), (4, 6), (9, 9): a pass varies by (2 + 2 + 0) / 3 = 4/3, the means 1, 5 and 9
    by 16, of which half of 4/3 is the passes'."""
    within = pass_variance([[0, 2], [4, 6], [9, 9]], ["a", "b", "c"])
    assert within == pytest.approx(4 / 3)
    parts = components([1, 5, 9], within / 2, within)
    assert parts.between == pytest.approx(16 - 2 / 3)
    assert parts.sd(1) == pytest.approx(math.sqrt(16 - 2 / 3 + 4 / 3))
    assert parts.sd(2) == pytest.approx(4.0)


def test_components_are_those_of_a_mixed_model():
    """On a balanced table the moments are statsmodels' REML estimates."""
    rng = np.random.default_rng(7)
    table = rng.normal(0, 2, (30, 1)) + rng.normal(0, 1, (30, 4))
    long = pandas.DataFrame({"y": table.ravel(), "item": np.repeat(np.arange(30), 4)})
    fitted = mixedlm("y ~ 1", long, groups=long["item"]).fit(reml=True)
    within = pass_variance(table, np.arange(30))
    parts = components(table.mean(axis=1), within / 4, within)
    assert parts.within == pytest.approx(fitted.scale, rel=1e-4)
    assert parts.between == pytest.approx(float(fitted.cov_re.iloc[0, 0]), rel=1e-3)


def test_a_cluster_averages_the_passes_of_its_rows():
    """Two rows that vary by 2 and by 8 give their cluster's mean (2 + 8) / 4; beside a row alone that varies by 2 the
    average is 2.25."""
    assert pass_variance([[0, 2], [0, 4], [5, 7]], ["x", "x", "y"]) == pytest.approx((2.5 + 2) / 2)


def test_what_is_less_than_its_noise_lies_between_nothing():
    """Means that vary less than their passes explain have nothing between them, and never less than nothing."""
    parts = components([1.0, 1.1, 0.9], 1.0, 3.0)
    assert (parts.between, parts.sd(3)) == (0.0, 1.0)


def test_one_pass_tells_nothing_apart():
    """Undefined, not 0: of one pass no variance is known."""
    with pytest.raises(Undefined, match="fewer than 2 passes"):
        pass_variance([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(Undefined, match="no rows"):
        pass_variance(np.empty((0, 2)), [])
    with pytest.raises(ValueError, match="rows by passes"):
        pass_variance([1.0, 2.0], ["a", "b"])


@pytest.mark.parametrize("passes", [0, -1])
def test_passes_are_counted(passes):
    """There is no mean over no pass."""
    with pytest.raises(ValueError, match="at least 1"):
        components([1, 2], 0, 0).sd(passes)


def test_a_variance_is_not_negative():
    """A negative one is a mistake of the caller's."""
    with pytest.raises(ValueError, match="0 or more"):
        components([1, 2], -0.1, 1)
    with pytest.raises(Undefined, match="non-finite"):
        components([1, 2], math.nan, 1)


@pytest.mark.parametrize(
    ("n", "confidence", "quantile"), [(10, 0.8, 5.380053), (30, 0.9, 19.767744), (2, 0.8, 0.0641848)]
)
def test_the_upper_end_of_an_sd(n, confidence, quantile):
    """By the chi-square quantiles of a printed table: sqrt((n - 1) / quantile)."""
    assert sd_upper(2.0, n, confidence) == pytest.approx(2.0 * math.sqrt((n - 1) / quantile), rel=1e-5)


def test_the_upper_end_holds_in_that_share_of_samples():
    """Of 20,000 normal samples of 12, 80 % have their true sd under it."""
    sds = np.random.default_rng(3).normal(size=(20_000, 12)).std(axis=1, ddof=1)
    factor = sd_upper(1.0, 12)
    assert np.mean(factor * sds >= 1) == pytest.approx(0.8, abs=0.01)


def test_no_upper_end_without_a_spread():
    """Undefined of one value and of a spread of 0."""
    for sd, n, reason in ((1.0, 1, "n < 2"), (0.0, 5, "sd <= 0"), (math.inf, 5, "non-finite value")):
        with pytest.raises(Undefined) as caught:
            sd_upper(sd, n)
        assert caught.value.reason == reason


def test_design_effect():
    """An error twice the naive one costs four times the rows; without a spread there is none."""
    values = [0.0, 1.0, 0.0, 1.0]
    naive = math.sqrt(1 / 3 / 4)
    assert design_effect(2 * naive, values) == pytest.approx(4.0)
    with pytest.raises(Undefined, match="zero variance"):
        design_effect(0.1, [1.0, 1.0])
