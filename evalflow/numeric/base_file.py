"""The layout of llama.cpp's base file (`--kl-divergence-base`), and its rows as numbers and back.

A file is a header, the tokens of all its chunks, and for the second half of each chunk a row of log-probabilities in
16 bits each. It has no version, no checksum, and nothing that says which model or tokeniser it is of.

    0   8 bytes                    `_logits_`
    8   int32 x 3                  n_ctx (tokens of a chunk), n_vocab, n_chunk
    20  int32 x n_chunk x n_ctx    the text's own tokens
    ..  record x n_chunk x rows    rows = n_ctx - 1 - n_ctx / 2; row r expects token n_ctx / 2 + 1 + r of its chunk

A record is float32 `scale`, float32 `least`, and uint16 per token of the vocabulary (one more where that is odd): the
log-probability of a token is `scale * q + least`. Numbers are little-endian, as on every machine that we know of.

Source: tools/perplexity/perplexity.cpp of llama.cpp at 050fc7f3, read and written anew.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.typing import NDArray

MAGIC = b"_logits_"
HEADER = struct.Struct("<8s3i")
REACH = 16.0
"""How far (nats) below a row's likeliest token its log-probabilities are told apart; all below it are one."""
LEVELS = 65535
STEP = REACH / LEVELS
"""The widest step (nats) between two log-probabilities of a row: 2.44e-4; none is off by more than half of it."""
KL_FLOOR = 1e-5
"""How far off 0 a model's KL from its own file is (nats, root mean square over positions), of either sign.

A smaller KL of a position says nothing. Of SmolLM2-135M it is 1e-5, -5e-5 to 5e-5 at most, and below 1e-6 on average.
"""
LEAST_LOGP = -REACH
"""llama.cpp leaves tokens that the base holds less likely than this (p < 1.1e-7) out of its KL."""
LEAST_TAIL = 1e-9
"""The least mass that the tokens beyond the reach have together, so that no log-probability is -inf."""

Records = NDArray[np.uint16]
"""Rows as they lie in the file (N, U): U = 4 + n_vocab, made even."""


@dataclass(frozen=True)
class Layout:
    """Where everything lies in a base file, by Python's whole numbers: nothing overflows."""

    n_ctx: int
    n_vocab: int
    n_chunk: int

    @property
    def first(self) -> int:
        """The first token of a chunk that a row expects; those before it are context alone."""
        return self.n_ctx // 2 + 1

    @property
    def rows(self) -> int:
        """Rows of a chunk."""
        return self.n_ctx - self.first

    @property
    def record_units(self) -> int:
        """The length of a record in uint16."""
        return 4 + self.n_vocab + self.n_vocab % 2

    @property
    def records_at(self) -> int:
        """Where the first record begins (bytes)."""
        return HEADER.size + 4 * self.n_chunk * self.n_ctx

    @property
    def chunk_bytes(self) -> int:
        """The length of a chunk's records (bytes)."""
        return 2 * self.record_units * self.rows

    @property
    def size(self) -> int:
        """The length of the file (bytes)."""
        return self.records_at + self.chunk_bytes * self.n_chunk

    def header(self) -> bytes:
        """The file's first bytes."""
        return HEADER.pack(MAGIC, self.n_ctx, self.n_vocab, self.n_chunk)


def read_layout(header: bytes, size: int) -> Layout:
    """The layout that the first `HEADER.size` bytes of a file of `size` bytes tell.

    Raises:
        ValueError: they are no base file's, or the file is shorter or longer than they say.
    """
    if len(header) < HEADER.size or not header.startswith(MAGIC):
        raise ValueError("it is no base file of llama.cpp; make one with llama-perplexity --kl-divergence-base")
    layout = Layout(*HEADER.unpack(header[: HEADER.size])[1:])
    if layout.n_ctx < 3 or layout.n_vocab < 1 or layout.n_chunk < 1:
        said = f"n_ctx {layout.n_ctx}, n_vocab {layout.n_vocab}, n_chunk {layout.n_chunk}"
        raise ValueError(f"its header says {said}; make the file again, on a machine of this byte order")
    if size < layout.size:
        whole = max(0, size - layout.records_at) // layout.chunk_bytes
        said = f"it ends after {whole} of {layout.n_chunk} chunks ({size} of {layout.size} bytes)"
        raise ValueError(f"{said}; copy it again, or let llama-perplexity come to its end")
    if size > layout.size:
        raise ValueError(f"it is {size} bytes long, and its header says {layout.size}; copy it or make it again")
    return layout


def read_head(file: IO[bytes]) -> tuple[Layout, NDArray[np.int32]]:
    """The layout of an open base file, and its tokens (chunks, n_ctx).

    Raises:
        OSError: it cannot be read.
        ValueError: as `read_layout` and `check_tokens`.
    """
    size = file.seek(0, 2)
    file.seek(0)
    layout = read_layout(file.read(HEADER.size), size)
    tokens_cn = np.frombuffer(file.read(4 * layout.n_chunk * layout.n_ctx), "<i4").reshape(layout.n_chunk, layout.n_ctx)
    check_tokens(tokens_cn, layout.n_vocab)
    return layout, tokens_cn.astype(np.int32, copy=False)


def check_tokens(tokens_cn: NDArray[np.integer], n_vocab: int) -> None:
    """Refuse tokens (chunks, n_ctx) that the vocabulary does not have.

    Raises:
        ValueError: names the chunk (from 1) and the place of the first.
    """
    wrong = np.argwhere((tokens_cn < 0) | (tokens_cn >= n_vocab))
    if wrong.size:
        chunk, place = wrong[0].tolist()
        said = f"{chunk_id(chunk)} has token {tokens_cn[chunk, place]} at {place}, of a vocabulary of {n_vocab}"
        raise ValueError(f"{said}; make the file again")


def encode(logits_nv: NDArray[np.floating]) -> Records:
    """Rows of logits (N, V) as records (N, U), by llama.cpp's own arithmetic in float32.

    A row that is not finite (NaN, +inf, or nothing but -inf) becomes one whose `least` is NaN, which reads as NaN.
    """
    n, width = logits_nv.shape
    records = np.zeros((n, Layout(3, width, 1).record_units), dtype="<u2")
    for record, given in zip(records, logits_nv, strict=True):
        head = record[:4].view("<f4")
        with np.errstate(over="ignore"):
            row = given.astype(np.float32)
        top = row.max()
        if not np.isfinite(top):  # a NaN anywhere is the maximum
            head[:] = 0.0, np.nan
            continue
        low = max(row.min(), top - np.float32(REACH))
        total = np.float32(np.log(np.exp(row - top).sum(dtype=np.float64)))
        scale = (top - low) / np.float32(LEVELS)
        head[:] = scale, low - top - total
        if scale > np.finfo(np.float32).tiny:
            above = np.flatnonzero(row > low)
            record[4:][above] = np.rint(np.float32(1) / scale * (row[above] - low)).astype(np.uint16)
    return records


def decode(records_nu: Records, n_vocab: int) -> NDArray[np.float64]:
    """The log-probabilities (N, V) exactly as records hold them.

    Tokens beyond the reach all have that of its end, so that a row's probabilities add up to more than 1: to 1.001 on
    average and to 1.006 at most over 384 rows of SmolLM2-135M. `log_probabilities` mends that.
    """
    scale_n, least_n = heads(records_nu)
    return records_nu[:, 4 : 4 + n_vocab] * scale_n[:, None] + least_n[:, None]


def log_probabilities(records_nu: Records, n_vocab: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """The log-probabilities (N, V) of rows that add up to 1, and the mass (N,) of each row's tail.

    What a file knows of the tokens beyond the reach, the tail, is what they have together: what the others leave of 1.
    They share it evenly, and stay below the end of the reach. A row that is not finite is NaN throughout.
    """
    n = len(records_nu)
    rows_nv = np.empty((n, n_vocab), dtype=np.float32)
    mass_n = np.zeros(n)
    scale_n, least_n = heads(records_nu)
    for place in range(n):
        units = records_nu[place, 4 : 4 + n_vocab]
        row = units * scale_n[place] + least_n[place]
        # in a row whose logits span less than the reach, the least are told exactly
        tail = (units == 0) & (scale_n[place] * LEVELS > REACH - 1e-3)
        count = int(tail.sum())
        if count:
            row[tail] = -np.inf
            most = count * float(np.exp(least_n[place]))
            mass_n[place] = min(max(1.0 - float(np.exp(row).sum()), LEAST_TAIL), most)
            row[tail] = np.log(mass_n[place] / count)
        rows_nv[place] = row
    return rows_nv, mass_n


def heads(records_nu: Records) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The `scale` (N,) and `least` (N,) of records, both NaN of a row that is not finite.

    Raises:
        ValueError: no row of log-probabilities has such; it names the row.
    """
    pair_n2 = np.ascontiguousarray(records_nu[:, :4]).view("<f4").astype(np.float64)
    pair_n2[~np.isfinite(pair_n2).all(axis=1)] = np.nan
    scale_n, least_n = pair_n2.T
    highest_n = least_n + scale_n * LEVELS
    wrong = np.flatnonzero((scale_n < 0) | (scale_n > STEP * 1.001) | (least_n > 0) | (highest_n > 1e-3))
    if wrong.size:
        at = int(wrong[0])
        said = f"row {at} has scale {scale_n[at]:g} and least log-probability {least_n[at]:g}"
        raise ValueError(f"{said}, which is damage; copy the file or make it again")
    return scale_n, least_n


def head_kl(
    ref_nv: NDArray[np.floating], cand_nv: NDArray[np.floating], least: float = LEAST_LOGP
) -> NDArray[np.float64]:
    """llama.cpp's KL (N,) in nats: of log-probabilities `ref_nv` from logits `cand_nv`, both (N, V).

    The sum over the tokens whose reference log-probability is above `least`; so it leaves out what a base file does not
    know, may be negative by rounding (see `KL_FLOOR`), and is NaN where either row is not finite.
    """
    kl_n = np.full(len(ref_nv), np.nan)
    for place, (ref, cand) in enumerate(zip(ref_nv, cand_nv, strict=True)):
        x = cand.astype(np.float64)
        top = x.max()
        if not np.isfinite(top) or np.isnan(ref).any():
            continue
        known = np.flatnonzero(ref > least)
        logp = ref[known].astype(np.float64)
        total = top + np.log(np.exp(x - top).sum())
        kl_n[place] = np.exp(logp) @ (logp - (x[known] - total))
    return kl_n


def chunk_id(place: int) -> str:
    """The item id of a chunk, by its place from 0: `chunk 0001` and so on."""
    return f"chunk {place + 1:04d}"
