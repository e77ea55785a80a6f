"""Undefined is raised, never returned."""

import pickle

import numpy as np
import pytest

from evalflow.numeric.bootstrap import bootstrap_mean, percentile_interval
from evalflow.numeric.cluster import cluster_means, cluster_se, mean_interval
from evalflow.numeric.histogram import Distribution, binned
from evalflow.numeric.mergeable import CrossMoments, Moments
from evalflow.numeric.moments import mean, sample_sd
from evalflow.numeric.perplexity import text_nll
from evalflow.numeric.proportion import rate_interval
from evalflow.numeric.quantile import quantile, quantile_interval, quantiles, type7
from evalflow.numeric.ratio_report import ratio_report
from evalflow.numeric.sign import sign_test
from evalflow.numeric.undefined import Undefined, finite, finite_column, floats

OF_ONE_COLUMN = {
    "mean": mean,
    "sample_sd": sample_sd,
    "quantile": lambda v: quantile(v, 0.5),
    "type7": lambda v: type7(v, 0.5),
    "quantile_interval": lambda v: quantile_interval(v, 0.5),
    "sign_test": sign_test,
    "cluster_means": lambda v: cluster_means(v, range(len(v))),
    "cluster_se": lambda v: cluster_se(v, range(len(v))),
    "mean_interval": lambda v: mean_interval(v, range(len(v))),
    "rate_interval": lambda v: rate_interval(v, range(len(v))),
    "bootstrap_mean": lambda v: bootstrap_mean(v, seed=0),
    "bootstrap_mean weights": lambda v: bootstrap_mean([1.0] * len(v), seed=0, weights=v),
    "percentile_interval": percentile_interval,
}


@pytest.mark.parametrize("function", OF_ONE_COLUMN.values(), ids=OF_ONE_COLUMN)
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), None])
def test_a_value_that_is_not_finite_is_undefined_everywhere(function, bad):
    """One NaN, infinity or None among good values leaves no number at all."""
    with pytest.raises(Undefined) as caught:
        function([0.0, 1.0, 1.0, 0.0, bad, 1.0, 0.0])
    assert caught.value.reason == "non-finite value"


@pytest.mark.parametrize("function", OF_ONE_COLUMN.values(), ids=OF_ONE_COLUMN)
def test_no_rows_is_undefined_everywhere(function):
    """Nothing measured is not a measurement of 0."""
    with pytest.raises(Undefined) as caught:
        function([])
    assert caught.value.reason == "no rows"


@pytest.mark.parametrize(
    "function",
    [
        mean,
        sample_sd,
        lambda v: type7(v, 0.2),
        lambda v: cluster_se(v, range(len(v))),
        lambda v: mean_interval(v, range(len(v))),
        lambda v: bootstrap_mean(v, seed=0),
        lambda v: bootstrap_mean(v, seed=0, weights=[1, 2, 3, 4]),
    ],
)
def test_arithmetic_beyond_a_float_is_undefined(function):
    """Finite values whose sum or difference overflows give no number and no warning."""
    with pytest.raises(Undefined) as caught:
        function([1.7e308, 1.7e308, -1.7e308, 1.7e308])
    assert caught.value.reason == "non-finite result"


@pytest.mark.parametrize(
    "function",
    [
        *OF_ONE_COLUMN.values(),
        Moments.of,
        lambda v: CrossMoments.of(v, v),
        text_nll,
        binned,
        Distribution().add,
        lambda v: quantiles(v, [0.5]),
        lambda v: ratio_report(v, v, [0] * len(v)),
    ],
)
@pytest.mark.parametrize("text", [["1.0", "0.5"], [1.0, "0.5"], [None, "0.5", 1.0], [b"1"]])
def test_text_is_no_number(function, text):
    """Numbers that were never read as such are refused, though their text spells them."""
    with pytest.raises(ValueError, match="values hold text; give numbers"):
        function(text)


def test_an_integer_beyond_a_float_is_no_number():
    """It is refused in a column, and no finite result."""
    with pytest.raises(ValueError, match="beyond a float"):
        finite_column([1, 10**400])
    with pytest.raises(Undefined, match="non-finite result"):
        finite(10**400)


def test_numbers_of_any_kind_are_read():
    """Truth values count 1, None is missing, whole numbers of any size up to a float's pass; floats are not copied."""
    assert floats([True, 2, 2**64, 0.5]).tolist() == [1.0, 2.0, 2.0**64, 0.5]
    assert np.isnan(floats([None, 1.0])[0])
    column = np.ones(3)
    assert floats(column) is column


def test_undefined_survives_a_process_boundary():
    """The reason is still there after pickling, as a worker process would send it."""
    sent = pickle.loads(pickle.dumps(Undefined("n < 2")))
    assert (sent.reason, str(sent)) == ("n < 2", "n < 2")
    assert isinstance(sent, ArithmeticError)


def test_a_table_is_no_column():
    """A two-dimensional array is refused rather than flattened."""
    with pytest.raises(ValueError, match="one dimension"):
        finite_column(np.ones((2, 3)))


def test_finite_passes_a_number_and_names_what_is_none():
    """A finite number comes back as it is; NaN raises with the reason given."""
    assert finite(np.float64(1.5)) == 1.5
    with pytest.raises(Undefined, match="saturated"):
        finite(float("nan"), "saturated")
