"""Columns of numbers in a form that JSON can carry: nothing of them is lost, and what is damaged is not read."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from evalflow.columns import KINDS, Columns
from evalflow.strict_json import misfit


def through_json(columns: Columns) -> Columns:
    """Written as a line of a run's file is, and read back."""
    return Columns(**json.loads(json.dumps(vars(columns), allow_nan=False)))


def packed(kind: str, content: bytes) -> str:
    return f"{kind}:{base64.b64encode(content).decode('ascii')}"


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, 0.1], dtype=np.float64), "<f8"),
        (np.array([np.nan, 1e-45, 0.1], dtype=np.float32), "<f4"),
        (np.array([-(2**31), 2**31 - 1, 0], dtype=np.int32), "<i4"),
        (np.array([True, False, True]), "|b1"),
    ],
)
def test_every_bit_survives(array: np.ndarray, kind: str) -> None:
    """NaN, the infinities, minus nought, the least numbers and the last digit come back as they were."""
    back = through_json(Columns.of({"x": array}))
    assert (back.n, back["x"].dtype.str) == (len(array), kind)
    assert back["x"].tobytes() == array.tobytes()


@settings(deadline=None)
@given(arrays.arrays(st.sampled_from([np.dtype(kind) for kind in KINDS]), st.integers(0, 20)))
def test_any_column_survives(array: np.ndarray) -> None:
    """Whatever its entries, be they none."""
    back = through_json(Columns.of({"x": array}))["x"]
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_another_machines_byte_order_is_not_kept() -> None:
    """Entries are little-endian wherever they are written: 1 is 01 00 00 00."""
    columns = Columns.of({"x": np.array([1, 2], dtype=">i4")})
    assert columns.packed["x"] == packed("<i4", bytes([1, 0, 0, 0, 2, 0, 0, 0]))
    assert columns["x"].tolist() == [1, 2]


def test_a_view_is_kept_by_its_entries() -> None:
    """Every second entry in reverse is not what lies beside one another in memory."""
    columns = Columns.of({"x": np.arange(6, dtype=np.float64)[::-2]})
    assert columns["x"].tolist() == [5.0, 3.0, 1.0]


def test_a_column_cannot_be_written_to() -> None:
    """Nothing downstream edits a record."""
    column = Columns.of({"x": np.zeros(2)})["x"]
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 1.0


def test_names_facts_and_what_is_not_there() -> None:
    """A column is there or not; a fact may be there and be nothing."""
    columns = through_json(Columns.of({"x": np.zeros(2), "y": np.ones(2)}, {"shared": 0.5, "parted": None}))
    assert ("x" in columns, "z" in columns) == (True, False)
    assert columns.facts == {"shared": 0.5, "parted": None}
    with pytest.raises(KeyError):
        columns["z"]
    assert misfit(columns) is None


@pytest.mark.parametrize("lengths", [(2, 3), (0, 1)])
def test_columns_of_unequal_length_are_refused(lengths: tuple[int, int]) -> None:
    """They are of the same positions, or of none."""
    with pytest.raises(ValueError, match=rf"columns have lengths \[{lengths[0]}, {lengths[1]}\]; give one length"):
        Columns.of({name: np.zeros(length) for name, length in zip("xy", lengths, strict=True)})


def test_no_column_at_all_is_refused() -> None:
    """Of how many positions it would be, nobody could say."""
    with pytest.raises(ValueError, match=r"columns have lengths \[\]"):
        Columns.of({})


@pytest.mark.parametrize("dtype", ["int64", "float16", "uint8", "object", "U3", "complex128"])
def test_other_types_are_refused(dtype: str) -> None:
    """None is narrowed or widened in silence."""
    with pytest.raises(ValueError, match=r"column x is of .*; give one of <f8, <f4, <i4, "):
        Columns.of({"x": np.zeros(2, dtype=dtype)})


@pytest.mark.parametrize(
    "damaged",
    [
        packed("<f8", bytes(24)),
        packed("<f8", bytes(8)),
        packed("<f8", bytes(15)),
        packed("<f4", bytes(16)),
        packed("<i8", bytes(16)),
        packed(">f8", bytes(16)),
        packed("f8", bytes(16)),
        packed("|O", bytes(16)),
        packed("a", bytes(16)),
        packed("no such", bytes(16)),
        packed("", bytes(16)),
        packed("<f8", bytes(16))[:-1],
        packed("<f8", bytes(16)).replace("A", "!", 1),
        packed("<f8", bytes(16)).replace("A", "ä", 1),
        packed("<f8", bytes(16)).replace(":", ""),
        "",
    ],
)
def test_a_damaged_column_is_named(damaged: str) -> None:
    """Too many entries or too few, half an entry, a type that is not kept, letters that are no base64."""
    with pytest.raises(ValueError, match=r"^column nll is damaged"):
        Columns(2, {"nll": damaged})["nll"]
