"""Two arms' logits held against each other, there where they lie."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalflow.model.scorer import Rows, Tokens
from evalflow.numeric.logits import PairedRows, RowNLL, nll_from_sums, nll_rows, paired_from_sums, paired_rows


def paired(ref_nv: Rows, cand_nv: Rows, targets_n: Tokens) -> PairedRows:
    """The reference's and the candidate's rows of the same positions; see `paired_rows`.

    Both on one accelerator are reduced there; else both are brought here.

    Raises:
        ValueError: as `paired_rows`.
    """
    if not (_far(ref_nv) and _far(cand_nv) and ref_nv.device == cand_nv.device):
        return paired_rows(here(ref_nv), here(cand_nv), targets_n)
    from evalflow.model.torch_sums import reduce_pairs

    if ref_nv.shape != cand_nv.shape:
        said = f"ref logits are {tuple(ref_nv.shape)}, cand logits {tuple(cand_nv.shape)}"
        raise ValueError(f"{said}; give both arms the same positions and vocabulary")
    return paired_from_sums(reduce_pairs(ref_nv, cand_nv, _checked(targets_n, ref_nv)))


def nll(logits_nv: Rows, targets_n: Tokens) -> RowNLL:
    """One arm's rows; see `nll_rows`. Those on an accelerator are reduced there.

    Raises:
        ValueError: as `nll_rows`.
    """
    if not _far(logits_nv):
        return nll_rows(here(logits_nv), targets_n)
    from evalflow.model.torch_sums import reduce_rows

    return nll_from_sums(reduce_rows(logits_nv, _checked(targets_n, logits_nv)))


def here(rows_nv: Rows) -> NDArray[Any]:
    """Rows as an array on this machine's CPU; bfloat16, which numpy has not, as float32."""
    if not _is_tensor(rows_nv):
        return np.asarray(rows_nv)
    near = rows_nv.detach().cpu()
    return np.asarray(near.numpy() if str(near.dtype) != "torch.bfloat16" else near.float().numpy())


def _far(rows_nv: Rows) -> bool:
    return _is_tensor(rows_nv) and rows_nv.device.type != "cpu"


def _is_tensor(rows_nv: Rows) -> bool:
    torch = sys.modules.get("torch")  # nothing is a tensor where nobody has loaded it
    return torch is not None and isinstance(rows_nv, torch.Tensor)


def _checked(targets_n: Tokens, logits_nv: Rows) -> Tokens:
    """The targets, each an id of the vocabulary: a device would read past its memory, or stop for good."""
    n_rows, width = logits_nv.shape
    if targets_n.shape != (n_rows,):
        raise ValueError(f"targets have shape {targets_n.shape} for {n_rows} rows; give one target per row")
    if n_rows and not 0 <= int(targets_n.min()) <= int(targets_n.max()) < width:
        raise ValueError(f"a target is no id of the vocabulary; give 0 to {width - 1}")
    return targets_n
