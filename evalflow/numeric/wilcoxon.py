"""Wilcoxon's signed-rank test of paired differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evalflow.numeric.permutation import EXACT_UP_TO, exact_p
from evalflow.numeric.sign import LEAST_P
from evalflow.numeric.undefined import Undefined, finite_column

ZeroMethod = Literal["wilcox", "pratt", "zsplit"]
"""Differences of 0 are left out before ranking; ranked, then left out; or ranked, and their ranks split."""

_SCIPY_EXACT_UP_TO = 50  # without ties and zeros, scipy has the exact law so far


@dataclass(frozen=True)
class Wilcoxon:
    """The smaller sum of ranks, its two-sided p, and how that was had: "exact" or "normal approximation".

    `n` differences came in, `zeros` of them 0, which were dealt with by `zero_method`."""

    n: int
    zeros: int
    statistic: float
    p: float
    zero_method: ZeroMethod
    method: str


def wilcoxon(differences: ArrayLike, zero_method: ZeroMethod = "wilcox") -> Wilcoxon:
    """The two-sided test that `differences` (N,) lie symmetrically about 0, by the ranks of their magnitudes.

    Ties share their mean rank. With at most `permutation.EXACT_UP_TO` differences beside 0 the p is exact, ties or
    not: all flips of the signs of the ranks are counted. Up to 50 without ties or ranked zeros it is exact by scipy,
    else the normal approximation, its variance corrected for ties, without continuity correction.

    Source: Wilcoxon 1945; Pratt 1959 for "pratt".

    Raises:
        Undefined: "all differences are 0", "fewer than 2 differences beside 0" (of one, every p is 1), "no rows" or
            "non-finite value".
        ValueError: another zero_method.
    """
    from scipy import stats  # 0.46 s at import

    if zero_method not in ("wilcox", "pratt", "zsplit"):
        raise ValueError(f'zero_method is {zero_method}; give "wilcox", "pratt" or "zsplit"')
    column = finite_column(differences)
    beside = column[column != 0]
    zeros = column.size - beside.size
    if beside.size == 0:
        raise Undefined("all differences are 0")
    if beside.size < 2:
        raise Undefined("fewer than 2 differences beside 0")
    ranked = beside if zero_method == "wilcox" else column
    small = beside.size <= EXACT_UP_TO
    plain = ranked.size <= _SCIPY_EXACT_UP_TO and ranked.size == np.unique(np.abs(ranked)).size and 0 not in ranked
    said = stats.wilcoxon(ranked, zero_method=zero_method, method="exact" if plain and not small else "approx")
    p = float(said.pvalue)
    if small:
        ranks = stats.rankdata(np.abs(ranked))[ranked != 0]
        p = exact_p(ranks, abs(float((ranks * np.sign(beside)).sum())))
    how = "exact" if plain or small else "normal approximation"
    return Wilcoxon(column.size, zeros, float(said.statistic), max(p, LEAST_P), zero_method, how)
