"""The exact sign test on paired differences; on 0/1 outcomes it is McNemar's exact test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import index

import numpy as np
from numpy.typing import ArrayLike

from evalflow.numeric.critical import open_unit
from evalflow.numeric.undefined import finite_column

LEAST_P = math.ulp(0.0)
"""No outcome has probability 0: a p too small for a float is the smallest float."""


@dataclass(frozen=True)
class SignTest:
    """How often the difference was above, below and at 0, and how surprising that is by chance alone.

    `p` is exact and two-sided, `p_mid` its mid-p. `smallest_p` is what a one-sided outcome of as many
    discordant pairs (wins + losses) would give, and `reachable` whether that is at most alpha: where it is
    False, no outcome whatever could have shown a difference."""

    wins: int
    losses: int
    ties: int
    p: float
    p_mid: float
    reachable: bool
    smallest_p: float


def sign_test(differences: ArrayLike, alpha: float = 0.05) -> SignTest:
    """The two-sided exact binomial test on the signs of `differences` (N,); zeros are ties and say nothing.

    Source: with m discordant pairs and k the rarer sign, p = min(1, 2 P(X <= k)) for X ~ Binomial(m, 1/2),
    and mid-p = 2 P(X <= k) - P(X = k) (Lancaster 1961). No discordant pair: both are 1. At 0.05 fewer than 6
    discordant pairs are not reachable.

    Raises:
        Undefined: "no rows" or "non-finite value".
        ValueError: alpha outside (0, 1).
    """
    open_unit(alpha, "alpha")
    column = finite_column(differences)
    wins = int(np.count_nonzero(column > 0))
    losses = int(np.count_nonzero(column < 0))
    p, p_mid = two_sided_p(wins, losses)
    least = smallest_p(wins + losses)
    return SignTest(
        wins=wins,
        losses=losses,
        ties=column.size - wins - losses,
        p=p,
        p_mid=p_mid,
        reachable=least <= alpha,
        smallest_p=least,
    )


def two_sided_p(wins: int, losses: int) -> tuple[float, float]:
    """The exact p and the mid-p of `sign_test` from the counts alone; both 1 where there is neither.

    Raises:
        ValueError: a count below 0.
        TypeError: a count that is no integer.
    """
    from scipy.stats import binom  # 0.46 s at import

    check_counts(wins, losses)
    discordant, rarer = wins + losses, min(wins, losses)
    both_tails = 2 * float(binom.cdf(rarer, discordant, 0.5))
    p_mid = both_tails - float(binom.pmf(rarer, discordant, 0.5))
    return max(min(1.0, both_tails), LEAST_P), max(min(1.0, p_mid), LEAST_P)


def check_counts(*counts: int) -> None:
    """Counts of pairs are integers of 0 or more.

    Raises:
        ValueError: one is below 0.
        TypeError: one is no integer.
    """
    for count in counts:
        if index(count) < 0:
            raise ValueError(f"a count is {count}; give 0 or more")


def smallest_p(discordant: int) -> float:
    """The p of the two-sided sign test where all `discordant` pairs go one way: 2 (1/2)^m, and 1 for none."""
    return max(math.ldexp(1.0, 1 - max(discordant, 1)), LEAST_P)
