"""Two arms on the same items: the paired t-test, non-inferiority, and equivalence within a margin.

A difference is treatment - baseline, and more is better. Where less is better, give the differences turned round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.critical import open_unit, t_critical
from evalflow.numeric.interval import Interval
from evalflow.numeric.moments import mean, sample_sd
from evalflow.numeric.sign import LEAST_P
from evalflow.numeric.undefined import Undefined, finite, finite_column


@dataclass(frozen=True)
class PairedT:
    """The mean difference of `n` pairs, its sd (ddof 1), how many standard errors it is from 0, and its interval.

    `p` is two-sided, and never 0. Rows that depend on one another (tokens of one document) make it far too small:
    `cluster.mean_interval` allows for them."""

    n: int
    mean: float
    sd: float
    t: float
    p: float
    interval: Interval


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests: `p_low` against a mean at or under -margin, `p_high` against one at or over margin.

    `p` is the larger of the two. `interval` is the 1 - 2 alpha one, which lies inside the margin just where p < alpha.
    """

    p: float
    p_low: float
    p_high: float
    interval: Interval


def differences(baseline: ArrayLike, treatment: ArrayLike) -> NDArray[np.float64]:
    """Treatment - baseline of each pair (N,), in their unit.

    Differences that one number explains, each to within the rounding of the pair that it is of, are made that number,
    0 where it can be: 0.3 - 0.2 and 0.4 - 0.3 are both 0.1, and their last bits are no spread to test with.

    Raises:
        Undefined: "no rows", "non-finite value", or "non-finite result" where one is beyond a float.
        ValueError: not as many of one as of the other.
    """
    sizes = np.size(baseline), np.size(treatment)
    if sizes[0] != sizes[1]:
        raise ValueError(f"{sizes[0]} values of the baseline for {sizes[1]} of the treatment; give pairs")
    before, after = finite_column(baseline), finite_column(treatment)
    with np.errstate(over="ignore"):
        column = after - before
    finite(float(np.abs(column).max()))
    # half an ulp for each value as it was written or averaged, and for their difference; and as much again
    dust = 2 * np.finfo(np.float64).eps * (np.abs(before) + np.abs(after))
    low, high = float((column - dust).max()), float((column + dust).min())
    if low <= high:
        column[:] = 0.0 if low <= 0 <= high else min(max(mean(column), low), high)
    return column


def paired_t(differences: ArrayLike, alpha: float = 0.05) -> PairedT:
    """Student's t-test that the mean of `differences` (N,) is 0, and the interval of that mean at 1 - `alpha`.

    Source: t = mean / (sd / sqrt(N)) on N - 1 degrees of freedom (Student 1908).

    Raises:
        Undefined: "n < 2", "zero variance" where all are equal (see `is_equivalent`), "no rows",
            "non-finite value" or "non-finite result".
        ValueError: alpha outside (0, 1).
    """
    level = 1 - open_unit(alpha, "alpha")
    column = finite_column(differences)
    centre, sd, se = _spread(column)
    t = finite(centre / se)
    reach = t_critical(level, column.size - 1) * se
    interval = Interval(centre - reach, centre + reach, level, "t")
    return PairedT(column.size, centre, sd, t, max(min(1.0, 2 * _below(-abs(t), column.size)), LEAST_P), interval)


def non_inferiority(differences: ArrayLike, margin: float) -> float:
    """The one-sided p of H0 "the mean difference is -margin or worse": small where the treatment is no worse by it.

    Source: t = (mean + margin) / (sd / sqrt(N)) on N - 1 degrees of freedom. A margin of 0 tests for better.

    Raises:
        Undefined: as `paired_t` ("zero variance": see `is_non_inferior`).
        ValueError: a margin below 0, or none.
    """
    _check_margin(margin)
    return _p_above(finite_column(differences), -margin)


def equivalence(differences: ArrayLike, margin: float, alpha: float = 0.05) -> Equivalence:
    """Two one-sided tests that the mean of `differences` (N,) lies strictly between -margin and margin.

    Source: Schuirmann 1987. That no difference is shown is not that there is none; this shows it. The margin is to be
    fixed before the run. At a margin of 0 nothing can be shown, and p is never below 1/2.

    Raises:
        Undefined: as `paired_t` ("zero variance": see `is_equivalent`).
        ValueError: a margin below 0, or none, or alpha outside (0, 0.5).
    """
    _check_margin(margin)
    _check_one_sided(alpha)
    column = finite_column(differences)
    p_low, p_high = _p_above(column, -margin), _p_above(-column, -margin)
    return Equivalence(max(p_low, p_high), p_low, p_high, paired_t(column, 2 * alpha).interval)


def is_non_inferior(differences: ArrayLike, margin: float, alpha: float = 0.05) -> bool:
    """Whether `non_inferiority` is at most alpha or, without variance, whether the one difference is over -margin.

    Where every difference is the same number there is nothing to estimate: of two or more, it decides by itself.

    Raises:
        Undefined: "n < 2", "no rows", "non-finite value" or "non-finite result".
        ValueError: as `non_inferiority`, or alpha outside (0, 1).
    """
    _check_margin(margin)
    open_unit(alpha, "alpha")
    same = constant_difference(differences)
    return non_inferiority(differences, margin) <= alpha if same is None else same > -margin


def is_equivalent(differences: ArrayLike, margin: float, alpha: float = 0.05) -> bool:
    """Whether `equivalence` has a p of at most alpha or, without variance, whether the one difference is in the margin.

    Two arms that agree to the bit are equivalent within any margin above 0, though they have no t.

    Raises:
        Undefined: "n < 2", "no rows", "non-finite value" or "non-finite result".
        ValueError: as `equivalence`.
    """
    _check_margin(margin)
    _check_one_sided(alpha)
    same = constant_difference(differences)
    return equivalence(differences, margin, alpha).p <= alpha if same is None else abs(same) < margin


def constant_difference(differences: ArrayLike) -> float | None:
    """The one value that all `differences` (N,) have, in their unit; None where they vary.

    Raises:
        Undefined: "n < 2" (one pair shows no constancy), "no rows" or "non-finite value".
    """
    column = finite_column(differences)
    if column.size < 2:
        raise Undefined("n < 2")
    return float(column[0]) if column.min() == column.max() else None


def _spread(column: NDArray[np.float64]) -> tuple[float, float, float]:
    """Mean, sd and standard error of two or more values that are not all equal."""
    if constant_difference(column) is not None:
        raise Undefined("zero variance")
    centre, sd = mean(column), sample_sd(column)
    se = sd / math.sqrt(column.size)
    if se == 0:  # a spread among the smallest floats
        raise Undefined("zero variance")
    return centre, sd, se


def _p_above(column: NDArray[np.float64], bound: float) -> float:
    """The one-sided p of H0 "the mean is `bound` or less"."""
    centre, _, se = _spread(column)
    return max(_below(-finite((centre - bound) / se), column.size), LEAST_P)


def _below(t: float, n: int) -> float:
    """The chance that Student's t of `n` pairs lies below `t`."""
    from scipy.special import stdtr  # 0.27 s at import

    return float(stdtr(n - 1, t))


def _check_one_sided(alpha: float) -> None:
    if not 0.0 < alpha < 0.5:
        raise ValueError(f"alpha is {alpha}; give a number strictly between 0 and 0.5")


def _check_margin(margin: float) -> None:
    if not 0.0 <= margin < math.inf:
        raise ValueError(f"margin is {margin}; give a finite number of 0 or more")
