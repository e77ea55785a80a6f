"""Several tests at once: p-values adjusted so that their family errs as rarely as one test would."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evalflow.numeric.critical import open_unit


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values of the family `p` (M,), in its order; reject where at most alpha.

    Source: in rising order the i-th (from 0) is multiplied by M - i, made no smaller than the one before it,
    and capped at 1 (Holm 1979). It bounds the chance of any false rejection, whatever the dependence between
    the tests. No p gives no adjusted p.

    Raises:
        ValueError: a p outside 0..1, or NaN: what a test without a p does to the family is the caller's to
        say.
    """
    _check(p)
    adjusted = [0.0] * len(p)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        least = min(1.0, max(least, (len(p) - rank) * float(p[place])))
        adjusted[place] = least
    return adjusted


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """The false-discovery-rate adjusted p-values of the family `p` (M,), in its order; reject where at most alpha.

    Source: in rising order the i-th (from 1) is multiplied by M / i, then made no larger than the one after it
    (Benjamini and Hochberg 1995). It bounds the expected share of false rejections among all rejections, for
    independent tests and for positively dependent ones. No p gives no adjusted p.

    Raises:
        ValueError: as `holm`.
    """
    _check(p)
    adjusted = [0.0] * len(p)
    most = 1.0
    for rank, place in reversed(list(enumerate(sorted(range(len(p)), key=lambda i: p[i]), start=1))):
        most = min(most, float(p[place]) * len(p) / rank)
        adjusted[place] = most
    return adjusted


def rejected(adjusted: Sequence[float], alpha: float = 0.05) -> list[bool]:
    """Which of the `adjusted` p-values (M,) are at most `alpha`, but for the rounding of the adjustment itself.

    0.05 that a product of floats leaves an ulp above 0.05 is 0.05.

    Raises:
        ValueError: as `holm`, or alpha outside (0, 1).
    """
    open_unit(alpha, "alpha")
    _check(adjusted)
    return [value <= alpha or math.isclose(value, alpha, rel_tol=1e-12) for value in adjusted]


def _check(p: Sequence[float]) -> None:
    for value in p:
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"a p-value is {value}; give numbers from 0 to 1")
