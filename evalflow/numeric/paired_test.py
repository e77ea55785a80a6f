"""The tests that a paired comparison may go by, behind one door."""

from __future__ import annotations

from typing import Literal

from numpy.typing import ArrayLike

from evalflow.numeric.paired import paired_t
from evalflow.numeric.permutation import sign_flip_test
from evalflow.numeric.sign import sign_test
from evalflow.numeric.undefined import finite_column
from evalflow.numeric.wilcoxon import wilcoxon

Kind = Literal["sign", "permutation", "wilcoxon", "t"]
NAMES: dict[Kind, str] = {
    "sign": "exact sign test",
    "permutation": "sign-flip permutation test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "t": "paired t-test",
}
"""What each is called where its p stands."""


def paired_p(kind: Kind, differences: ArrayLike, seed: int, alpha: float = 0.05) -> float:
    """The two-sided p of `differences` (N,) under a test; `seed` draws the flips of a permutation test of many.

    Differences that are all 0 have p 1 under each: nothing speaks against chance.

    Raises:
        Undefined: "no rows", "non-finite value", or as the test: a t of differences that do not vary is none.
    """
    column = finite_column(differences)
    if not column.any():
        return 1.0
    if kind == "sign":
        return sign_test(column, alpha).p
    if kind == "permutation":
        return sign_flip_test(column, seed).p
    if kind == "wilcoxon":
        return wilcoxon(column).p
    return paired_t(column, alpha).p
