"""Rows of logits reduced by torch where they lie, so that a handful of numbers a row leaves the device.

Sums as in `numeric.logit_sums`, which is what they are tested against: in float64, equal to 1e-12. A device without
float64 (mps) sums in float32: NLL is then off by up to about 1e-5 nats, KL by about 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evalflow.numeric.logit_sums import ArmSums, PairSums

AT_ONCE = 1 << 22
"""Logits that are widened at once: of them a few copies are held, 32 MiB each."""


@torch.inference_mode()
def reduce_rows(logits_nv: Tensor, targets_n: NDArray[np.int64]) -> ArmSums:
    """One arm's sums. The input is taken as checked."""
    targets = torch.from_numpy(targets_n).to(logits_nv.device)
    return _sums(_columns([_arm(_wide(logits_nv[rows]), targets[rows]) for rows in _groups(logits_nv)], 5))


@torch.inference_mode()
def reduce_pairs(ref_nv: Tensor, cand_nv: Tensor, targets_n: NDArray[np.int64]) -> PairSums:
    """Both arms' sums. The input, on one device, is taken as checked."""
    targets = torch.from_numpy(targets_n).to(ref_nv.device)
    parts = []
    for rows in _groups(ref_nv):
        x_gv, y_gv = _wide(ref_nv[rows]), _wide(cand_nv[rows])
        ref, cand = _arm(x_gv, targets[rows]), _arm(y_gv, targets[rows])
        parts.append((*ref, *cand, _at(x_gv, cand[0]), *_both(x_gv, y_gv, (_shift(ref[1]), _shift(cand[1])), ref[4])))
    columns = _columns(parts, 13)
    return PairSums(_sums(columns[:5]), _sums(columns[5:10]), *columns[10:])


def _arm(x_gv: Tensor, targets_g: Tensor) -> tuple[Tensor, ...]:
    """First index of the largest, the largest (a NaN, where there is one), the second largest (a NaN, where there is
    one candidate), the target's, and sum exp(x - shift)."""
    argmax_g = x_gv.argmax(1)
    peak_g = _at(x_gv, argmax_g)
    if x_gv.shape[1] == 1:
        second_g = torch.full_like(peak_g, math.nan)
    else:
        second_g = x_gv.scatter(1, argmax_g[:, None], -math.inf).amax(1)
    return argmax_g, peak_g, second_g, _at(x_gv, targets_g), (x_gv - _shift(peak_g)[:, None]).exp_().sum(1)


def _both(x_gv: Tensor, y_gv: Tensor, shifts: tuple[Tensor, Tensor], total_g: Tensor) -> tuple[Tensor, Tensor]:
    """`cross` and `max_abs` of `PairSums`: candidates that either arm rules out count in neither, but that a candidate
    ruled out by the second arm alone makes `cross` infinite."""
    out_x, out_y = x_gv == -math.inf, y_gv == -math.inf
    apart_gv = (x_gv - y_gv).masked_fill_(out_x | out_y, math.nan)
    max_abs_g = apart_gv.abs().nan_to_num_(nan=-1.0, posinf=math.inf).amax(1)
    shift_x, shift_y = shifts
    terms_gv = (x_gv - shift_x[:, None]).exp_().mul_(apart_gv.sub_((shift_x - shift_y)[:, None]))
    cross_g = terms_gv.masked_fill_(out_x | out_y, 0.0).sum(1) / total_g
    cross_g = cross_g.masked_fill((out_y & ~out_x).any(1), math.inf)
    return cross_g, max_abs_g.masked_fill(max_abs_g < 0, math.nan)


def _shift(peak_g: Tensor) -> Tensor:
    return torch.where(peak_g.isfinite(), peak_g, torch.zeros_like(peak_g))


def _at(x_gv: Tensor, places_g: Tensor) -> Tensor:
    return x_gv.gather(1, places_g[:, None])[:, 0]


def _wide(x_gv: Tensor) -> Tensor:
    return x_gv.float() if x_gv.device.type == "mps" else x_gv.double()


def _groups(x_nv: Tensor) -> Iterator[slice]:
    n_rows, width = x_nv.shape
    step = max(1, AT_ONCE // max(1, width))
    for start in range(0, n_rows, step):
        yield slice(start, start + step)


def _columns(parts: list[tuple[Tensor, ...]], count: int) -> list[NDArray[np.float64]]:
    """Each column of all groups in float64, in one transfer; indices are whole numbers there too."""
    if not parts:
        return [np.empty(0) for _ in range(count)]
    wide = parts[0][1].dtype
    together = torch.cat([torch.stack([column.to(wide) for column in part]) for part in parts], 1)
    return list(together.cpu().numpy().astype(np.float64))


def _sums(columns: list[NDArray[np.float64]]) -> ArmSums:
    argmax, peak, second, at_target, total = columns
    return ArmSums(argmax.astype(np.int64), peak, second, at_target, np.where(np.isfinite(peak), peak, 0.0), total)
