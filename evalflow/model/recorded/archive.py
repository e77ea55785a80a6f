"""One file of arrays by name, whose `logits` stay on the disk until some of their rows are asked for."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from evalflow.errors import ModelError

ENDINGS = (".npz", ".npy", ".safetensors")
FLOATS = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2"}
"""Types of safetensors that logits may be of, as numpy reads them; it has no bfloat16."""
WHOLE = {"tokens": (1,), "starts": (1,), "offsets": (1,), "token_offsets": (1,), "first": (0, 1)}
"""The arrays of whole numbers, and how many axes each may have."""
PER_TOKEN = ("tokens", "starts")
NAMES = (*WHOLE, "items", "text_sha256", "bos")
"""What is read beside the logits; whatever else a file holds is not."""
HEADER_BYTES = 1024
"""More than an array's own header takes in an `.npz`."""


class MappedRows:
    """Rows of logits (N, V) on the disk; a slice of them is an array of float16, float32 or float64.

    bfloat16 is the upper half of a float32, and is read as one.
    """

    def __init__(self, mapped: NDArray[Any], bfloat16: bool = False) -> None:
        self._mapped = mapped
        self._bfloat16 = bfloat16

    def __len__(self) -> int:
        return len(self._mapped)

    @property
    def width(self) -> int:
        """How many tokens the vocabulary has."""
        return int(self._mapped.shape[1])

    def __getitem__(self, rows: slice) -> NDArray[np.floating]:
        part = np.asarray(self._mapped[rows])
        if self._bfloat16:
            return (part.astype(np.uint32) << 16).view(np.float32)
        return part.astype(part.dtype.newbyteorder("="), copy=False)


@dataclass(frozen=True)
class Archive:
    """What a file holds: its `logits`, its other arrays, and its texts by name."""

    path: Path
    logits: MappedRows
    arrays: Mapping[str, NDArray[Any]]
    texts: Mapping[str, str]


def open_archive(path: Path) -> Archive:
    """The arrays of a `.npy`, `.npz` or `.safetensors` file.

    Raises:
        ModelError: it is none of these, is damaged, or its logits are no rows of floats that can be mapped.
    """
    kinds = {".npy": _numpy_array, ".npz": _numpy_archive, ".safetensors": _safetensors}
    if path.suffix not in kinds:
        raise unreadable(path, f"it is no file of logits; give one that ends in {', '.join(ENDINGS)}")
    try:
        archive = kinds[path.suffix](path)
    except OSError as fault:
        raise unreadable(path, f"cannot be read ({fault.strerror or fault}); give a readable file") from None
    except ModelError:
        raise
    except Exception as fault:  # noqa: BLE001 - the readers raise what the bytes happen to trip them over
        raise unreadable(path, f"is damaged ({' '.join(str(fault).split())}); copy it again") from None
    for name, axes in WHOLE.items():
        array = archive.arrays.get(name)
        if array is not None and (array.dtype.kind not in "iu" or array.ndim not in axes):
            said = f"its {name} are {array.dtype} of shape {array.shape}"
            raise unreadable(path, f"{said}; give whole numbers{' in a row' if axes == (1,) else ''}")
    return archive


def read_arrays(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Some of the arrays of an `.npz`, none of which takes more memory than the file takes room.

    Raises:
        ModelError: it is damaged, lacks one of them, or one of them is larger than the file when it is unpacked.
    """
    try:
        size = path.stat().st_size
        with zipfile.ZipFile(path) as archive:
            return {name: _array(path, name, archive, size) for name in names}
    except ModelError:
        raise
    except Exception as fault:  # noqa: BLE001 - the readers raise what the bytes happen to trip them over
        raise unreadable(path, f"is damaged ({' '.join(str(fault).split())}); copy it again") from None


def _array(path: Path, name: str, archive: zipfile.ZipFile, most: int) -> NDArray[Any]:
    entry = archive.getinfo(f"{name}.npy")
    if entry.file_size > most:
        said = f"its {name} are {entry.file_size} bytes when they are unpacked, and the file {most}"
        raise unreadable(path, f"{said}; save it by numpy.savez")
    with archive.open(entry) as file:
        shape, _, dtype = _header(file)
        if math.prod(shape) * max(1, dtype.itemsize) > entry.file_size:  # before numpy makes room for them
            raise unreadable(path, f"it ends before its {name} of shape {shape} do; copy it again")
    with archive.open(entry) as file:
        read: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return read


def _check_few(
    path: Path, n_rows: int, arrays: Mapping[str, NDArray[Any]], entries: Mapping[str, zipfile.ZipInfo]
) -> None:
    """Refuse more tokens than rows can be of, by the zip directory alone: nothing is unpacked to see it."""
    first, offsets = arrays.get("first", np.int64(1)), arrays.get("offsets", np.zeros(2))
    n_texts = max(1, offsets.size - 1)
    most = n_rows + int(np.maximum(first, 0).sum()) * (n_texts if np.size(first) == 1 else 1)
    for name, entry in entries.items():
        if entry.file_size > HEADER_BYTES + 8 * most:
            said = f"it has {n_rows} rows, and {entry.file_size} bytes of {name}"
            raise unreadable(path, f"{said}; give a row for each token, and one more or none")


def unreadable(path: Path, what: str) -> ModelError:
    """The error of a recording that cannot be read."""
    return ModelError(f"{path}: {what}", "unreadable")


def _numpy_array(path: Path) -> Archive:
    with path.open("rb") as file:
        return Archive(path, _mapped(path, file, path.stat().st_size), {}, {})


def _numpy_archive(path: Path) -> Archive:
    with zipfile.ZipFile(path) as archive:
        names = {name.removesuffix(".npy"): archive.getinfo(name) for name in archive.namelist()}
    entry = names.pop("logits", None)
    if entry is None:
        raise unreadable(path, f"it has no logits, only {', '.join(names) or 'nothing'}; name them so")
    if entry.compress_type != zipfile.ZIP_STORED:
        raise unreadable(path, "its logits are compressed, and cannot be mapped; save it by numpy.savez")
    with path.open("rb") as file:
        file.seek(entry.header_offset + 26)  # where the entry's own header says how long its name and extra part are
        name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
        file.seek(entry.header_offset + 30 + name + extra)
        logits = _mapped(path, file, file.tell() + entry.file_size)
    arrays = read_arrays(path, [name for name in NAMES if name in names and name not in PER_TOKEN])
    _check_few(path, len(logits), arrays, {name: names[name] for name in PER_TOKEN if name in names})
    arrays |= read_arrays(path, [name for name in PER_TOKEN if name in names])
    texts = {name: str(array) for name, array in arrays.items() if array.dtype.kind == "U" and array.ndim == 0}
    return Archive(path, logits, {name: array for name, array in arrays.items() if name not in texts}, texts)


def _mapped(path: Path, file: IO[bytes], end: int) -> MappedRows:
    """The array that begins here in a file, and lies before `end`."""
    shape, by_column, dtype = _header(file)
    if dtype.kind != "f" or dtype.itemsize > 8:
        raise unreadable(path, f"its logits are {dtype}; give float16, float32 or float64")
    if by_column:
        raise unreadable(path, "its logits lie column by column; save numpy.ascontiguousarray of them")
    return MappedRows(_map(path, dtype, file.tell(), shape, end))


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape of the array that begins here, whether it lies column by column, and its type."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    header: tuple[tuple[int, ...], bool, np.dtype[Any]] = read(file)
    return header


def _safetensors(path: Path) -> Archive:
    with safe_open(path, framework="numpy") as opened:  # which checks that every array lies in the file
        texts = dict(opened.metadata() or {})
        names = [name for name in opened.keys() if name != "logits"]  # noqa: SIM118
        arrays = {name: opened.get_tensor(name) for name in names if name in NAMES}
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(length)).get("logits")
    if entry is None:
        raise unreadable(path, f"it has no logits, only {', '.join(names) or 'nothing'}; name them so")
    kind = FLOATS.get(entry["dtype"])
    if kind is None:
        raise unreadable(path, f"its logits are {entry['dtype']}; give {', '.join(FLOATS)}")
    start, end = (8 + length + place for place in entry["data_offsets"])
    return Archive(
        path,
        MappedRows(_map(path, np.dtype(kind), start, entry["shape"], end), entry["dtype"] == "BF16"),
        arrays,
        texts,
    )


def _map(path: Path, dtype: np.dtype[Any], start: int, shape: tuple[int, ...], end: int) -> NDArray[Any]:
    if len(shape) != 2 or 0 in shape:
        raise unreadable(path, f"its logits have shape {tuple(shape)}; give (rows, vocabulary), one row at least")
    # by Python's whole numbers: a file of these can be longer than 32 bits can say
    needed = start + int(shape[0]) * int(shape[1]) * dtype.itemsize
    if needed > min(end, path.stat().st_size):
        raise unreadable(path, f"it ends before its {shape[0]} rows of {shape[1]} do; copy it again")
    mapped: NDArray[Any] = np.memmap(path, dtype, "r", start, (int(shape[0]), int(shape[1])))
    return mapped
