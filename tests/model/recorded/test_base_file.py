"""llama.cpp's base file on disk: read lazily, written whole, refused where it is none."""

import math
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from evalflow.errors import ModelError
from evalflow.model.recorded.base_file import BaseFile, BaseFileWriter, chunk_of, windows_of
from tests.model.recorded.by_hand import base_bytes, logits_of


def by_hand(path, n_vocab=5):
    """Two chunks of 4 tokens, hence one row each: scale 0.0001, least -8 and -7."""
    units = [[65535, 60000, 30000, 1, 0][:n_vocab], [0, 1, 2, 3, 65535][:n_vocab]]
    rows = [[(0.0001, -8.0, units[0])], [(0.0001, -7.0, units[1])]]
    path.write_bytes(base_bytes([[0, 1, 2, 3], [3, 2, 1, 0]], n_vocab, rows))
    return BaseFile(path)


def test_a_file_made_by_hand_decodes_to_what_was_put_in(tmp_path):
    """Tokens, places and values, of an odd vocabulary with its entry too many; no reach is used up, hence no tail."""
    base = by_hand(tmp_path / "a.base")
    assert (base.layout.n_ctx, base.layout.n_vocab, base.layout.n_chunk, base.layout.first) == (4, 5, 2, 3)
    assert base.tokens_cn.tolist() == [[0, 1, 2, 3], [3, 2, 1, 0]]
    scale = float(np.float32(0.0001))
    first, tail = base.rows(0, 0, 1)
    assert first[0] == pytest.approx([scale * 65535 - 8, scale * 60000 - 8, scale * 30000 - 8, scale - 8, -8], abs=1e-6)
    assert base.rows(1, 0, 1)[0][0] == pytest.approx([-7, scale - 7, 2 * scale - 7, 3 * scale - 7, -0.4465], abs=1e-6)
    assert tail.tolist() == [0.0]


def test_an_even_vocabulary_has_no_entry_too_many(tmp_path):
    """The second chunk's row is found where the first one's ends."""
    base = by_hand(tmp_path / "a.base", n_vocab=4)
    assert base.records(1, 0, 1)[0, 4:].tolist() == [0, 1, 2, 3]


@settings(deadline=None, max_examples=30)
@given(n_ctx=st.integers(3, 9), n_vocab=st.integers(1, 8), n_chunk=st.integers(1, 3), seed=st.integers(0, 99))
def test_what_is_written_is_read(tmp_path_factory, n_ctx, n_vocab, n_chunk, seed):
    """Any shape: the same tokens, and log-probabilities within half a step."""
    path = tmp_path_factory.mktemp("base") / "a.base"
    rng = np.random.default_rng(seed)
    tokens = rng.integers(0, n_vocab, (n_chunk, n_ctx))
    n_rows = n_ctx - 1 - n_ctx // 2
    logits = [logits_of(n_rows, n_vocab, seed + place) * 3 for place in range(n_chunk)]
    with BaseFileWriter(path, tokens, n_vocab) as writer:
        for chunk in logits:
            writer.add(chunk)
    base = BaseFile(path)
    assert (base.tokens_cn == tokens).all()
    assert path.stat().st_size == 20 + 4 * n_chunk * n_ctx + n_chunk * n_rows * (8 + 2 * (n_vocab + n_vocab % 2))
    for place, chunk in enumerate(logits):
        rows, _ = base.rows(place, 0, n_rows)
        exact = log_softmax(chunk.astype(float), axis=1)
        near = exact > exact.max(axis=1, keepdims=True) - 15.9
        assert (np.abs(rows - exact)[near] <= 8 / 65535 + 1e-5).all()
    assert not list(path.parent.glob(".*"))


def test_the_header_is_llama_cpps(tmp_path):
    """Byte for byte: magic, three int32, the tokens, then scale and least of the first row."""
    with BaseFileWriter(tmp_path / "a.base", np.array([[7, 8, 9]]), 10) as writer:
        writer.add(np.zeros((1, 10), dtype=np.float16))
    whole = (tmp_path / "a.base").read_bytes()
    assert whole[:32] == b"_logits_" + struct.pack("<6i", 3, 10, 1, 7, 8, 9)
    assert struct.unpack("<ff", whole[32:40]) == (0.0, pytest.approx(-math.log(10), abs=1e-6))
    assert whole[40:] == bytes(20)


def test_a_file_beyond_32_bits(tmp_path):
    """Over 2^31 entries and 2^32 bytes of a sparse file, a chunk near the end is found where it lies."""
    path = tmp_path / "big.base"
    n_ctx, n_vocab, n_chunk = 512, 128_256, 90
    row_bytes = 2 * (n_vocab + 4)
    start = 20 + 4 * n_ctx * n_chunk
    size = start + n_chunk * 255 * row_bytes
    assert n_chunk * 255 * n_vocab > 2**31 and size > 2**32
    at = start + (88 * 255 + 254) * row_bytes
    with path.open("wb") as file:
        file.write(b"_logits_" + struct.pack("<iii", n_ctx, n_vocab, n_chunk))
        file.truncate(size)
        file.seek(at)
        file.write(struct.pack("<ff", 0.0002, -15.0))
        file.seek(at + 8 + 2 * 128_000)
        file.write(struct.pack("<H", 65535))
    base = BaseFile(path)
    records = base.records(88, 254, 255)
    assert records.shape == (1, n_vocab + 4) and np.count_nonzero(records[0, 4:]) == 1
    rows, _ = base.rows(88, 254, 255)
    assert rows[0].argmax() == 128_000
    assert rows[0, 128_000] == pytest.approx(float(np.float32(0.0002)) * 65535 - 15, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda whole: whole[:-1], r"ends after 1 of 2 chunks \(91 of 92 bytes\); copy it again"),
        (lambda whole: whole[:30], "ends after 0 of 2 chunks"),
        (lambda whole: whole[:19], "no base file of llama.cpp"),
        (lambda whole: b"", "no base file of llama.cpp"),
        (lambda whole: b"PK" + whole[2:], "no base file of llama.cpp; make one with llama-perplexity"),
        (lambda whole: whole + b"\0", "93 bytes long, and its header says 92"),
        (lambda whole: whole[:20] + struct.pack("<i", 5) + whole[24:], "chunk 0001 has token 5 at 0"),
    ],
)
def test_a_damaged_file_is_refused_when_it_is_opened(tmp_path, change, said):
    """Cut off, foreign, longer than it says, or of tokens that its vocabulary lacks: one line with the file's name."""
    by_hand(tmp_path / "a.base")
    whole = (tmp_path / "a.base").read_bytes()
    path = tmp_path / "b.base"
    path.write_bytes(change(whole))
    with pytest.raises(ModelError, match=said) as refused:
        BaseFile(path)
    assert str(path) in str(refused.value) and "\n" not in str(refused.value)


def test_a_file_that_is_not_there(tmp_path):
    """Nor is a folder one."""
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(ModelError, match=r"cannot be read .*; give a base file"):
            BaseFile(path)


def test_a_damaged_row_is_refused_when_it_is_read(tmp_path):
    """Its chunk is named; the others can be read."""
    rows = [[(0.0001, -8.0, [1, 2])], [(7.5, -8.0, [1, 2])]]
    (tmp_path / "a.base").write_bytes(base_bytes([[0, 1, 0, 1]] * 2, 2, rows))
    base = BaseFile(tmp_path / "a.base")
    base.rows(0, 0, 1)
    with pytest.raises(ModelError, match=r"a\.base: chunk 0002 from row 0: row 0 has scale 7\.5"):
        base.rows(1, 0, 1)


def test_a_file_is_there_whole_or_not_at_all(tmp_path):
    """Not while it is written, nor after an exception, nor with chunks missing; an earlier one stays as it was."""
    path = tmp_path / "a.base"
    by_hand(path)
    before = path.read_bytes()
    with pytest.raises(KeyError), BaseFileWriter(path, np.array([[1, 2, 3]] * 2), 4) as writer:
        writer.add(np.zeros((1, 4)))
        assert path.read_bytes() == before
        raise KeyError
    writer = BaseFileWriter(path, np.array([[1, 2, 3]] * 2), 4)
    writer.add(np.zeros((1, 4)))
    with pytest.raises(ValueError, match="1 chunks of logits for 2 chunks of tokens; add all"):
        writer.close()
    assert [found.name for found in tmp_path.iterdir()] == ["a.base"] and path.read_bytes() == before


def test_what_does_not_fit_is_not_written(tmp_path):
    """Rows of another shape, tokens of another vocabulary, chunks without a row, a folder that is not there."""
    path = tmp_path / "a.base"
    writer = BaseFileWriter(path, np.array([[1, 2, 3]]), 4)
    with pytest.raises(ValueError, match=r"logits of shape \(2, 4\) for a chunk; give \(1, 4\)"):
        writer.add(np.zeros((2, 4)))
    writer.discard()
    with pytest.raises(ValueError, match="chunk 0001 has token 4 at 2"):
        BaseFileWriter(path, np.array([[1, 2, 4]]), 4)
    with pytest.raises(ValueError, match="n_ctx 2"):
        BaseFileWriter(path, np.array([[1, 2]]), 4)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ModelError, match="cannot be written"):
        BaseFileWriter(tmp_path / "none" / "a.base", np.array([[1, 2, 3]]), 4)


def test_llama_cpps_window_of_a_chunk():
    """Of 8 tokens those from 5 on are scored, after 5 others; a beginning-of-text token takes the first one's place."""
    tokens = np.arange(10, 18)
    (plain,) = windows_of("chunk 0001", tokens, 8)
    assert (plain.tokens.tolist(), plain.first, plain.position, plain.bos) == (tokens.tolist(), 5, 5, False)
    assert plain.targets.tolist() == [15, 16, 17]
    (begun,) = windows_of("chunk 0001", tokens, 8, bos=1)
    assert (begun.tokens.tolist(), begun.first, begun.bos) == ([1, *range(11, 18)], 5, True)
    assert tokens[0] == 10
    assert len(windows_of("chunk 0001", np.arange(512), 512)[0].targets) == 255


def test_llama_cpps_windows_of_a_text():
    """Whole chunks one after another, the rest left out; with a token in front the text is one token later in them."""
    tokens = np.arange(10, 27)
    assert [(one.tokens.tolist(), one.position) for one in windows_of("a", tokens, 8)] == [
        (list(range(10, 18)), 5),
        (list(range(18, 26)), 13),
    ]
    begun = windows_of("a", tokens, 8, bos=1, in_front=True)
    assert [one.tokens.tolist() for one in begun] == [[1, *range(10, 17)], [1, *range(18, 25)]]
    for one in (*windows_of("a", tokens, 8), *windows_of("a", tokens, 8, bos=1), *begun):
        assert one.targets.tolist() == tokens[one.position : one.position + 3].tolist()
    assert windows_of("a", tokens[:7], 8) == ()


@pytest.mark.parametrize(("bos", "in_front"), [(None, False), (1, False), (1, True)])
def test_a_window_tells_its_chunk(bos, in_front):
    """Its number in the text, and whether a token stands before that; a window that begins elsewhere is none."""
    windows = windows_of("a", np.arange(40), 8, bos, in_front)
    assert [chunk_of(one, 8) for one in windows] == [(place, int(in_front)) for place in range(5)]
    assert all(chunk_of(replace(one, position=one.position + 2), 8) is None for one in windows)
    assert chunk_of(replace(windows[0], position=windows[0].position - 8), 8) is None
