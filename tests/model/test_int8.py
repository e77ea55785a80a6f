"""Dynamic int8 products against whole numbers worked out by numpy, and the error that quantising may make."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evalflow.model.int8 import Int8Matrix


def drawn(seed: int, *shape: int, width: float = 1.0) -> torch.Tensor:
    return torch.from_numpy((np.random.default_rng(seed).normal(size=shape) * width).astype(np.float32))


def test_by_hand() -> None:
    """The columns (127, 64) and (-2, 1): steps 1 and 2/127, whole numbers (127, 64) and (-127, 64, for 63.5 is even).

    The row (1, -0.5) has a step of 1/127 and is (127, -64): -63.5 rounds to even. So the first product is
    (127 * 127 - 64 * 64) / 127, the second (127 * -127 - 64 * 64) / 127 * 2/127.
    """
    matrix = Int8Matrix.of(torch.tensor([[127.0, -2.0], [64.0, 1.0]]))
    assert matrix.whole_io.tolist() == [[127, -127], [64, 64]]
    assert matrix.whole_io.dtype == torch.int8
    assert matrix.scale_o.tolist() == pytest.approx([1.0, 2 / 127])
    product = matrix.product(torch.tensor([[1.0, -0.5]]))
    assert product.dtype == torch.float32
    wanted = [(127 * 127 - 64 * 64) / 127, (127 * -127 - 64 * 64) / 127 * 2 / 127]
    assert product.tolist()[0] == pytest.approx(wanted, rel=1e-6)


def test_what_whole_numbers_hold_is_exact() -> None:
    """Entries that are whole multiples of their step lose nothing."""
    whole = np.random.default_rng(0).integers(-127, 128, (6, 4)).astype(np.float32)
    whole[0], x = 127, np.random.default_rng(1).integers(-127, 128, (5, 6)).astype(np.float32)
    x[:, 0] = -127
    found = Int8Matrix.of(torch.from_numpy(whole)).product(torch.from_numpy(x))
    assert np.array_equal(found.numpy(), x @ whole)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 9), st.integers(1, 70), st.integers(1, 9), st.floats(1e-3, 1e3), st.integers(0, 99))
def test_the_error_is_no_more_than_half_steps_make(n: int, i: int, o: int, width: float, seed: int) -> None:
    """Each factor is off by half its step at most, so a product of I of them is within what that adds up to."""
    matrix_io, x_ni = drawn(seed, i, o, width=width), drawn(seed + 1, n, i)
    found = Int8Matrix.of(matrix_io).product(x_ni).numpy().astype(np.float64)
    w, x = matrix_io.numpy().astype(np.float64), x_ni.numpy().astype(np.float64)
    step_o, step_n = np.abs(w).max(0) / 127, np.abs(x).max(1) / 127
    most = np.abs(x) @ np.tile(step_o / 2, (i, 1)) + np.outer(step_n / 2, np.abs(w).sum(0))
    most += i * np.outer(step_n, step_o) / 4
    assert (np.abs(found - x @ w) <= most * (1 + 1e-5) + 1e-30).all()


def test_rows_and_columns_have_steps_of_their_own() -> None:
    """A row a thousand times larger than another takes nothing from the other, nor does a column."""
    matrix_io, x_ni = drawn(0, 8, 3), drawn(1, 2, 8)
    alone = Int8Matrix.of(matrix_io).product(x_ni)
    large_io, large_ni = matrix_io.clone(), x_ni.clone()
    large_io[:, 2] *= 1000
    large_ni[1] *= 1000
    found = Int8Matrix.of(large_io).product(large_ni)
    assert torch.equal(found[0, :2], alone[0, :2])
    assert found[1, 2].item() == pytest.approx(alone[1, 2].item() * 1e6, rel=1e-5)


def test_nothing_times_anything_is_nothing() -> None:
    """A column of zeros and a row of zeros have no largest entry to divide by."""
    matrix_io, x_ni = drawn(0, 8, 3), drawn(1, 2, 8)
    matrix_io[:, 1] = 0
    x_ni[0] = 0
    matrix = Int8Matrix.of(matrix_io)
    assert not matrix.whole_io[:, 1].any()
    product = matrix.product(x_ni)
    assert torch.isfinite(product).all()
    assert not product[0].any() and not product[:, 1].any()


def test_sums_are_exact_beyond_a_float32s_whole_numbers() -> None:
    """2,000 products of 127 and 127 add up to 32,258,000, and one more of 1 and 1 is not lost."""
    ones = torch.full((2001, 1), 127.0)
    ones[-1] = 1.0
    found = Int8Matrix.of(ones).product(ones.T)
    assert Int8Matrix.of(ones).scale_o.tolist() == [1.0]
    assert int(found.item()) == int(np.float32(2000 * 127 * 127 + 1))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_does_not_become_a_number(value: float) -> None:
    """A NaN or an infinity in a row spoils that row's products and no others."""
    x_ni = drawn(1, 3, 8)
    sound = Int8Matrix.of(drawn(0, 8, 4)).product(x_ni)
    x_ni[1, 3] = value
    found = Int8Matrix.of(drawn(0, 8, 4)).product(x_ni)
    assert not torch.isfinite(found[1]).any()
    assert torch.equal(found[[0, 2]], sound[[0, 2]])


def test_a_weight_that_is_nan_spoils_its_output_alone() -> None:
    """In every row, so that no position of a broken model looks sound."""
    matrix_io, x_ni = drawn(0, 8, 4), drawn(1, 3, 8)
    sound = Int8Matrix.of(matrix_io).product(x_ni)
    matrix_io[5, 2] = float("nan")
    found = Int8Matrix.of(matrix_io).product(x_ni)
    assert torch.isnan(found[:, 2]).all()
    assert torch.equal(found[:, [0, 1, 3]], sound[:, [0, 1, 3]])


def test_entries_too_small_for_a_step_are_nothing() -> None:
    """A 127th of the least float is 0, and nothing is divided by it."""
    found = Int8Matrix.of(torch.full((4, 2), 1e-45)).product(drawn(1, 3, 4))
    assert found.tolist() == [[0.0, 0.0]] * 3
