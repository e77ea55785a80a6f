"""Logits reduced where they lie give what the numeric core gives."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch

from evalflow.model import torch_sums
from evalflow.model.reduction import here, nll, paired
from evalflow.numeric.logits import PairedRows, RowNLL, nll_from_sums, nll_rows, paired_from_sums, paired_rows

INF, NAN = np.inf, np.nan

Arrays = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]


def near() -> Arrays:
    """Forty rows of 300, the candidate a little off, some of them steep or far from 0."""
    rng = np.random.default_rng(8)
    ref = rng.normal(size=(40, 300)) * 4
    ref[3] *= 200
    ref[4] += 5000
    return ref, ref + rng.normal(size=ref.shape) * 0.05, rng.integers(0, 300, 40)


def odd() -> Arrays:
    """Ties, candidates ruled out by one arm or both, and rows that are no distribution."""
    ref = np.array(
        [
            [1, 2, 2, 0],
            [1, -INF, 2, 0],
            [1, -INF, 2, 0],
            [1, 2, 3, 0],
            [NAN, 1, 2, 3],
            [1, 2, 3, 4],
            [INF, 1, 2, 3],
            [-INF, -INF, -INF, -INF],
            [5, -INF, -INF, -INF],
            [1, 2, 3, NAN],
        ]
    )
    cand = np.array(
        [
            [2, 2, 1, 0],
            [1, -INF, 2, 0],
            [1, 0, 2, -INF],
            [1, 2, 3, 0],
            [0, 1, 2, 3],
            [1, NAN, 3, 4],
            [0, 1, 2, 3],
            [0, 1, 2, 3],
            [-INF, 2, -INF, -INF],
            [1, 2, 3, NAN],
        ]
    )
    return ref, cand, np.array([0, 1, 3, 2, 0, 1, 0, 0, 0, 3])


def same(found: PairedRows | RowNLL, expected: PairedRows | RowNLL, tolerance: float = 1e-12) -> None:
    for column in fields(expected):
        wanted, got = getattr(expected, column.name), getattr(found, column.name)
        assert wanted.dtype == got.dtype
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=column.name)


def by_torch(ref: Any, cand: Any, targets: Any) -> PairedRows:
    return paired_from_sums(torch_sums.reduce_pairs(torch.as_tensor(ref), torch.as_tensor(cand), targets))


@pytest.mark.parametrize("rows", [near, odd])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_torch_gives_what_numpy_gives(rows: Any, dtype: str) -> None:
    """Every column to 1e-12, indices and what is not finite exactly."""
    ref, cand, targets = rows()
    ref, cand = ref.astype(dtype), cand.astype(dtype)
    same(by_torch(ref, cand, targets), paired_rows(ref, cand, targets, kernel="numpy"))
    same(nll_from_sums(torch_sums.reduce_rows(torch.as_tensor(ref), targets)), nll_rows(ref, targets))


def test_what_the_odd_rows_are_is_known_by_hand() -> None:
    """A tie goes to the lower token; KL is infinite where the candidate alone rules out; some rows say nothing."""
    found = by_torch(*odd())
    assert found.ok.tolist() == [True, True, True, True, False, False, False, False, True, False]
    assert found.argmax_ref.tolist() == [1, 2, 2, 2, -1, -1, -1, -1, 0, -1]
    assert found.argmax_cand.tolist() == [0, 2, 2, 2, -1, -1, -1, -1, 1, -1]
    assert found.margin[:4].tolist() == [0.0, 1.0, 1.0, 1.0]
    assert np.isposinf(found.kl).tolist() == [i in (2, 8) for i in range(10)]
    assert found.kl[1] == found.kl[3] == 0.0
    assert np.isnan(found.max_abs[8])


def test_rows_are_taken_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """In groups of any size, each row by itself: the columns are the same to the last bit."""
    ref, cand, targets = near()
    whole = by_torch(ref, cand, targets)
    monkeypatch.setattr(torch_sums, "AT_ONCE", 1000)
    same(by_torch(ref, cand, targets), whole, 0.0)


def test_no_rows_are_no_rows() -> None:
    """A window that scores nothing."""
    empty = np.empty((0, 5))
    assert len(by_torch(empty, empty, np.empty(0, dtype=np.int64))) == 0


def test_one_candidate_has_no_second() -> None:
    """Its margin is undefined, and it is certain."""
    found = nll_from_sums(torch_sums.reduce_rows(torch.tensor([[3.0]]), np.array([0])))
    assert (found.nll[0], np.isnan(found.margin[0])) == (0.0, True)


def test_what_is_here_is_reduced_by_numpy() -> None:
    """Arrays and tensors on the CPU in any mixture; bfloat16 ones are read as float32."""
    ref, cand, targets = near()
    same(paired(torch.as_tensor(ref), cand, targets), paired_rows(ref, cand, targets), 0.0)
    half = torch.as_tensor(ref).bfloat16()
    assert here(half).dtype == np.float32
    assert here(torch.as_tensor(ref).half()).dtype == np.float16
    same(nll(half, targets), nll_rows(half.float().numpy(), targets), 0.0)


def test_it_loads_no_torch() -> None:
    """Where nobody has loaded it, nothing is a tensor."""
    code = (
        "import sys, numpy as np; from evalflow.model.reduction import nll; "
        "nll(np.zeros((2, 3)), np.array([0, 1])); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.gpu
@pytest.mark.parametrize("rows", [near, odd])
def test_an_accelerator_gives_what_the_numeric_core_gives(rows: Any) -> None:
    """Reduced there, in whatever precision it sums in; faulty targets are refused before it sees them."""
    device = torch.accelerator.current_accelerator()
    if device is None:
        pytest.skip("no accelerator")
    ref, cand, targets = rows()
    ref, cand = ref.astype(np.float32), cand.astype(np.float32)
    x, y = torch.as_tensor(ref).to(device), torch.as_tensor(cand).to(device)
    tolerance = 1e-4 if device.type == "mps" else 1e-11
    same(paired(x, y, targets), paired_rows(ref, cand, targets), tolerance)
    same(nll(x, targets), nll_rows(ref, targets), tolerance)
    with pytest.raises(ValueError, match="give both arms the same"):
        paired(x, y[:, :-1], targets)
    for wrong, message in ((targets[:-1], "one target per row"), (targets + x.shape[1], "no id of the vocabulary")):
        with pytest.raises(ValueError, match=message):
            paired(x, y, wrong)
