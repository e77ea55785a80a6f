"""How many items it takes until the interval of a rate clears a threshold, or until enough of them are of a kind."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from evalflow.numeric.critical import normal_critical, open_unit
from evalflow.numeric.undefined import Undefined, finite

_COUNTED_UP_TO = 100_000  # beyond, the formula is right to a part in a thousand


def items_to_clear(rate: float, floor: float, level: float = 0.95, power: float = 0.8) -> int:
    """The items at which the low end of Wilson's interval is at or over `floor` with chance `power`, `rate` being true.

    For a ceiling give 1 - rate and 1 - ceiling.

    Source: the low end lies at `floor` where x = n floor + z sqrt(n floor (1 - floor)) of n are right (Wilson 1927), so
    the chance is a binomial sum. It rises in steps: of the n up to twice the formula's, the answer is the least from
    which on all have it. Beyond 100,000 it is the normal formula, ((z sqrt(floor (1 - floor)) + z_power sqrt(rate
    (1 - rate))) / (rate - floor))^2 (Fleiss 1981).

    Raises:
        Undefined: "the rate is not above the floor" (more items will not clear it), or "non-finite value".
        ValueError: a rate outside 0..1, a floor outside (0, 1), or a level or power outside (0, 1).
    """
    from scipy.stats import binom  # 0.46 s at import

    open_unit(floor, "floor")
    open_unit(power, "power")
    z = normal_critical(level)
    if not 0 <= finite(rate, "non-finite value") <= 1:
        raise ValueError(f"rate is {rate}; give a rate from 0 to 1")
    if rate <= floor:
        raise Undefined("the rate is not above the floor")
    spread = z * math.sqrt(floor * (1 - floor)) + NormalDist().inv_cdf(power) * math.sqrt(rate * (1 - rate))
    by_formula = math.ceil(finite((spread / (rate - floor)) ** 2))
    if by_formula > _COUNTED_UP_TO:
        return by_formula
    n = np.arange(1, 2 * by_formula + 101)
    needed = np.ceil(n * floor + z * np.sqrt(n * floor * (1 - floor)) - 1e-9)
    short = np.flatnonzero(binom.sf(needed - 1, n, rate) < power)
    return int(n[short[-1]]) + 1 if short.size else 1


def items_to_bound(rate: float, bound: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """The items at which the exact one-sided upper limit of a rate is under `bound`, `rate` being true.

    Source: at level 1 - `alpha` it is under it where x of n or fewer have a chance under `alpha` at that rate (Clopper
    and Pearson 1934), so that the chance is a binomial sum; of the n up to twice a normal formula's, the least from
    which on all have it.

    Raises:
        Undefined: "the rate is not under the bound", or "non-finite value".
        ValueError: a rate outside 0..1, a bound outside (0, 1), or alpha or power outside (0, 1).
    """
    from scipy.stats import binom  # 0.46 s at import

    open_unit(bound, "bound")
    open_unit(power, "power")
    z = -NormalDist().inv_cdf(open_unit(alpha, "alpha"))
    if not 0 <= finite(rate, "non-finite value") <= 1:
        raise ValueError(f"rate is {rate}; give a rate from 0 to 1")
    if rate >= bound:
        raise Undefined("the rate is not under the bound")
    none = math.log(alpha) / math.log1p(-bound)  # what it takes where none is found
    spread = z * math.sqrt(bound * (1 - bound)) + NormalDist().inv_cdf(power) * math.sqrt(rate * (1 - rate))
    by_formula = math.ceil(finite(max(none, (spread / (bound - rate)) ** 2)))
    if by_formula > _COUNTED_UP_TO:
        return by_formula
    n = np.arange(1, 2 * by_formula + 101)
    most = binom.ppf(alpha, n, bound)  # the largest count that is not too many, or one more
    most = np.where(binom.cdf(most, n, bound) < alpha, most, most - 1)
    short = np.flatnonzero(binom.cdf(most, n, rate) < power)
    return int(n[short[-1]]) + 1 if short.size else 1


def items_for_count(rate: float, count: int, power: float = 0.8) -> int:
    """The items among which at least `count` are of a kind that has this rate, with chance `power`.

    Raises:
        Undefined: "no rate" where it is 0, or "non-finite value".
        ValueError: a rate outside 0..1, or a power outside (0, 1).
    """
    from scipy.stats import nbinom  # 0.46 s at import

    open_unit(power, "power")
    if not 0 <= finite(rate, "non-finite value") <= 1:
        raise ValueError(f"rate is {rate}; give a rate from 0 to 1")
    if rate == 0:
        raise Undefined("no rate")
    return count + int(nbinom.ppf(power, count, rate))
