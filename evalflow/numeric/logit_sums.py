"""Rows of logits reduced to a handful of sums each, in float64, in pieces that stay in cache.

A row is read once, and never copied whole: pieces of it are turned into float64 in two small buffers, so that no
distribution over the vocabulary is ever written to memory. What is left of a row does not depend on the rows beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[Any]
"""float16, float32 or float64, shape (N, V)."""

_TILE = 8192  # candidates at most whose sum and product are taken in one go; BLAS splits longer ones over threads
_TILES = 4  # at once: three float64 buffers of this many tiles are 768 KiB
_STEEP = 600.0  # logits beyond +/- this are shifted before exp; nearer to 0 neither end of a float is reached


class ArmSums(NamedTuple):
    """One arm's rows: arrays (N,). Where a row has NaN, +inf or nothing but -inf, `peak` is not finite."""

    argmax: NDArray[np.int64]
    """The first index of the largest logit."""
    peak: Floats
    """The largest logit."""
    second: Floats
    """The second largest; NaN where there is one candidate, or where nothing asks for it."""
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
    n_rows, width = logits_nv.shape
    argmax = np.empty(n_rows, dtype=np.int64)
    peak, second, shift, total = (np.empty(n_rows) for _ in range(4))
    scratch = _Scratch(1, width)
    with np.errstate(invalid="ignore", over="ignore"):
        for rows in scratch.groups(n_rows):
            x_gv = _readable(logits_nv[rows])
            top_gt, total[rows] = scratch.single(x_gv, None)
            argmax[rows], peak[rows] = scratch.largest(x_gv, top_gt)
            second[rows] = scratch.second(x_gv, top_gt, argmax[rows])
            shift[rows] = _shift(peak[rows])
            if shift[rows].any():
                total[rows] = scratch.single(x_gv, shift[rows])[1]
    return ArmSums(argmax, peak, second, at(logits_nv, targets_n), shift, total)


def reduce_pairs(ref_nv: Rows, cand_nv: Rows, targets_n: NDArray[np.int64]) -> PairSums:
    """Both arms' sums, from one pass over each pair of rows. The input is taken as checked."""
    n_rows, width = ref_nv.shape
    argmax = np.empty((2, n_rows), dtype=np.int64)
    peak, second, shift, total = (np.full((2, n_rows), np.nan) for _ in range(4))
    cross, max_abs = np.empty(n_rows), np.empty(n_rows)
    scratch = _Scratch(2, width)
    masked = False  # a model that rules out candidates does so in row after row
    with np.errstate(invalid="ignore", over="ignore"):
        for rows in scratch.groups(n_rows):
            group = _readable(ref_nv[rows]), _readable(cand_nv[rows])
            tops, *sums = scratch.pair(*group, None, masked)
            for arm in range(2):
                argmax[arm, rows], peak[arm, rows] = scratch.largest(group[arm], tops[arm])
            second[0, rows] = scratch.second(group[0], tops[0], argmax[0, rows])
            shift[:, rows] = _shift(peak[:, rows])
            surprising = not masked and not np.isfinite(sums[1]).all()
            if surprising or shift[:, rows].any():
                masked = masked or surprising
                _, *sums = scratch.pair(*group, shift[:, rows], masked)
            total[:, rows], cross[rows], max_abs[rows] = sums
    ref, cand = (
        ArmSums(argmax[arm], peak[arm], second[arm], at(x_nv, targets_n), shift[arm], total[arm])
        for arm, x_nv in enumerate((ref_nv, cand_nv))
    )
    return PairSums(ref, cand, at(ref_nv, cand.argmax), cross, max_abs)


def at(x_nv: Rows, places_n: NDArray[np.int64]) -> Floats:
    """One logit per row (N,), as float64."""
    return x_nv[np.arange(len(x_nv)), places_n].astype(np.float64)


class _Scratch:
    """The buffers for rows of one width, how the rows are cut to fit into them, and what is done there.

    A group is as many narrow rows as fit, or one wide row. A tile is a narrow row, or a piece of a wide one.
    """

    def __init__(self, n_arms: int, width: int) -> None:
        width = max(1, width)  # no rows have no width
        in_row = -(-width // _TILE)
        self._tile = -(-width // in_row)  # all tiles are alike, but the last where the width does not allow it
        whole = width - width % self._tile
        starts = [*range(0, whole, _TILES * self._tile), whole, width]
        self._cuts = [slice(start, stop) for start, stop in itertools.pairwise(starts) if start < stop]
        self._step = _TILES * _TILE // width if in_row == 1 else 1
        n_tiles = max(self._step, in_row)
        self._exps = np.empty(n_arms * _TILES * _TILE)
        self._differences = np.empty((n_arms - 1) * _TILES * _TILE)
        self._tops = np.empty((n_arms, n_tiles))
        self._sums = np.empty((2 * n_arms - 1, n_tiles))  # a total for each arm, and sum exp(x_ref) (x_ref - x_cand)
        self._extremes = np.empty((2, n_tiles))

    def groups(self, n_rows: int) -> Iterator[slice]:
        """The rows of each group."""
        for start in range(0, n_rows, self._step):
            yield slice(start, min(start + self._step, n_rows))

    def single(self, x_gv: Rows, shift_g: Floats | None) -> tuple[Floats, Floats]:
        """The tiles' largest (G, T), and sum exp(x - shift) (G,)."""
        for tiles, pieces in self._pieces(x_gv):
            p_atb = self._filled(tiles, pieces, None if shift_g is None else shift_g[np.newaxis])
            np.exp(p_atb, out=p_atb)
            np.einsum("atb->at", p_atb, out=self._sums[:, tiles])
        by_row = len(x_gv), -1
        total_g: Floats = np.add.reduce(self._sums[0, : tiles.stop].reshape(by_row), axis=1)
        return self._tops[0, : tiles.stop].reshape(by_row), total_g

    def pair(self, x_gv: Rows, y_gv: Rows, shift_2g: Floats | None, masked: bool) -> tuple[Floats, ...]:
        """The tiles' largest (2, G, T), both totals (2, G), `cross` (G,) and `max_abs` (G,).

        Of a row with -inf they are right where `masked` is told, else `cross` is not finite: 0 * inf is NaN, and no
        sum loses a NaN.
        """
        for tiles, pieces in self._pieces(x_gv, y_gv):
            p_2tb = self._filled(tiles, pieces, shift_2g)
            d_tb = self._differences[: p_2tb[0].size].reshape(p_2tb[0].shape)
            np.subtract(p_2tb[0], p_2tb[1], out=d_tb)
            sums_3t, extremes_2t = self._sums[:, tiles], self._extremes[:, tiles]
            infinite_t = _note_masks(p_2tb, d_tb, extremes_2t) if masked else None
            if infinite_t is None:
                np.maximum.reduce(d_tb, axis=1, out=extremes_2t[0])
                np.minimum.reduce(d_tb, axis=1, out=extremes_2t[1])
            np.exp(p_2tb, out=p_2tb)
            np.einsum("atb->at", p_2tb, out=sums_3t[:2])
            np.matmul(p_2tb[0][:, np.newaxis], d_tb[:, :, np.newaxis], out=sums_3t[2].reshape(-1, 1, 1))
            if infinite_t is not None:
                sums_3t[2, infinite_t] = np.inf
        n_rows, n_tiles = len(x_gv), tiles.stop
        total_3g = np.add.reduce(self._sums[:, :n_tiles].reshape(3, n_rows, -1), axis=2)
        most_g = np.fmax.reduce(self._extremes[0, :n_tiles].reshape(n_rows, -1), axis=1)
        least_g = np.fmin.reduce(self._extremes[1, :n_tiles].reshape(n_rows, -1), axis=1)
        if shift_2g is not None:
            most_g += shift_2g[0] - shift_2g[1]
            least_g += shift_2g[0] - shift_2g[1]
        tops_2gt = self._tops[:, :n_tiles].reshape(2, n_rows, -1)
        return tops_2gt, total_3g[:2], total_3g[2] / total_3g[0], np.maximum(most_g, -least_g)

    def largest(self, x_gv: Rows, top_gt: Floats) -> tuple[NDArray[np.int64], Floats]:
        """The first index of the largest, and the largest (G,), given the tiles' largest.

        numpy takes a NaN for the largest, so that none slips past.
        """
        tile, x_gb = self._best(x_gv, top_gt)
        return tile * self._tile + x_gb.argmax(axis=1), top_gt[:, tile]

    def second(self, x_gv: Rows, top_gt: Floats, argmax_g: NDArray[np.int64]) -> Floats:
        """The largest of the others (G,); NaN where there is one candidate."""
        if x_gv.shape[1] == 1:
            return np.full(len(x_gv), np.nan)
        tile, x_gb = self._best(x_gv, top_gt)
        others_gb, others_gt = x_gb.copy(), top_gt.copy()
        others_gb[np.arange(len(x_gv)), argmax_g - tile * self._tile] = -np.inf
        others_gt[:, tile] = np.maximum.reduce(others_gb, axis=1)
        second_g: Floats = np.maximum.reduce(others_gt, axis=1)
        return second_g

    def _best(self, x_gv: Rows, top_gt: Floats) -> tuple[int, Rows]:
        """The tile with the largest, and its logits (G, B): rows of a group have one tile each, or there is one row."""
        tile = int(top_gt[0].argmax())
        return tile, x_gv[:, tile * self._tile : (tile + 1) * self._tile]

    def _pieces(self, *arms: Rows) -> Iterator[tuple[slice, list[Rows]]]:
        """A group's tiles (T, B) of each arm, cut after cut, and which of the group's tiles they are."""
        done = 0
        for cut in self._cuts:
            n_tiles = len(arms[0]) * -(-(cut.stop - cut.start) // self._tile)
            yield slice(done, done + n_tiles), [x_gv[:, cut].reshape(n_tiles, -1) for x_gv in arms]
            done += n_tiles

    def _filled(self, tiles: slice, pieces: list[Rows], shift_ag: Floats | None) -> Floats:
        """The pieces less their shifts as float64 (A, T, B), once their largest are noted; a NaN counts as largest."""
        n_arms, shape = len(pieces), pieces[0].shape
        p_atb = self._exps[: n_arms * pieces[0].size].reshape(n_arms, *shape)
        for arm, x_tb in enumerate(pieces):
            self._tops[arm, tiles] = np.maximum.reduce(x_tb, axis=1)
            p_atb[arm] = x_tb
        if shift_ag is not None:
            p_atb -= shift_ag[:, :, np.newaxis]
        return p_atb


def _note_masks(p_2tb: Floats, d_tb: Floats, extremes_2t: Floats) -> NDArray[np.bool_]:
    """Note the extremes of the differences where neither arm has -inf; make the other differences 0.

    Returns in which tiles (T,) the candidate alone has -inf.
    """
    out_2tb = np.isneginf(p_2tb)
    np.copyto(d_tb, np.nan, where=out_2tb[0] | out_2tb[1])
    np.fmax.reduce(d_tb, axis=1, out=extremes_2t[0])
    np.fmin.reduce(d_tb, axis=1, out=extremes_2t[1])
    np.copyto(d_tb, 0.0, where=np.isnan(d_tb))
    alone: NDArray[np.bool_] = (out_2tb[1] & ~out_2tb[0]).any(axis=1)
    return alone


def _readable(x_gv: Rows) -> Rows:
    """The same numbers in a type that numpy compares quickly."""
    return x_gv.astype(np.float32) if x_gv.dtype == np.float16 else x_gv


def _shift(peak: Floats) -> Floats:
    """The row's peak where exp could leave the range of a float, else 0."""
    return np.where(np.isfinite(peak) & (np.abs(peak) > _STEEP), peak, 0.0)
