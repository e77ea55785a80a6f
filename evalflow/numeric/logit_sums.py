"""Rows of logits reduced to a handful of sums each, in float64, in pieces that stay in cache.

A row is read once, and never copied whole: pieces of it are turned into float64 in two small buffers, so that no
distribution over the vocabulary is ever written to memory. What is left of a row does not depend on the rows beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[Any]
"""float16, float32 or float64, shape (N, V)."""

_TILE = 8192  # candidates at most whose sum and product are taken in one go; BLAS splits longer ones over threads
_TILES = 4  # at once: three float64 buffers of this many tiles are 768 KiB
_STEEP = 600.0  # logits beyond +/- this are shifted before exp; nearer to 0 neither end of a float is reached
_AGAIN = 1 << 21  # logits that are copied at once to be gone through again


class ArmSums(NamedTuple):
    """One arm's rows: arrays (N,). Where a row has NaN, +inf or nothing but -inf, `peak` is not finite."""

    argmax: NDArray[np.int64]
    """The first index of the largest logit."""
    peak: Floats
    """The largest logit."""
    second: Floats
    """The second largest; NaN where there is one candidate."""
    at_target: Floats
    """The logit of the target."""
    shift: Floats
    """What was taken from every logit before exp."""
    total: Floats
    """sum exp(x - shift): lse = shift + ln total."""


class PairSums(NamedTuple):
    """Two arms' rows, and what only both together say: arrays (N,)."""

    ref: ArmSums
    cand: ArmSums
    at_pick: Floats
    """The reference's logit of the candidate's argmax."""
    cross: Floats
    """sum p_ref ((x_ref - shift_ref) - (x_cand - shift_cand)); +inf where the candidate alone rules a token out."""
    max_abs: Floats
    """The largest |x_ref - x_cand| where both are finite; NaN where they nowhere are."""


def reduce_rows(logits_nv: Rows, targets_n: NDArray[np.int64]) -> ArmSums:
    """One arm's sums. The input is taken as checked."""
    found_knt = _scan([logits_nv], None, False)
    shift_1n = _shift(np.maximum.reduce(found_knt[:1], axis=2, initial=-np.inf))
    _scan_again([logits_nv], np.flatnonzero(shift_1n), shift_1n, found_knt)
    return _arm(logits_nv, targets_n, found_knt[0], found_knt[1], shift_1n[0])


def reduce_pairs(ref_nv: Rows, cand_nv: Rows, targets_n: NDArray[np.int64]) -> PairSums:
    """Both arms' sums, from one pass over each pair of rows. The input is taken as checked."""
    arms = [ref_nv, cand_nv]
    found_knt = _scan(arms, None, False)
    peak_2n = np.maximum.reduce(found_knt[:2], axis=2, initial=-np.inf)
    shift_2n = _shift(peak_2n)
    # -inf in an arm makes the products NaN or infinite: 0 * inf is NaN, and no sum loses one
    surprising_n = ~np.isfinite(found_knt[4]).all(axis=1)
    again = np.flatnonzero(np.isfinite(peak_2n).all(axis=0) & (shift_2n.any(axis=0) | surprising_n))
    _scan_again(arms, again, shift_2n, found_knt)
    ref = _arm(ref_nv, targets_n, found_knt[0], found_knt[2], shift_2n[0])
    cand = _arm(cand_nv, targets_n, found_knt[1], found_knt[3], shift_2n[1])
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        cross = np.add.reduce(found_knt[4], axis=1) / ref.total
        apart = ref.shift - cand.shift
        most = np.fmax.reduce(found_knt[5], axis=1, initial=np.nan) + apart
        least = np.fmin.reduce(found_knt[6], axis=1, initial=np.nan) + apart
    return PairSums(ref, cand, at(ref_nv, cand.argmax), cross, np.maximum(most, -least))


def at(x_nv: Rows, places_n: NDArray[np.int64]) -> Floats:
    """One logit per row (N,), as float64."""
    return x_nv[np.arange(len(x_nv)), places_n].astype(np.float64)


def _arm(x_nv: Rows, targets_n: NDArray[np.int64], tops_nt: Floats, totals_nt: Floats, shift_n: Floats) -> ArmSums:
    """An arm's sums, from what was found of its tiles: numpy takes a NaN for the largest, so that none slips past."""
    argmax, second = np.empty(len(x_nv), dtype=np.int64), np.empty(len(x_nv))
    for rows in _together(*x_nv.shape):
        tile, length = int(tops_nt[rows.start].argmax()), _tiles(x_nv.shape[1])[1]
        x_gb = _readable(x_nv[rows, tile * length : (tile + 1) * length])
        place_g = x_gb.argmax(axis=1)
        argmax[rows] = tile * length + place_g
        others_gb, others_gt = x_gb.copy(), tops_nt[rows].copy()
        others_gb[np.arange(len(x_gb)), place_g] = -np.inf
        others_gt[:, tile] = np.maximum.reduce(others_gb, axis=1)
        second[rows] = np.maximum.reduce(others_gt, axis=1)
    if x_nv.shape[1] == 1:
        second[:] = np.nan
    with np.errstate(invalid="ignore"):
        total = np.add.reduce(totals_nt, axis=1)
    return ArmSums(argmax, at(x_nv, argmax), second, at(x_nv, targets_n), shift_n, total)


def _scan(arms: Sequence[Rows], shift_an: Floats | None, masked: bool) -> Floats:
    """What `_Group` finds of every tile (K, N, T)."""
    n_rows, width = arms[0].shape
    found_knt = np.empty((_kinds(len(arms)), n_rows, _tiles(width)[0]))
    groups: dict[int, _Group] = {}
    with np.errstate(invalid="ignore", over="ignore"):
        for rows in _together(n_rows, width):
            size = rows.stop - rows.start
            if size not in groups:
                groups[size] = _Group(len(arms), size, width)
            shift_ag = None if shift_an is None else shift_an[:, rows]
            groups[size].scan([_readable(x_nv[rows]) for x_nv in arms], shift_ag, masked)
            found_knt[:, rows] = groups[size].found_kgt
    return found_knt


def _scan_again(arms: Sequence[Rows], places: NDArray[np.int64], shift_an: Floats, found_knt: Floats) -> None:
    """Replace what was found of the rows at these places by what is found with their shifts and an eye to -inf."""
    step = max(1, _AGAIN // max(1, arms[0].shape[1]))
    for start in range(0, places.size, step):
        some = places[start : start + step]
        found_knt[:, some] = _scan([x_nv[some] for x_nv in arms], shift_an[:, some], True)


def _tiles(width: int) -> tuple[int, int]:
    """How many tiles a row has, and their length: all are alike, but the last where the width does not allow it."""
    n_tiles = -(-width // _TILE)
    return n_tiles, -(-width // max(1, n_tiles))


def _together(n_rows: int, width: int) -> Iterator[slice]:
    """The rows that are taken together: as many narrow ones as fit, or one wide one."""
    step = _TILES * _TILE // max(1, width) if width <= _TILE else 1
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _kinds(n_arms: int) -> int:
    """How many numbers are found of a tile."""
    return 2 if n_arms == 1 else 7


class _Piece(NamedTuple):
    """Tiles (T, B) that are in the buffers at once: their columns, and views that are made once for all rows."""

    columns: slice
    arms_atb: Floats
    """The logits, then their exponentials."""
    apart_tb: Floats
    """x_ref - x_cand."""
    found_kt: Floats


class _Group:
    """Rows (G, V) that are taken together, and the buffers for them.

    A tile is a narrow row, or a piece of a wide one, of which there is one alone. `found_kgt` (K, G, T) holds of every
    tile each arm's largest logit, each arm's sum exp(x), and of two arms sum exp(x_ref) (x_ref - x_cand) and the
    largest and the least x_ref - x_cand.
    """

    def __init__(self, n_arms: int, n_rows: int, width: int) -> None:
        self.found_kgt = np.empty((_kinds(n_arms), n_rows, _tiles(width)[0]))
        self._pieces = list(self._cut(n_arms, n_rows, width))

    def _cut(self, n_arms: int, n_rows: int, width: int) -> Iterator[_Piece]:
        """As many tiles at a time as fit; where the last is shorter than the others, it alone."""
        _, tile = _tiles(width)
        arms, apart = np.empty(n_arms * _TILES * _TILE), np.empty((n_arms - 1) * _TILES * _TILE)
        found_kt = self.found_kgt.reshape(_kinds(n_arms), -1)
        whole, done = width - width % tile, 0
        for start, stop in itertools.pairwise([*range(0, whole, _TILES * tile), whole, width]):
            n_tiles, length = n_rows * -(-(stop - start) // tile), min(stop - start, tile)
            if n_tiles:
                arms_atb = arms[: n_arms * n_tiles * length].reshape(n_arms, n_tiles, length)
                apart_tb = apart[: (n_arms - 1) * n_tiles * length].reshape(-1, length)
                yield _Piece(slice(start, stop), arms_atb, apart_tb, found_kt[:, done : done + n_tiles])
            done += n_tiles

    def scan(self, arms: Sequence[Rows], shift_ag: Floats | None, masked: bool) -> None:
        """Find it all of these rows, less their shifts where there are any.

        Of a row with -inf in either arm the last three are right where `masked` is told.
        """
        for columns, arms_atb, apart_tb, found_kt in self._pieces:
            for x_gv, p_tb, top_t in zip(arms, arms_atb, found_kt, strict=False):
                x_tb = x_gv[:, columns].reshape(p_tb.shape)
                top_t[...] = np.maximum.reduce(x_tb, axis=1)
                p_tb[...] = x_tb
            if shift_ag is not None:
                np.subtract(arms_atb, shift_ag[:, :, np.newaxis], out=arms_atb)
            if len(arms) == 1:
                _sum_exps(arms_atb, found_kt[1:])
            elif masked:
                _compare_masked(arms_atb, apart_tb, found_kt)
            else:
                _compare(arms_atb, apart_tb, found_kt)


def _compare(arms_2tb: Floats, apart_tb: Floats, found_7t: Floats) -> None:
    """Differences, their extremes, exponentials and products."""
    np.subtract(arms_2tb[0], arms_2tb[1], out=apart_tb)
    np.maximum.reduce(apart_tb, axis=1, out=found_7t[5])
    np.minimum.reduce(apart_tb, axis=1, out=found_7t[6])
    _sum_exps(arms_2tb, found_7t[2:4])
    _multiply(arms_2tb, apart_tb, found_7t)


def _compare_masked(arms_2tb: Floats, apart_tb: Floats, found_7t: Floats) -> None:
    """The same where neither arm has -inf. Other products are 0, but +inf where the second arm alone has it."""
    out_2tb = np.isneginf(arms_2tb)
    np.subtract(arms_2tb[0], arms_2tb[1], out=apart_tb)
    np.copyto(apart_tb, np.nan, where=out_2tb[0] | out_2tb[1])
    np.fmax.reduce(apart_tb, axis=1, out=found_7t[5])
    np.fmin.reduce(apart_tb, axis=1, out=found_7t[6])
    np.copyto(apart_tb, 0.0, where=np.isnan(apart_tb))
    _sum_exps(arms_2tb, found_7t[2:4])
    _multiply(arms_2tb, apart_tb, found_7t)
    found_7t[4, (out_2tb[1] & ~out_2tb[0]).any(axis=1)] = np.inf


def _sum_exps(arms_atb: Floats, totals_at: Floats) -> None:
    np.exp(arms_atb, out=arms_atb)
    np.einsum("atb->at", arms_atb, out=totals_at)


def _multiply(exps_2tb: Floats, apart_tb: Floats, found_7t: Floats) -> None:
    np.matmul(exps_2tb[0][:, np.newaxis], apart_tb[:, :, np.newaxis], out=found_7t[4].reshape(-1, 1, 1))


def _readable(x_gv: Rows) -> Rows:
    """The same numbers in a type that numpy compares quickly."""
    return x_gv.astype(np.float32) if x_gv.dtype == np.float16 else x_gv


def _shift(peak: Floats) -> Floats:
    """The row's peak where exp could leave the range of a float, else 0."""
    return np.where(np.isfinite(peak) & (np.abs(peak) > _STEEP), peak, 0.0)
