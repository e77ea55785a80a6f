"""Quantiles of values that occur many times, without writing them out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalflow.numeric.quantile import weighted_type7
from evalflow.numeric.undefined import Undefined

COUNTED = st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 9)), min_size=1, max_size=30)


def quantile(pairs: list[tuple[float, int]], q: float) -> float:
    ordered = sorted(pairs)
    return weighted_type7(np.array([v for v, _ in ordered]), np.array([n for _, n in ordered], dtype=np.float64), q)


def test_by_hand() -> None:
    """1, 1, 1, 4, 9, 9: the median lies halfway from the third to the fourth, at 2.5, and p90 at 9."""
    pairs = [(1.0, 3), (4.0, 1), (9.0, 2)]
    assert [quantile(pairs, q) for q in (0.0, 0.4, 0.5, 0.6, 0.9, 1.0)] == [1.0, 1.0, 2.5, 4.0, 9.0, 9.0]


@settings(deadline=None, max_examples=300)
@given(COUNTED, st.floats(0, 1))
def test_it_is_numpys_of_the_values_written_out(pairs: list[tuple[float, int]], q: float) -> None:
    """Type 7, whichever of them occur at all."""
    written = [value for value, times in pairs for _ in range(times)]
    if not written:
        with pytest.raises(Undefined) as undefined:
            quantile(pairs, q)
        assert undefined.value.reason == "no rows"
        return
    found = quantile(pairs, q)
    assert found == pytest.approx(float(np.quantile(written, q)), rel=1e-9, abs=1e-9)
    assert min(written) <= found <= max(written)


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.floats(0, 1))
def test_each_once_is_type_7_itself(values: list[float], q: float) -> None:
    """As of positions that are all kept."""
    assert quantile([(value, 1) for value in values], q) == pytest.approx(float(np.quantile(values, q)), rel=1e-9)


@settings(deadline=None)
@given(COUNTED, st.floats(0, 1), st.integers(1, 3))
def test_a_value_split_over_entries_is_one_value(pairs: list[tuple[float, int]], q: float, parts: int) -> None:
    """As of texts that each count their own bins; entries of 0 between them change nothing."""
    if not any(times for _, times in pairs):
        return
    split = [(value, times if part == 0 else 0) for value, times in pairs for part in range(parts)]
    halves = [(v, n // 2) for v, n in pairs] + [(v, n - n // 2) for v, n in pairs]
    assert quantile(split, q) == quantile(halves, q) == quantile(pairs, q)


def test_it_rises_with_q() -> None:
    """On a grid over unequal weights."""
    pairs = [(0.0, 7), (0.1, 1), (2.0, 30), (5.0, 2)]
    found = [quantile(pairs, q) for q in np.linspace(0, 1, 401).tolist()]
    assert found == sorted(found)


def test_as_many_as_a_walk_has() -> None:
    """A thousand million positions in three entries: the 99.9 % lies where it should, by whole numbers."""
    times = np.array([998_000_000, 1_000_000, 1_000_000], dtype=np.float64)
    values = np.array([0.0, 1.0, 2.0])
    assert weighted_type7(values, times, 0.999) == pytest.approx(1.0 + (0.999 * (1e9 - 1) - (999e6 - 1)), abs=1e-6)
    assert [weighted_type7(values, times, q) for q in (0.5, 0.9985, 0.9995)] == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("times", [[], [0], [0, 0]])
def test_of_nothing_there_is_none(times: list[int]) -> None:
    """No entry, or none that occurs."""
    with pytest.raises(Undefined) as undefined:
        weighted_type7(np.arange(len(times), dtype=np.float64), np.array(times), 0.5)
    assert undefined.value.reason == "no rows"


def test_an_infinite_quantile_is_undefined() -> None:
    """Halfway to infinity is no number; below it there is one."""
    values, times = np.array([1.0, math.inf]), np.array([3, 1])
    assert weighted_type7(values, times, 0.5) == 1.0
    with pytest.raises(Undefined):
        weighted_type7(values, times, 0.9)
