"""Rows of logits: NLL, KL, gap, margin and what counts as no row, held against mpmath and scipy."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from evalflow.numeric.logits import PairedRows, nll_rows, paired_rows

INF = np.inf
LOGITS = st.floats(-30, 30)


@st.composite
def pairs(draw, most=6):
    """Two arms of 1 to 4 rows over 1 to `most` candidates, and targets."""
    n_rows, width = draw(st.integers(1, 4)), draw(st.integers(1, most))
    arm = st.lists(st.lists(LOGITS, min_size=width, max_size=width), min_size=n_rows, max_size=n_rows)
    targets = st.lists(st.integers(0, width - 1), min_size=n_rows, max_size=n_rows)
    return np.array(draw(arm)), np.array(draw(arm)), np.array(draw(targets))


def noisy(n_rows, width, seed=0, noise=0.01, dtype=np.float32):
    """Random logits, a copy of them with noise, and targets."""
    rng = np.random.default_rng(seed)
    ref = (rng.normal(size=(n_rows, width)) * 3).astype(dtype)
    cand = (ref + rng.normal(size=ref.shape) * noise).astype(dtype)
    return ref, cand, rng.integers(0, width, n_rows)


def assert_same(one: PairedRows, other: PairedRows, rel=0.0):
    """Columns agree: integers exactly, floats to `rel` of their size or of 1."""
    for name in one.__dataclass_fields__:
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine.dtype.kind == "f" and rel:
            np.testing.assert_allclose(mine, theirs, rtol=rel, atol=rel, err_msg=name)
        else:
            np.testing.assert_array_equal(mine, theirs, err_msg=name)


def test_two_rows_by_hand():
    """Of ln(1), ln(2), ln(5) against ln(2), ln(2), ln(4), in eighths: every column follows from the shares."""
    rows = paired_rows(np.log([[1.0, 2.0, 5.0]]), np.log([[2.0, 2.0, 4.0]]), [1])
    p, q = np.array([1, 2, 5]) / 8, np.array([2, 2, 4]) / 8
    assert rows.nll_ref[0] == pytest.approx(np.log(4), abs=1e-15)
    assert rows.nll_cand[0] == pytest.approx(np.log(4), abs=1e-15)
    assert rows.kl[0] == pytest.approx((p * np.log(p / q)).sum(), abs=1e-15)
    assert rows.margin[0] == pytest.approx(np.log(2.5), abs=1e-15)
    assert rows.max_abs[0] == pytest.approx(np.log(2), abs=1e-15)
    assert (rows.gap[0], rows.argmax_ref[0], rows.argmax_cand[0], rows.ok[0]) == (0, 2, 2, True)
    assert rows.dp[0] == pytest.approx(0, abs=1e-15)


def test_the_candidates_pick_is_priced_by_the_reference():
    """Where the arms disagree, gap is the reference's logit difference, and dp the change of the target's share."""
    rows = paired_rows(np.log([[1.0, 2.0, 5.0]]), np.log([[1.0, 6.0, 1.0]]), [1])
    assert rows.gap[0] == pytest.approx(np.log(2.5), abs=1e-15)
    assert rows.dp[0] == pytest.approx(6 / 8 - 2 / 8, abs=1e-15)
    assert (rows.argmax_ref[0], rows.argmax_cand[0]) == (2, 1)


@pytest.mark.parametrize("width", [1, 2, 7, 100, 8191, 8192, 8193, 40_000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_any_width_and_type_agrees_with_scipy(width, dtype):
    """NLL, lse and margin of one arm, and KL of two, are scipy's on the same numbers in float64."""
    ref, cand, targets = noisy(3, width, seed=width, dtype=dtype)
    x, y, each = ref.astype(np.float64), cand.astype(np.float64), np.arange(3)
    lse_x, lse_y = logsumexp(x, axis=1), logsumexp(y, axis=1)
    one, two = nll_rows(ref, targets), paired_rows(ref, cand, targets, kernel="numpy")
    p = np.exp(x - lse_x[:, None])
    expected = {
        "nll_ref": lse_x - x[each, targets],
        "nll_cand": lse_y - y[each, targets],
        "kl": (p * ((x - lse_x[:, None]) - (y - lse_y[:, None]))).sum(axis=1),
        "gap": x.max(axis=1) - x[each, y.argmax(axis=1)],
        "max_abs": np.abs(x - y).max(axis=1),
        "argmax_ref": x.argmax(axis=1),
        "argmax_cand": y.argmax(axis=1),
    }
    for name, column in expected.items():
        np.testing.assert_allclose(getattr(two, name), column, rtol=0, atol=2e-14, err_msg=name)
    np.testing.assert_array_equal(one.nll, two.nll_ref)
    np.testing.assert_allclose(one.lse, lse_x, rtol=1e-15, atol=1e-15)
    np.testing.assert_array_equal(one.argmax, two.argmax_ref)
    np.testing.assert_array_equal(one.margin, two.margin)
    ranked = np.sort(x, axis=1)
    margin = ranked[:, -1] - ranked[:, -2] if width > 1 else np.full(3, np.nan)
    np.testing.assert_array_equal(one.margin, margin)


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0, 1e4])
def test_agrees_with_fifty_digits(scale):
    """NLL and KL of rows of any sharpness are right to 1e-13 of the largest logit, against mpmath."""
    ref, cand, targets = noisy(4, 60, seed=3, noise=0.02, dtype=np.float64)
    ref, cand = ref * scale, cand * scale
    rows = paired_rows(ref, cand, targets)
    with mpmath.workdps(50):
        for place in range(4):
            x, y = [[mpmath.mpf(float(value)) for value in row[place]] for row in (ref, cand)]
            lse_x, lse_y = (mpmath.log(mpmath.fsum(map(mpmath.exp, row))) for row in (x, y))
            kl = mpmath.fsum(mpmath.exp(a - lse_x) * ((a - lse_x) - (b - lse_y)) for a, b in zip(x, y, strict=True))
            tolerance = 1e-13 * max(1.0, 3 * scale)
            assert rows.nll_ref[place] == pytest.approx(float(lse_x - x[targets[place]]), abs=tolerance)
            assert rows.nll_cand[place] == pytest.approx(float(lse_y - y[targets[place]]), abs=tolerance)
            assert rows.kl[place] == pytest.approx(float(kl), abs=tolerance)


def test_a_tiny_kl_keeps_its_digits():
    """Arms 1e-6 apart have a KL of about 1e-12, where float32 would say 0 or less than 0."""
    ref, cand, targets = noisy(4, 5000, noise=1e-6, dtype=np.float64)
    p = np.exp(ref - logsumexp(ref, axis=1, keepdims=True))
    apart = cand - ref
    second_order = ((p * apart**2).sum(axis=1) - (p * apart).sum(axis=1) ** 2) / 2
    np.testing.assert_allclose(paired_rows(ref, cand, targets).kl, second_order, rtol=0, atol=1e-14)


def test_bit_identical_arms_differ_nowhere():
    """KL, gap, dp, dnll and the largest difference are exactly 0."""
    ref, _, targets = noisy(5, 20_000)
    rows = paired_rows(ref, ref.copy(), targets)
    for column in (rows.kl, rows.gap, rows.dp, rows.max_abs, rows.nll_ref - rows.nll_cand):
        assert (column == 0).all()


@pytest.mark.parametrize("bad", [[np.nan, 1, 2], [INF, 1, 2], [-INF, -INF, -INF], [np.nan, INF, -INF]])
@pytest.mark.parametrize("arm", ["ref", "cand", "both"])
def test_a_row_that_is_no_row_is_marked(bad, arm):
    """NaN, +inf or nothing but -inf in either arm: not ok, NaN in all columns, and no trace in the row beside it."""
    good = [1.0, 2.0, 3.0]
    ref = [good, bad if arm != "cand" else good]
    cand = [good, bad if arm != "ref" else good]
    rows = paired_rows(ref, cand, [2, 0])
    alone = paired_rows([good], [good], [2])
    assert rows.ok.tolist() == [True, False]
    assert_same(rows[:1], alone)
    assert (rows.argmax_ref[1], rows.argmax_cand[1]) == (-1, -1)
    for name in ("nll_ref", "nll_cand", "kl", "gap", "margin", "dp", "max_abs"):
        assert np.isnan(getattr(rows, name)[1])
    one = nll_rows([good, bad], [2, 0])
    assert one.ok.tolist() == [True, False]
    assert np.isnan([one.nll[1], one.lse[1], one.margin[1]]).all()
    assert one.argmax[1] == -1


@pytest.mark.parametrize("place", [0, 5000, 8192, 39_999])
@pytest.mark.parametrize("bad", [np.nan, INF])
def test_one_bad_logit_is_found_anywhere(place, bad):
    """In whatever piece of a wide row it lies, and whichever arm's."""
    for arm in range(2):
        arms = noisy(2, 40_000)
        arms[arm][1, place] = bad
        assert paired_rows(*arms).ok.tolist() == [True, False]
        assert nll_rows(arms[arm], arms[2]).ok.tolist() == [True, False]


def test_what_both_arms_rule_out_says_nothing():
    """Candidates at -inf in both arms leave every column as it is without them."""
    ref, cand, _ = noisy(3, 50)
    masked = [np.insert(arm, [0, 20, 50], -INF, axis=1) for arm in (ref, cand)]
    plain, rows = paired_rows(ref, cand, [4, 5, 6]), paired_rows(*masked, [5, 6, 7])
    for name in ("nll_ref", "nll_cand", "kl", "gap", "margin", "dp", "max_abs"):
        np.testing.assert_allclose(getattr(rows, name), getattr(plain, name), rtol=0, atol=1e-14)


def test_what_the_candidate_alone_rules_out_makes_kl_infinite():
    """p_ref > 0 and p_cand = 0: +inf, an ok row, flagged; the other way round it is a term of 0."""
    one, other = [[1.0, 2.0, 0.0]], [[1.0, 2.0, -INF]]
    rows = paired_rows(one, other, [0])
    assert (rows.kl[0], rows.ok[0], rows.kl_infinite[0]) == (INF, True, True)
    back = paired_rows(other, one, [0])
    p, lse = np.exp([1, 2]) / np.exp([1, 2]).sum(), logsumexp([1, 2])
    assert back.kl[0] == pytest.approx(
        (p * ([1, 2] - lse - (np.array([1, 2]) - logsumexp([1, 2, 0])))).sum(), abs=1e-15
    )
    assert not back.kl_infinite[0]
    assert back.max_abs[0] == 0


def test_a_share_too_small_for_a_float_is_still_a_share():
    """A candidate that rules out a token 2,000 nats below the peak has an infinite KL all the same."""
    assert paired_rows([[0.0, -2000.0]], [[0.0, -INF]], [0]).kl[0] == INF


def test_a_target_that_is_ruled_out_has_an_infinite_nll():
    """Its probability is 0: NLL is +inf, the row is ok, and dp is what the other arm gave it."""
    rows = paired_rows(np.log([[1.0, 3.0]]), [[-INF, 0.0]], [0])
    assert (rows.nll_cand[0], rows.ok[0]) == (INF, True)
    assert rows.dp[0] == pytest.approx(-0.25, abs=1e-15)
    assert nll_rows([[-INF, 0.0]], [0]).nll[0] == INF


def test_one_candidate_is_certain_and_has_no_margin():
    """NLL and KL are 0; there is no second to be ahead of, which is not the same as being far ahead of it."""
    rows = paired_rows([[3.0]], [[-7.0]], [0])
    assert (rows.nll_ref[0], rows.nll_cand[0], rows.kl[0], rows.ok[0]) == (0, 0, 0, True)
    assert np.isnan(rows.margin[0])
    assert paired_rows([[3.0, -INF]], [[3.0, -INF]], [0]).margin[0] == INF


def test_ties_go_to_the_lowest_index():
    """In a narrow row, and in a wide one whose ties lie in different pieces."""
    assert paired_rows([[1.0, 2.0, 2.0]], [[2.0, 1.0, 2.0]], [0]).argmax_ref[0] == 1
    wide = np.zeros((1, 40_000), dtype=np.float32)
    wide[0, [9_000, 9_001, 30_000]] = 1
    rows = paired_rows(wide, wide[:, ::-1], [0])
    assert (rows.argmax_ref[0], rows.argmax_cand[0], rows.margin[0]) == (9_000, 39_999 - 30_000, 0)


def test_large_logits_of_a_narrow_type_do_not_overflow():
    """float16 at the edge of its range, and float64 far beyond exp's."""
    rows = paired_rows(np.array([[65504, 65472, 0]], np.float16), np.array([[65504, 65472, 0]], np.float16), [1])
    assert rows.nll_ref[0] == pytest.approx(32, abs=1e-12)
    assert nll_rows([[1e300, 1e300]], [0]).nll[0] == pytest.approx(np.log(2), abs=1e-15)
    assert nll_rows([[-1e300, -1e300]], [0]).nll[0] == pytest.approx(np.log(2), abs=1e-15)


def test_any_layout_is_read():
    """Transposed, strided, reversed and byte-swapped arrays say what a plain copy of them says."""
    ref, cand, targets = noisy(6, 9000)
    plain = paired_rows(ref[::2, ::-3], cand[::2, ::-3], targets[::2] % 3000)
    copies = paired_rows(ref[::2, ::-3].copy(), cand[::2, ::-3].copy(), targets[::2] % 3000)
    assert_same(plain, copies)
    assert_same(paired_rows(np.asfortranarray(ref), cand, targets), paired_rows(ref, cand, targets))
    assert_same(paired_rows(ref.astype(">f4"), cand, targets), paired_rows(ref, cand, targets))


@pytest.mark.parametrize("width", [5, 3000, 20_000])
def test_rows_do_not_depend_on_their_neighbours(width):
    """Taken one at a time, or with masked, steep and broken rows beside them, rows keep their last digit."""
    ref, cand, targets = noisy(9, width)
    ref[2, 1] = cand[2, 1] = -INF
    ref[4, 0] = np.nan
    ref[6] *= 1000
    whole = paired_rows(ref, cand, targets, kernel="numpy")
    single = [paired_rows(ref[[n]], cand[[n]], targets[[n]], kernel="numpy") for n in range(9)]
    assert_same(whole, PairedRows.joined(single))
    assert_same(whole[3:5], PairedRows.joined(single[3:5]))


def test_no_rows_are_no_rows():
    """Nothing in, nothing out, from lists or from an empty array."""
    assert len(paired_rows([], [], [])) == 0
    assert len(nll_rows(np.empty((0, 7)), [])) == 0


@pytest.mark.parametrize(
    ("ref", "cand", "targets", "message"),
    [
        ([[1.0, 2.0], [1.0]], [[1.0, 2.0], [1.0, 2.0]], [0, 0], "ref logits, row 1: 1 logits where row 0 has 2"),
        ([[1.0, 2.0]], [[1.0, 2.0, 3.0]], [0], r"ref logits are \(1, 2\), cand logits \(1, 3\)"),
        ([[1.0, 2.0]], [[1.0, 2.0]], [2], "target 2 of row 0 is no id of the vocabulary; give 0 to 1"),
        ([[1.0, 2.0]] * 2, [[1.0, 2.0]] * 2, [0, -100], "target -100 of row 1"),
        ([[1.0, 2.0]], [[1.0, 2.0]], [0, 1], r"targets have shape \(2,\) for 1 rows"),
        ([[1.0, 2.0]], [[1.0, 2.0]], [0.0], "targets are float64; give integers"),
        ([[]], [[]], [0], "ref logits, row 0: no candidates"),
        ([1.0, 2.0], [1.0, 2.0], [0, 0], "ref logits, row 0: no row of numbers"),
        (np.array([[1, 2]], np.uint16), np.array([[1, 2]], np.uint16), [0], "ref logits are uint16; give float16"),
        (np.zeros((1, 2), np.longdouble), np.zeros((1, 2)), [0], "ref logits are float128"),
        (np.zeros((1, 1, 2)), np.zeros((1, 1, 2)), [0], r"ref logits have shape \(1, 1, 2\)"),
    ],
)
def test_what_cannot_be_rows_is_refused(ref, cand, targets, message):
    """With the place and what to give instead."""
    with pytest.raises(ValueError, match=message):
        paired_rows(ref, cand, targets)


def test_an_unknown_kernel_is_refused():
    """Its name is said, and what there is."""
    with pytest.raises(ValueError, match="kernel is 'cuda'; give 'numpy' or 'numba'"):
        paired_rows([[1.0]], [[1.0]], [0], kernel="cuda")


@given(pairs())
def test_kl_is_never_below_0(arms):
    """For any two rows, however close."""
    rows = paired_rows(*arms)
    assert (rows.kl >= 0).all()
    assert (rows.gap >= 0).all()
    assert (rows.nll_ref >= 0).all()


@given(pairs())
def test_swapping_the_arms_turns_the_differences_round(arms):
    """dnll and dp change sign and nothing else."""
    ref, cand, targets = arms
    one, other = paired_rows(ref, cand, targets), paired_rows(cand, ref, targets)
    np.testing.assert_array_equal(one.nll_cand - one.nll_ref, -(other.nll_cand - other.nll_ref))
    np.testing.assert_array_equal(one.dp, -other.dp)
    np.testing.assert_array_equal(one.max_abs, other.max_abs)


@given(pairs(), st.floats(-1000, 1000), st.floats(-1000, 1000))
def test_a_constant_added_to_a_row_changes_nothing(arms, up, down):
    """Each arm by its own constant: probabilities stay, and so does everything but the largest difference."""
    ref, cand, targets = arms
    plain, moved = paired_rows(ref, cand, targets), paired_rows(ref + up, cand + down, targets)
    for name in ("nll_ref", "nll_cand", "kl", "dp"):
        np.testing.assert_allclose(getattr(moved, name), getattr(plain, name), rtol=0, atol=1e-11)


@given(pairs(), st.randoms(use_true_random=False))
def test_the_order_of_the_vocabulary_does_not_matter(arms, random):
    """Shuffled alike in both arms and the targets, rows keep their figures."""
    ref, cand, targets = arms
    order = list(range(ref.shape[1]))
    random.shuffle(order)
    plain = paired_rows(ref, cand, targets)
    moved = paired_rows(ref[:, order], cand[:, order], [order.index(target) for target in targets])
    for name in ("nll_ref", "nll_cand", "kl", "dp", "max_abs", "margin"):
        np.testing.assert_allclose(getattr(moved, name), getattr(plain, name), rtol=0, atol=1e-12)
