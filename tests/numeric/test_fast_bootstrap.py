"""The compiled draws are those of numpy."""

import importlib.util

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalflow.numeric.bootstrap as bootstrap
from evalflow.numeric import fast_bootstrap
from evalflow.numeric.bootstrap import mean_replicates, ratio_replicates, resamples

MANY = np.random.default_rng(1).gamma(2.0, size=501) - 1.9
needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="the extra `fast` is not installed")


@needs_numba
@given(st.integers(1, 2100), st.integers(0, 2**64 - 1))
@settings(max_examples=60)
def test_the_units_are_those_of_resamples(n_units, seed):
    """Powers of two as values tell which unit was drawn how often: each sum is that of the numpy draws, exactly."""
    column = 2.0 ** (np.arange(n_units) % 40)  # integers below 2^53: no sum rounds
    sums = fast_bootstrap.drawn_sums(column, bootstrap._hash_seed(seed), 5)
    assert np.array_equal(sums, column[resamples(n_units, seed, 0, 5)].sum(axis=1))


@needs_numba
def test_each_single_unit_is_drawn_as_often():
    """For each unit alone its count in every resample is that of the numpy draws, of an even and an odd number."""
    for n_units in (6, 7):
        drawn = resamples(n_units, 9, 0, 40)
        for unit in range(n_units):
            sums = fast_bootstrap.drawn_sums(np.eye(n_units)[unit], bootstrap._hash_seed(9), 40)
            assert np.array_equal(sums, (drawn == unit).sum(axis=1))


@needs_numba
@pytest.mark.parametrize("weights", [None, np.linspace(1.0, 3.0, 501)])
def test_replicates_do_not_depend_on_numba(monkeypatch, weights):
    """Whichever way the sums are had, the replicates agree to 1e-12, of a mean, a weighted mean and a ratio."""
    below = np.linspace(0.0, 3.0, 501)
    plain = mean_replicates(MANY, 3, 200, weights), ratio_replicates(MANY, below, 3, 200)
    monkeypatch.setattr(bootstrap, "_FAST_FROM", 1)
    calls = []
    compiled = fast_bootstrap.drawn_sums
    monkeypatch.setattr(fast_bootstrap, "drawn_sums", lambda *given: calls.append(1) or compiled(*given))
    fast = mean_replicates(MANY, 3, 200, weights), ratio_replicates(MANY, below, 3, 200)
    assert len(calls) == (3 if weights is None else 4)
    for one, other in zip(plain, fast, strict=True):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-12)


def test_without_numba_numpy_draws(monkeypatch):
    """Where numba is not installed nothing changes, however many the draws."""
    want = mean_replicates(MANY, 3, 200)
    monkeypatch.setattr(bootstrap, "_FAST_FROM", 1)
    fast_bootstrap.available.cache_clear()
    monkeypatch.setattr(fast_bootstrap, "find_spec", lambda name: None)
    try:
        assert not fast_bootstrap.available()
        assert np.array_equal(mean_replicates(MANY, 3, 200), want)
    finally:
        fast_bootstrap.available.cache_clear()


def test_few_draws_start_no_compiler():
    """Numba takes a second to start: fewer draws than numpy makes in a second never load it."""
    assert bootstrap._FAST_FROM > 10_000 * 10_000
