"""Logits graded on the next token: NLL per row, and how far a candidate's rows are from a reference's.

Everything is in nats and float64. Logits may be float16, float32 or float64, in any layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.logit_sums import ArmSums, Floats, PairSums, Rows, reduce_pairs, reduce_rows

Kernel = Literal["numpy", "numba"]

_ROUNDING = 1e-12  # a result below 0 by less than this share of its terms is 0 but for rounding
_WORTH_COMPILING = 4096  # candidates: of narrower rows the compiler's start costs more than it saves


@dataclass(frozen=True)
class RowNLL:
    """One arm's rows, arrays (N,). Where `ok` is False the floats are NaN and `argmax` is -1."""

    nll: Floats
    """lse - x[target] in nats; +inf where the target is ruled out (-inf): its probability is 0, and the row is ok."""
    lse: Floats
    """ln sum exp(x)."""
    argmax: NDArray[np.int64]
    """The lowest index of the largest logit."""
    margin: Floats
    """Largest less second largest logit; +inf where the others are ruled out, NaN where there is one candidate."""
    ok: NDArray[np.bool_]
    """False: the row has NaN, +inf, or nothing but -inf."""

    def __len__(self) -> int:
        return self.ok.size


@dataclass(frozen=True)
class PairedRows:
    """Two arms' rows, arrays (N,). Where `ok` is False the floats are NaN and both argmax are -1."""

    nll_ref: Floats
    nll_cand: Floats
    """In nats; +inf where that arm rules the target out."""
    kl: Floats
    """KL(P_ref || P_cand) in nats; +inf where the candidate rules out a token that the reference does not."""
    gap: Floats
    """ln p_ref(argmax ref) - ln p_ref(argmax cand): the candidate's pick, priced by the reference; at least 0."""
    margin: Floats
    """The reference's largest less second largest logit, as in `RowNLL`."""
    dp: Floats
    """p_cand(target) - p_ref(target)."""
    argmax_ref: NDArray[np.int64]
    argmax_cand: NDArray[np.int64]
    max_abs: Floats
    """The largest |x_ref - x_cand| over candidates that neither arm rules out; NaN where there is none."""
    ok: NDArray[np.bool_]
    """False: either arm has NaN, +inf, or nothing but -inf."""

    def __len__(self) -> int:
        return self.ok.size

    def __getitem__(self, rows: slice | NDArray[Any]) -> PairedRows:
        """Some of the rows."""
        return PairedRows(*(getattr(self, column.name)[rows] for column in fields(self)))

    @property
    def kl_infinite(self) -> NDArray[np.bool_]:
        """Where KL is +inf."""
        return np.isposinf(self.kl)

    @classmethod
    def joined(cls, parts: Sequence[PairedRows]) -> PairedRows:
        """The rows of all parts (at least one), in order."""
        return cls(*(np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(cls)))


def nll_rows(logits_nv: ArrayLike, targets_n: ArrayLike) -> RowNLL:
    """Each row's negative log-likelihood of its target. Logits (N, V), target ids (N,) from 0 to V - 1.

    Source: lse(x) = m + ln sum exp(x - m), nll = lse(x) - x[target], for any m; it is the row's maximum where the
    row's own scale could leave the range of a float.

    Raises:
        ValueError: rows of unequal width or without a candidate, no floats, a target that is no id of the vocabulary,
            or not one per row.
    """
    x_nv = _matrix(logits_nv, "logits")
    return nll_from_sums(reduce_rows(x_nv, _targets(targets_n, x_nv)))


def nll_from_sums(sums: ArmSums) -> RowNLL:
    """The rows behind sums that were made here or on a device."""
    ok = np.isfinite(sums.peak) & np.isfinite(sums.total)
    with np.errstate(invalid="ignore", divide="ignore"):
        log_total = np.log(sums.total)
        nll = _no_less_than_0(log_total + (sums.shift - sums.at_target), log_total)
        lse, margin = sums.shift + log_total, sums.peak - sums.second
    return RowNLL(_kept(nll, ok), _kept(lse, ok), _kept(sums.argmax, ok), _kept(margin, ok), ok)


def paired_rows(
    ref_nv: ArrayLike, cand_nv: ArrayLike, targets_n: ArrayLike, kernel: Kernel | None = None
) -> PairedRows:
    """The reference's and the candidate's rows of the same positions: both logits (N, V), target ids (N,).

    Each arm is graded on the target, not on the other arm. `kernel` is "numba" (the extra `fast`) or "numpy"; by
    default whichever is there, numpy for vocabularies under 4,096. Both agree to 1e-12, their integers exactly.

    Raises:
        ValueError: as `nll_rows`; arms of different shapes; or a kernel that is not there.
    """
    x_nv, y_nv = _matrix(ref_nv, "ref logits"), _matrix(cand_nv, "cand logits")
    if x_nv.shape != y_nv.shape:
        raise ValueError(
            f"ref logits are {x_nv.shape}, cand logits {y_nv.shape}; give both arms the same positions and vocabulary"
        )
    targets = _targets(targets_n, x_nv)
    return paired_from_sums(_reducer(kernel, x_nv.shape[1])(x_nv, y_nv, targets))


def paired_from_sums(sums: PairSums) -> PairedRows:
    """The rows behind sums that were made here or on a device.

    Source: with L = ln sum exp(x - shift), KL = L_cand - L_ref + sum p_ref ((x_ref - shift_ref) - (x_cand -
    shift_cand)): one pass, and no distribution is ever held. Terms with p_ref = 0 are 0.
    """
    ref, cand = sums.ref, sums.cand
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        log_ref, log_cand = np.log(ref.total), np.log(cand.total)
        nll_ref = _no_less_than_0(log_ref + (ref.shift - ref.at_target), log_ref)
        nll_cand = _no_less_than_0(log_cand + (cand.shift - cand.at_target), log_cand)
        kl = _no_less_than_0((log_cand - log_ref) + sums.cross, np.maximum(np.abs(log_ref), np.abs(sums.cross)))
        gap, margin = ref.peak - sums.at_pick, ref.peak - ref.second
        dp = np.exp(-nll_cand) - np.exp(-nll_ref)
    # numpy's and the hardware's own tests of what came out: a NaN anywhere in a row is in its sums, hence in KL
    ok = np.isfinite(ref.peak) & np.isfinite(cand.peak) & ~np.isnan(kl)
    return PairedRows(
        nll_ref=_kept(nll_ref, ok),
        nll_cand=_kept(nll_cand, ok),
        kl=_kept(kl, ok),
        gap=_kept(gap, ok),
        margin=_kept(margin, ok),
        dp=_kept(dp, ok),
        argmax_ref=_kept(ref.argmax, ok),
        argmax_cand=_kept(cand.argmax, ok),
        max_abs=_kept(sums.max_abs, ok),
        ok=ok,
    )


class _Reducer(Protocol):
    """Checked logits of both arms (N, V) and targets (N,) in, sums out."""

    def __call__(self, ref_nv: Rows, cand_nv: Rows, targets_n: NDArray[np.int64]) -> PairSums: ...


def _reducer(kernel: Kernel | None, width: int) -> _Reducer:
    if kernel not in (None, "numpy", "numba"):
        raise ValueError(f"kernel is {kernel!r}; give 'numpy' or 'numba'")
    if kernel == "numpy" or (kernel is None and width < _WORTH_COMPILING):
        return reduce_pairs
    fast = _compiled()
    if fast is None and kernel == "numba":
        raise ValueError("kernel 'numba' is not there; install the extra `fast`, or give 'numpy'")
    return fast or reduce_pairs


@cache
def _compiled() -> _Reducer | None:
    """The numba kernel, or None where numba is not installed."""
    try:
        from evalflow.numeric.fast_logits import reduce_pairs_compiled
    except ImportError:
        return None
    return reduce_pairs_compiled


def _matrix(rows: ArrayLike, name: str) -> Rows:
    """Logits (N, V) as an array of floats; no rows at all are (0, 0)."""
    array: Rows = np.asarray(rows) if hasattr(rows, "__array__") else _from_lists(rows, name)
    if array.ndim != 2:
        raise ValueError(f"{name} have shape {array.shape}; give rows of logits, (N, V)")
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise ValueError(f"{name} are {array.dtype}; give float16, float32 or float64")
    if array.shape[0] and not array.shape[1]:
        raise ValueError(f"{name}, row 0: no candidates; give at least one logit a row")
    return array


def _from_lists(rows: Any, name: str) -> Rows:
    """Nested lists as float64, once their rows are known to be of one width."""
    for place, row in enumerate(rows):
        if not hasattr(row, "__len__"):
            raise ValueError(f"{name}, row {place}: no row of numbers; give rows of logits, (N, V)")
        if len(row) != len(rows[0]):
            raise ValueError(f"{name}, row {place}: {len(row)} logits where row 0 has {len(rows[0])}; give equal rows")
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if len(rows) else 0)


def _targets(targets: ArrayLike, x_nv: Rows) -> NDArray[np.int64]:
    """Target ids (N,), each an id of the vocabulary."""
    n_rows, width = x_nv.shape
    ids = np.asarray(targets)
    if ids.shape != (n_rows,):
        raise ValueError(f"targets have shape {ids.shape} for {n_rows} rows; give one target per row")
    if n_rows and ids.dtype.kind not in "iu":
        raise ValueError(f"targets are {ids.dtype}; give integers")
    outside = np.flatnonzero((ids < 0) | (ids >= width))
    if outside.size:
        place = int(outside[0])
        raise ValueError(f"target {ids[place]} of row {place} is no id of the vocabulary; give 0 to {width - 1}")
    return ids.astype(np.int64)


def _no_less_than_0(values: Floats, terms: Floats) -> Floats:
    """0 where a value is below it by no more than the rounding of its terms (or 1, whichever is larger)."""
    rounding = -_ROUNDING * np.maximum(1.0, np.abs(terms))
    return np.where((values < 0) & (values >= rounding), 0.0, values)


def _kept(column: NDArray[Any], ok: NDArray[np.bool_]) -> NDArray[Any]:
    """The column with NaN, or -1 among indices, where a row is not ok."""
    return np.where(ok, column, -1 if column.dtype.kind == "i" else np.nan)
