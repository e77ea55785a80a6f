"""McNemar's test: two arms that are each right or wrong on the same items."""

from __future__ import annotations

import math
from dataclasses import dataclass

from evalflow.numeric.sign import LEAST_P, check_counts, two_sided_p
from evalflow.numeric.undefined import Undefined


@dataclass(frozen=True)
class McNemar:
    """Exact two-sided p and its mid-p, from the items that only one arm has right."""

    p: float
    p_mid: float


def mcnemar(only_a: int, only_b: int) -> McNemar:
    """McNemar's exact test of `only_a` items that a alone has right and `only_b` that b alone has.

    It is the sign test of the discordant pairs (see `sign.sign_test`): without any, both are 1.

    Raises:
        ValueError: a count below 0.
        TypeError: a count that is no integer.
    """
    return McNemar(*two_sided_p(only_a, only_b))


def mcnemar_chi2(only_a: int, only_b: int) -> tuple[float, float]:
    """The continuity-corrected chi-square of McNemar's test, and its p on one degree of freedom.

    Source: (|a - b| - 1)^2 / (a + b) (Edwards 1948), as published: of equal counts it is 1 / (a + b), and not 0. It is
    an approximation for many discordant pairs; `mcnemar` needs none.

    Raises:
        Undefined: "no discordant pair".
        ValueError, TypeError: as `mcnemar`.
    """
    check_counts(only_a, only_b)
    if only_a + only_b == 0:
        raise Undefined("no discordant pair")
    chi2 = (abs(only_a - only_b) - 1) ** 2 / (only_a + only_b)
    return chi2, max(math.erfc(math.sqrt(chi2 / 2)), LEAST_P)
