"""The compiled rows say what the plain ones say, at every edge that either has."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalflow.numeric import logits
from evalflow.numeric.logits import PairedRows, paired_rows

fast_logits = pytest.importorskip("evalflow.numeric.fast_logits", exc_type=ImportError)
INF, NAN = np.inf, np.nan


def assert_alike(ref, cand, targets, tolerance=1e-12):
    """Integers, flags and what has no value exactly, floats to `tolerance` of their size or of 1; the compiled rows."""
    plain = paired_rows(ref, cand, targets, kernel="numpy")
    rows = paired_rows(ref, cand, targets, kernel="numba")
    for name in PairedRows.__dataclass_fields__:
        mine, theirs = getattr(rows, name), getattr(plain, name)
        assert mine.dtype == theirs.dtype
        if mine.dtype.kind == "f":
            np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance, err_msg=name)
        else:
            np.testing.assert_array_equal(mine, theirs, err_msg=name)
    return rows


def noisy(n_rows, width, noise, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    ref = (rng.normal(size=(n_rows, width)) * 3).astype(dtype)
    return ref, (ref + rng.normal(size=ref.shape) * noise).astype(dtype), rng.integers(0, width, n_rows)


@pytest.mark.parametrize("width", [1, 2, 7, 1023, 1024, 1025, 10_000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.01, 0.1, 3.0])
def test_any_width_type_and_distance(width, dtype, noise):
    """Arms that are the same, close in some blocks, or far apart."""
    assert_alike(*noisy(3, width, noise, dtype))


def test_arms_of_two_types_and_any_layout():
    """Rows that must be copied first, more of them than are copied at a time."""
    ref, cand, targets = noisy(300, 9000, 0.01)
    assert_alike(ref, cand.astype(np.float64), targets)
    assert_alike(np.asfortranarray(ref), cand[:, ::-1], targets)
    assert_alike(ref.astype(">f4"), cand.astype(np.float16), targets)


def test_bit_identical_arms_differ_nowhere():
    """Exactly 0, not nearly."""
    ref, _, targets = noisy(4, 5000, 0.0)
    rows = paired_rows(ref, ref.copy(), targets, kernel="numba")
    for column in (rows.kl, rows.gap, rows.dp, rows.max_abs, rows.nll_ref - rows.nll_cand):
        assert (column == 0).all()


@pytest.mark.parametrize("place", [0, 1023, 1024, 4999])
@pytest.mark.parametrize("bad", [NAN, -NAN, INF, "negative NaN"])
@pytest.mark.parametrize("arm", [0, 1])
def test_one_bad_logit_is_found_anywhere(place, bad, arm):
    """NaN of either sign, or +inf, in any block and either arm."""
    arms = noisy(3, 5000, 0.01)
    arms[arm][1, place] = np.copysign(NAN, -1) if bad == "negative NaN" else bad
    assert assert_alike(*arms).ok.tolist() == [True, False, True]


def test_masked_candidates():
    """Ruled out by both, by one, by the other, in whole blocks, in all but one, or in all of a row."""
    ref, cand, targets = noisy(8, 5000, 0.01)
    targets[:] = 4321
    ref[0, [5, 3000]] = cand[0, [5, 3000]] = -INF
    ref[1, 77] = -INF
    cand[2, 4000] = -INF
    ref[3, :3000] = cand[3, :3000] = -INF
    ref[4, :4000] = -INF
    cand[5, :] = -INF
    ref[6, :4321] = ref[6, 4322:] = cand[6, :4321] = cand[6, 4322:] = -INF
    cand[7, 4321] = -INF
    rows = assert_alike(ref, cand, targets)
    assert rows.kl_infinite.tolist() == [False, False, True, False, False, False, False, True]
    assert rows.ok.tolist() == [True] * 5 + [False] + [True] * 2
    assert (rows.margin[6], rows.nll_cand[7]) == (INF, INF)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_peaks_far_apart_and_steep_rows(dtype):
    """A constant added to an arm, logits a thousand times as large, and a rising row whose peak moves on."""
    ref, cand, targets = noisy(5, 5000, 0.01, dtype)
    cand[0] += 1000
    ref[1] -= 5000
    ref[2] *= 1000
    cand[2] *= 1000
    ref[3] = cand[3] = np.linspace(-3000, 3000, 5000)
    cand[4] = -ref[4]
    assert_alike(ref, cand, targets, tolerance=3e-12)


def test_ties_and_signed_zeros():
    """The lowest index in whichever block; 0 and -0 are a tie."""
    ref = np.zeros((2, 5000), dtype=np.float32)
    ref[0, [1500, 4000]] = 1
    ref[1, :1200] = -0.0
    rows = assert_alike(ref, ref[:, ::-1], [0, 0])
    assert rows.argmax_ref.tolist() == [1500, 0]
    assert rows.margin.tolist() == [0, 0]


def test_numba_is_taken_for_wide_rows_alone():
    """By default; numpy's own columns come out for narrow ones."""
    assert logits._reducer(None, 4096) is fast_logits.reduce_pairs_compiled
    assert logits._reducer(None, 4095) is logits.reduce_pairs
    assert logits._reducer("numpy", 128_000) is logits.reduce_pairs


def test_without_numba_the_default_is_numpy(monkeypatch):
    """And asking for numba says what to install."""
    monkeypatch.setattr(logits, "_compiled", lambda: None)
    assert logits._reducer(None, 128_000) is logits.reduce_pairs
    with pytest.raises(ValueError, match="install the extra `fast`"):
        paired_rows([[1.0]], [[1.0]], [0], kernel="numba")


@given(st.lists(st.tuples(st.floats(-50, 50, width=32), st.floats(-50, 50, width=32)), min_size=1, max_size=40))
def test_any_two_rows(pairs):
    """Of numbers from -50 to 50."""
    ref, cand = np.array(pairs).T[:, None, :]
    assert_alike(ref, cand, [len(pairs) - 1])


def test_a_token_ruled_out_stays_so_however_large_a_later_one_is():
    """A -inf in one block and a peak 800 nats higher in a later one: KL is infinite, and the row is a row."""
    ref = np.zeros((1, 2048), dtype=np.float32)
    ref[0, 1500] = 800
    cand = ref.copy()
    cand[0, 5] = -np.inf
    for kernel in ("numpy", "numba"):
        found = paired_rows(ref, cand, [1500], kernel)
        assert (found.ok[0], found.kl[0]) == (True, np.inf)
