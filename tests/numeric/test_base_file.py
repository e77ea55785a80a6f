"""llama.cpp's base file as bytes: where things lie, what a row means, and what its steps cost."""

import io
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_softmax
from scipy.stats import entropy

from evalflow.numeric.base_file import (
    KL_FLOOR,
    STEP,
    Layout,
    check_tokens,
    chunk_id,
    decode,
    encode,
    head_kl,
    heads,
    log_probabilities,
    read_head,
    read_layout,
)

ROWS = arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 40)), elements=st.floats(-40, 40, width=32))


def record(scale, least, *units):
    """One row by hand, as an array of its units."""
    padded = [*units, *[0] * (len(units) % 2)]
    return np.frombuffer(struct.pack(f"<ff{len(padded)}H", scale, least, *padded), "<u2")[None]


def test_places_by_hand():
    """Two chunks of 8 tokens over 5: 20 bytes, 64 of tokens, then 3 rows a chunk of 8 + 2 x 6 bytes each."""
    layout = Layout(n_ctx=8, n_vocab=5, n_chunk=2)
    assert (layout.first, layout.rows, layout.record_units) == (5, 3, 10)
    assert (layout.records_at, layout.chunk_bytes, layout.size) == (84, 60, 204)
    assert layout.header() == b"_logits_" + struct.pack("<iii", 8, 5, 2)


def test_llama_cpps_default_walk():
    """512 tokens a chunk have 255 rows, the first for token 257; an odd context is halved downwards."""
    assert (Layout(512, 32000, 1).first, Layout(512, 32000, 1).rows) == (257, 255)
    assert (Layout(7, 10, 1).first, Layout(7, 10, 1).rows) == (4, 3)


def test_places_beyond_32_bits():
    """WikiText-2's 655 chunks over 128,256 tokens are 42.8 GB and 21.4 thousand million entries."""
    layout = Layout(512, 128_256, 655)
    assert layout.size == 20 + 4 * 655 * 512 + 655 * 255 * 2 * (128_256 + 4)
    assert layout.size > 2**35


@pytest.mark.parametrize(
    ("header", "size", "said"),
    [
        (b"_logits_", 8, "no base file"),
        (b"GGUF" + bytes(16), 20, "no base file"),
        (b"_logits_" + struct.pack("<iii", 2, 5, 1), 999, "n_ctx 2, n_vocab 5, n_chunk 1"),
        (b"_logits_" + struct.pack("<iii", 8, -5, 1), 999, "n_vocab -5"),
        (b"_logits_" + struct.pack(">iii", 512, 32000, 0), 999, "this byte order"),
        (b"_logits_" + struct.pack("<iii", 8, 5, 2), 203, r"ends after 1 of 2 chunks \(203 of 204 bytes\)"),
        (b"_logits_" + struct.pack("<iii", 8, 5, 2), 40, "ends after 0 of 2 chunks"),
        (b"_logits_" + struct.pack("<iii", 8, 5, 2), 205, "205 bytes long, and its header says 204"),
    ],
)
def test_a_header_that_is_none_is_refused(header, size, said):
    """Foreign, cut off, too long, of the other byte order: one line each."""
    with pytest.raises(ValueError, match=said) as refused:
        read_layout(header, size)
    assert "\n" not in str(refused.value)


def test_tokens_beyond_the_vocabulary_are_refused():
    """The first one is named by chunk and place."""
    with pytest.raises(ValueError, match="chunk 0002 has token 5 at 1, of a vocabulary of 5"):
        check_tokens(np.array([[0, 4], [4, 5]]), 5)
    layout = Layout(3, 4, 1)
    whole = layout.header() + struct.pack("<iii", 1, -1, 2) + bytes(layout.chunk_bytes)
    with pytest.raises(ValueError, match="chunk 0001 has token -1 at 1"):
        read_head(io.BytesIO(whole))


def test_a_row_decodes_by_hand():
    """Each log-probability is scale times its entry, and the least; the entry that makes the width even is none."""
    row = decode(record(0.0001, -9.0, 65535, 10000, 0, 1, 2), 5)
    scale = float(np.float32(0.0001))
    assert row[0] == pytest.approx([scale * 65535 - 9, scale * 10000 - 9, -9, scale - 9, 2 * scale - 9], abs=1e-12)


def test_a_row_encodes_by_hand():
    """Of logits 0, -5, -16, -20 the last two are beyond the reach of 16, and the second is 11/16 of all steps."""
    records = encode(np.array([[0.0, -5.0, -16.0, -20.0, -15.9999]]))
    assert records.shape == (1, 10)
    scale, least = struct.unpack("<ff", records[0, :4].tobytes())
    assert scale == np.float32(16 / 65535)
    assert least == pytest.approx(-16 - math.log(1 + math.exp(-5) + 2 * math.exp(-16) + math.exp(-20)), abs=2e-6)
    assert records[0, 4:].tolist() == [65535, 45055, 0, 0, 0, 0]


def test_a_constant_row_has_no_steps():
    """Equal logits are stored as scale 0 and decode to the uniform distribution, exactly as known."""
    records = encode(np.full((1, 4), 7.0, dtype=np.float32))
    assert records[0, [0, 1]].tolist() == [0, 0] and records[0, 4:].tolist() == [0, 0, 0, 0]
    rows, tail = log_probabilities(records, 4)
    assert rows[0] == pytest.approx([-math.log(4)] * 4, abs=1e-6)
    assert tail[0] == 0.0


def test_close_logits_become_a_tie_that_the_lower_index_wins():
    """A lead of less than half a step is lost, and the likeliest token is then the first of the equals."""
    logits = np.array([[-20.0, 1.0, 1.00005, 0.0]], dtype=np.float32)
    rows, _ = log_probabilities(encode(logits), 4)
    assert logits[0].argmax() == 2
    assert rows[0, 1] == rows[0, 2] and rows[0].argmax() == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_row_that_is_not_finite_reads_as_nan(bad):
    """It is kept as what it was, and the rows beside it are whole."""
    logits = np.array([[0.0, 1.0, 2.0], [0.0, bad, 2.0], [-np.inf] * 3, [2.0, -np.inf, 0.0]], dtype=np.float32)
    rows, tail = log_probabilities(encode(logits), 3)
    assert np.isnan(rows).all(axis=1).tolist() == [False, True, True, False]
    assert np.isfinite(rows[[0, 3]]).all() and tail[1] == 0.0
    assert rows[3, [0, 2]] == pytest.approx(log_softmax([2.0, 0.0]), abs=STEP)


def test_logits_beyond_float32_do_not_pass_for_finite():
    """A float64 that float32 cannot hold is infinite there, as it would be to llama.cpp."""
    assert np.isnan(heads(encode(np.array([[0.0, 1e39]])))[0]).all()


@settings(deadline=None)
@given(ROWS)
def test_the_round_trip_is_off_by_half_a_step_at_most(logits):
    """What lies within 16 of the likeliest comes back within half its row's step, and float32's own rounding."""
    exact = log_softmax(logits.astype(np.float64), axis=1)
    records = encode(logits)
    rows, _ = log_probabilities(records, logits.shape[1])
    scale, least = heads(records)
    assert (scale <= STEP * (1 + 1e-6)).all()
    within = logits.astype(np.float64) - logits.max(axis=1, keepdims=True) > -16
    off = np.abs(rows - exact) - 0.5 * scale[:, None]
    # an entry of 0 that is beyond the reach's end by rounding alone is told with the tail
    told = within & (records[:, 4 : 4 + logits.shape[1]] > 0)
    assert (off[told] <= 2e-5).all()
    assert (np.abs(decode(records, logits.shape[1]) - exact)[within] <= 0.5 * STEP + 2e-5).all()
    assert (rows <= np.maximum(rows.max(axis=1), 0)[:, None]).all() and (rows >= least[:, None] - 60).all()


@settings(deadline=None)
@given(ROWS)
def test_a_row_adds_up_to_one(logits):
    """Up to the rounding of its steps: half of one on all of the mass at the worst."""
    rows, tail = log_probabilities(encode(logits), logits.shape[1])
    total = np.exp(rows.astype(np.float64)).sum(axis=1)
    assert total == pytest.approx(np.ones(len(rows)), abs=STEP)
    assert ((tail >= 0) & (tail < 1)).all()


def test_the_tail_shares_what_the_others_leave():
    """A thousand tokens at -17 and a thousand at -18 have e^-17 + e^-18 a pair, of which each has half."""
    logits = np.concatenate([[0.0], np.full(1000, -17.0), np.full(1000, -18.0)])[None]
    left = 1000 * (math.exp(-17) + math.exp(-18))
    rows, tail = log_probabilities(encode(logits), 2001)
    assert tail[0] == pytest.approx(left / (1 + left), abs=2e-6)
    assert rows[0, 1:] == pytest.approx(np.full(2000, math.log(left / (1 + left) / 2000)), abs=0.04)


def test_the_lifted_tail_of_a_plain_decode_is_mended():
    """A hundred thousand tokens far below the likeliest would have a hundredth of all mass; they have what they had."""
    logits = np.full((1, 100_000), -30.0, dtype=np.float32)
    logits[0, 0] = 0.0
    records = encode(logits)
    assert np.exp(decode(records, 100_000)).sum() == pytest.approx(1 + 99_999 * math.exp(-16), abs=1e-4)
    rows, _ = log_probabilities(records, 100_000)
    assert np.exp(rows.astype(np.float64)).sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("scale", "least"), [(-0.1, -9.0), (0.001, -30.0), (1e-5, 0.5), (0.0002, -9.0), (1e-5, 1e9)])
def test_a_row_that_no_distribution_has_is_damage(scale, least):
    """A negative or too wide step, or a probability above 1: the row is named."""
    whole = record(0.0, -1.0, 0, 0)
    with pytest.raises(ValueError, match="row 1 has scale"):
        heads(np.concatenate([whole, record(scale, least, 1, 2)]))


def test_head_kl_is_the_kl_where_nothing_is_left_out():
    """Against scipy's, over distributions without a tail, however the candidate's logits are shifted."""
    rng = np.random.default_rng(3)
    ref, cand = rng.standard_normal((2, 5, 30))
    p, q = (np.exp(log_softmax(x, axis=1)) for x in (ref, cand))
    assert head_kl(log_softmax(ref, axis=1), cand + 700) == pytest.approx(entropy(p, q, axis=1), abs=1e-12)


def test_head_kl_leaves_the_tail_out():
    """A token at -16 or below adds nothing, whatever the candidate makes of it; one just above does."""
    ref = np.array([[math.log(0.5), math.log(0.5), -16.0, -17.0]])
    cand = np.array([[0.0, 0.0, -np.inf, -np.inf]])
    assert head_kl(ref, cand) == pytest.approx([0.0], abs=1e-15)
    assert head_kl(np.array([[math.log(0.5), math.log(0.5), -15.9, -17.0]]), cand)[0] == np.inf


def test_head_kl_has_no_value_where_a_row_has_none():
    """NaN in either arm, or nothing finite in the candidate."""
    fine = np.log([[0.5, 0.5]])
    for ref, cand in ((fine * np.nan, fine), (fine, fine * np.nan), (fine, fine - np.inf), (fine, fine + np.inf)):
        assert np.isnan(head_kl(ref, cand)).all()


@pytest.mark.parametrize("spread", [2.0, 4.0])
def test_the_floor_of_a_kl(spread):
    """A model against its own file: about 1e-5 a position of either sign, far less on average.

    So a negative KL of one position is normal, and one that is smaller than the floor says nothing.
    """
    logits = (np.random.default_rng(7).standard_normal((200, 8192)) * spread).astype(np.float32)
    rows, tail = log_probabilities(encode(logits), 8192)
    own = head_kl(rows, logits)
    assert (own < 0).any() and (own > 0).any()
    assert float(np.sqrt((own**2).mean())) < 2 * KL_FLOOR
    assert np.abs(own).max() < 10 * KL_FLOOR
    assert abs(own.mean()) < KL_FLOOR / 3
    assert tail.max() < 1e-3


def test_chunks_are_counted_from_one():
    """Ids sort as chunks do, up to ten thousand of them."""
    assert [chunk_id(0), chunk_id(9998), chunk_id(12345)] == ["chunk 0001", "chunk 9999", "chunk 12346"]
