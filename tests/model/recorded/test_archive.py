"""Files of arrays: every kind reads as it was written, nothing is read before it is asked for, damage is one line."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from evalflow.errors import ModelError
from evalflow.model.recorded.archive import open_archive
from tests.model.recorded.by_hand import logits_of, save_bfloat16

GIB = 2**30


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f4"])
@pytest.mark.parametrize("ending", ["npy", "npz", "safetensors"])
def test_rows_come_back_as_they_were(tmp_path, ending, dtype):
    """In their own precision, in this machine's byte order, and any slice of them."""
    rows = logits_of(7).astype(dtype)
    path = tmp_path / f"rows.{ending}"
    if ending == "npy":
        np.save(path, rows)
    elif ending == "npz":
        np.savez(path, tokens=np.arange(7), logits=rows)
    else:
        save_file({"tokens": np.arange(7), "logits": rows.astype(rows.dtype.newbyteorder("="))}, path)
    archive = open_archive(path)
    assert (len(archive.logits), archive.logits.width) == (7, 10)
    taken = archive.logits[2:5]
    assert taken.dtype == np.dtype(dtype).newbyteorder("=") and taken.dtype.isnative
    assert (taken == rows[2:5]).all()
    assert ending == "npy" or archive.arrays["tokens"].tolist() == list(range(7))


def test_bfloat16_reads_as_the_float32_that_it_is(tmp_path):
    """1, -2.5 and 3.140625 are bfloat16 numbers; pi is cut to the last of them."""
    path = save_bfloat16(tmp_path / "rows.safetensors", np.array([[1.0, -2.5, np.pi]]), tokens=np.array([1, 2]))
    archive = open_archive(path)
    assert archive.logits[:].dtype == np.float32
    assert archive.logits[:].tolist() == [[1.0, -2.5, 3.140625]]
    assert archive.arrays["tokens"].tolist() == [1, 2]


def test_a_gibibyte_is_not_read_to_see_a_row(tmp_path):
    """Of a sparse file of 1 GiB, a row at its end costs no memory to speak of."""
    path = tmp_path / "rows.npy"
    width = 2**16
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (GIB // 4 // width, width)}
        np.lib.format.write_array_header_1_0(file, header)
        start = file.tell()
        file.truncate(start + GIB)
        file.seek(start + GIB - 4)
        file.write(np.float32(2.5).tobytes())
    tracemalloc.start()
    try:
        rows = open_archive(path).logits
        taken = rows[len(rows) - 1 : len(rows)].copy()
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()
    assert len(rows) == 4096 and taken[0, -1] == 2.5 and taken[0, 0] == 0.0


def test_more_entries_than_31_bits_count(tmp_path):
    """A row that begins beyond 2^31 entries and 2^32 bytes is found where it lies."""
    path = tmp_path / "rows.npy"
    shape = (20_000, 128_256)
    at = 19_999 * 128_256 + 77
    assert at > 2**31
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f2", "fortran_order": False, "shape": shape})
        start = file.tell()
        file.truncate(start + 2 * shape[0] * shape[1])
        file.seek(start + 2 * at)
        file.write(np.float16(-7.5).tobytes())
    assert path.stat().st_size > 2**32
    taken = open_archive(path).logits[19_999:20_000]
    assert taken[0, 77] == -7.5 and np.count_nonzero(taken) == 1


def savez_compressed(path):
    np.savez_compressed(path, logits=logits_of(3))


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("a.pt", lambda path: path.write_bytes(b"x"), "no file of logits; give one that ends in .npz, .npy"),
        ("a.npy", lambda path: None, "cannot be read"),
        ("a.npy", lambda path: np.save(path, np.arange(6).reshape(2, 3)), "its logits are int64; give float16"),
        ("a.npy", lambda path: np.save(path, np.zeros((1, 2, 3))), r"shape \(1, 2, 3\); give \(rows, vocabulary\)"),
        ("a.npy", lambda path: np.save(path, np.zeros((0, 3))), r"shape \(0, 3\); give"),
        ("a.npy", lambda path: np.save(path, np.asfortranarray(logits_of(3))), "column by column"),
        ("a.npy", lambda path: np.save(path, np.array([None, 1]), allow_pickle=True), "its logits are object"),
        ("a.npz", lambda path: np.savez(path, rows=logits_of(3), tokens=[1]), "no logits, only rows, tokens; name"),
        ("a.npz", savez_compressed, "compressed, and cannot be mapped; save it by numpy.savez"),
        ("a.npz", lambda path: np.savez(path, logits=logits_of(3), tokens=[1.5]), "its tokens are float64 of shape"),
        ("a.npz", lambda path: np.savez(path, logits=logits_of(3), tokens=[[1]]), r"of shape \(1, 1\); give whole"),
        ("a.npz", lambda path: np.savez(path, logits=logits_of(3), items=np.array([{}])), "damaged"),
        ("a.safetensors", lambda path: save_file({"rows": logits_of(3)}, path), "no logits, only rows"),
        ("a.safetensors", lambda path: save_file({"logits": np.zeros((2, 2), "<i4")}, path), "are I32; give F16"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path, name, make, said):
    """One line: which file, what is wrong, what to do."""
    path = tmp_path / name
    make(path)
    with pytest.raises(ModelError, match=said) as refused:
        open_archive(path)
    assert str(path) in str(refused.value) and "; " in str(refused.value) and "\n" not in str(refused.value)


def packed(path, **arrays):
    """An `.npz` whose logits are stored and whose other arrays are deflated."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in {"logits": logits_of(300), **arrays}.items():
            buffer = io.BytesIO()
            np.save(buffer, array)
            kind = zipfile.ZIP_STORED if name == "logits" else zipfile.ZIP_DEFLATED
            archive.writestr(f"{name}.npy", buffer.getvalue(), kind)
    return path


@pytest.mark.parametrize("name", ["tokens", "starts", "first", "items", "offsets", "text_sha256"])
def test_an_array_that_unpacks_to_more_than_the_file_is_refused_unread(tmp_path, name):
    """16 MiB of zeros in a file of 30 KiB cost no memory to refuse; whatever is not asked for is not looked at."""
    zeros = np.zeros(2**21, dtype=np.int64)
    given = np.array("a" * 2**22) if name == "text_sha256" else zeros
    path, other = packed(tmp_path / "a.npz", **{name: given}), packed(tmp_path / "b.npz", notes=zeros)
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=rf"a\.npz: .*{name}.*; (save it by numpy.savez|give a row for each)"):
            open_archive(path)
        assert not open_archive(other).arrays
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()


def test_an_array_that_claims_to_be_long_gets_no_memory(tmp_path):
    """A header of 2^40 entries before 8 bytes; numpy would make room for them first."""
    path = tmp_path / "a.npz"
    np.savez(path, logits=logits_of(300))
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<i8", "fortran_order": False, "shape": (2**40,)})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("offsets.npy", buffer.getvalue() + bytes(8))
    with pytest.raises(ModelError, match=r"it ends before its offsets of shape \(1099511627776,\) do"):
        open_archive(path)


def test_more_tokens_than_rows_are_refused_by_the_directory(tmp_path):
    """Stored ones too; a window of many tokens before its first row, and many texts without a row each, are not."""
    for arrays, refused in (
        ({"tokens": np.zeros(2000, "<i8")}, True),
        ({"tokens": np.zeros(2000, "<i8"), "first": 1700}, False),
        ({"tokens": np.zeros(2000, "<i8"), "offsets": np.zeros(1701, "<i8")}, False),
        ({"tokens": np.zeros(301, "<i8"), "starts": np.zeros(301, "<i8")}, False),
    ):
        np.savez(tmp_path / "a.npz", logits=logits_of(300), **arrays)
        if refused:
            with pytest.raises(ModelError, match=r"it has 300 rows, and 16128 bytes of tokens; give a row for each"):
                open_archive(tmp_path / "a.npz")
        else:
            assert len(open_archive(tmp_path / "a.npz").arrays["tokens"]) == len(arrays["tokens"])


def whole(folder, ending):
    path = folder / f"whole.{ending}"
    if ending == "npy":
        np.save(path, logits_of(3, 4))
    elif ending == "npz":
        np.savez(path, logits=logits_of(3, 4), tokens=np.arange(4), text_sha256=np.array("0"))
    else:
        save_file({"logits": logits_of(3, 4), "tokens": np.arange(4)}, path, {"items": "[]"})
    return path.read_bytes()


@pytest.mark.parametrize("ending", ["npy", "npz", "safetensors"])
def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path, ending):
    """Whatever byte is the last, it is one clear error and no other."""
    content, path = whole(tmp_path, ending), tmp_path / f"cut.{ending}"
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(ModelError, match="cut"):
            open_archive(path)


@settings(deadline=None, max_examples=150)
@given(ending=st.sampled_from(["npy", "npz", "safetensors"]), at=st.integers(0, 10_000), value=st.integers(0, 255))
def test_a_byte_that_is_off_never_trips_the_reader(tmp_path_factory, ending, at, value):
    """It reads, or it is refused as damaged."""
    folder = tmp_path_factory.mktemp("damaged")
    content = bytearray(whole(folder, ending))
    content[at % len(content)] = value
    path = folder / f"damaged.{ending}"
    path.write_bytes(content)
    try:
        archive = open_archive(path)
    except ModelError as refused:
        assert "\n" not in str(refused)
    else:
        assert archive.logits[:].shape == (len(archive.logits), archive.logits.width)
