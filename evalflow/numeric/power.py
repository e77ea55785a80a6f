"""Power of a paired comparison, before it is run: what difference it can show, and how many items that takes.

`sd` is the standard deviation (ddof 1) of the differences, in their unit. The test of a mean difference is two-sided,
that of a margin one-sided, and of two margins both. The t answers are those of the test that is run; the normal ones
are the textbook's, a little optimistic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index
from statistics import NormalDist

from evalflow.numeric.critical import open_unit
from evalflow.numeric.undefined import Undefined, finite

# up to here scipy's noncentral t is right to 1e-8; at 1e5 it is wrong in the third digit
_LARGEST_CRITICAL = 1e4
_SLICES = 2000  # of the sd's distribution, each of one probability
_ONE_SIDED_FROM = 8.5  # from here on the wrong side has a chance of less than 1e-17, and scipy no number for it


def mde(sd: float, n: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference at which `n` pairs are found to differ with chance `power`, in the unit of `sd`.

    Source: the root in delta of P(|T| > t_(1 - alpha/2)(n - 1)) = power with T noncentral t, n - 1 degrees of freedom
    and noncentrality delta sqrt(n) / sd (Cohen 1988). Both sides reject, as in the test that is run; the normal formula
    leaves out the wrong one, which no power of 0.8 or more can tell and a power near alpha does.

    Raises:
        Undefined: "n < 2", "sd <= 0", "non-finite value", "non-finite result", or "alpha too small for n".
        ValueError: not 0 < alpha < power < 1.
        TypeError: n is no integer.
    """
    from scipy.optimize import brentq  # slow to import

    _check(sd, alpha, power)
    if index(n) < 2:
        raise Undefined("n < 2")

    def shortfall(noncentrality: float) -> float:
        return _power(noncentrality, n, alpha) - power

    high = 2.0
    while shortfall(high) < 0:  # at 0 the power is alpha, hence below `power`
        high *= 2
    return finite(float(brentq(shortfall, 0.0, high, xtol=1e-12, rtol=1e-12)) * sd / math.sqrt(n))


def mde_normal(sd: float, n: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """`mde` by the normal approximation: (z_(1 - alpha/2) + z_power) sd / sqrt(n), in the unit of `sd`.

    Raises:
        Undefined, ValueError, TypeError: as `mde`.
    """
    _check(sd, alpha, power)
    if index(n) < 2:
        raise Undefined("n < 2")
    return finite(_normal_reach(alpha, power) * sd / math.sqrt(n))


def items_needed(sd: float, delta: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """The least number of pairs (2 or more) that show a true difference of |delta| with chance `power`.

    Source: the least n whose noncentral t power, as in `mde`, is at least `power`; found by bisection, since
    power rises with n.

    Raises:
        Undefined: "sd <= 0", "delta is 0", "non-finite value", "non-finite result", or "alpha too small for
            n".
        ValueError: not 0 < alpha < power < 1.
    """
    start = items_needed_normal(sd, delta, alpha, power)
    return least_n(lambda n: _power(abs(delta) / sd * math.sqrt(n), n, alpha) >= power, start)


def items_needed_normal(sd: float, delta: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """`items_needed` by the normal approximation: ((z_(1 - alpha/2) + z_power) sd / delta)^2, rounded up.

    Raises:
        Undefined, ValueError: as `items_needed`.
    """
    _check(sd, alpha, power)
    if finite(delta, "non-finite value") == 0:
        raise Undefined("delta is 0")
    root = finite(_normal_reach(alpha, power) * (sd / abs(delta)))
    return max(2, math.ceil(finite(root * root)))


def items_non_inferior(sd: float, margin: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """The least number of pairs (2 or more) that show "no worse by `margin`" with chance `power`, of equal arms.

    Source: the one-sided t-test of H0 "the mean difference is -margin or worse" at `alpha`, whose power where the
    arms are equal is P(T > t_(1 - alpha)(n - 1)) with T noncentral t of noncentrality margin sqrt(n) / sd (Julious
    2004). An arm that is truly a little worse takes more.

    Raises:
        Undefined: "sd <= 0", "margin <= 0", "non-finite value", "non-finite result", or "alpha too small for n".
        ValueError: not 0 < alpha < power < 1.
    """
    effect = _effect(sd, margin, alpha, power)
    standard = NormalDist()
    root = finite((standard.inv_cdf(power) - standard.inv_cdf(alpha)) / effect)
    return least_n(lambda n: _power_above(effect, n, alpha) >= power, _whole(root * root))


def items_equivalent(sd: float, margin: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """The least number of pairs (2 or more) that show "within `margin` either way" with chance `power`, of equal arms.

    Source: both one-sided t-tests at `alpha` reject (Schuirmann 1987) just where |mean| < margin - t s / sqrt(n). The
    chance of that is averaged over s, of which (n - 1) s^2 / sd^2 is chi-square of n - 1 degrees (as Owen 1965).

    Raises:
        Undefined, ValueError: as `items_non_inferior`.
    """
    effect = _effect(sd, margin, alpha, power)
    standard = NormalDist()
    root = finite((standard.inv_cdf((1 + power) / 2) - standard.inv_cdf(alpha)) / effect)
    return least_n(lambda n: _power_between(effect, n, alpha) >= power, _whole(root * root))


def least_n(enough: Callable[[int], bool], start: int) -> int:
    """The least n of 2 or more that is enough, found by bisection from `start`: what is enough must stay so."""
    low, high = 1, max(2, start)  # one pair is never enough
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _power_above(effect: float, n: int, alpha: float) -> float:
    """The chance that the one-sided t-test of `n` pairs rejects, the mean being `effect` sds above its bound."""
    from scipy.stats import nct, t  # 0.46 s at import

    df = float(n - 1)
    critical = float(t.isf(alpha, df))
    if critical > _LARGEST_CRITICAL:
        raise Undefined("alpha too small for n")
    return finite(float(nct.sf(critical, df, effect * math.sqrt(n))))


def _power_between(effect: float, n: int, alpha: float) -> float:
    """The chance that both one-sided t-tests of `n` pairs reject, the mean being 0 and each bound `effect` sds off."""
    import numpy as np
    from scipy.stats import chi2, norm, t  # 0.46 s at import

    df = float(n - 1)
    critical = float(t.isf(alpha, df))
    shares = (np.arange(_SLICES) + 0.5) / _SLICES
    observed_sd = np.sqrt(chi2.ppf(shares, df) / df)  # in true sds
    room = np.maximum(effect * math.sqrt(n) - critical * observed_sd, 0.0)
    return float(np.mean(2 * norm.cdf(room) - 1))


def _effect(sd: float, margin: float, alpha: float, power: float) -> float:
    """The margin in sds."""
    _check(sd, alpha, power)
    if finite(margin, "non-finite value") <= 0:
        raise Undefined("margin <= 0")
    return finite(margin / sd)


def _whole(items: float) -> int:
    return math.ceil(finite(items))


def _power(noncentrality: float, n: int, alpha: float) -> float:
    """The chance that the two-sided paired t-test of `n` pairs rejects, on either side."""
    from scipy.stats import nct, t  # 0.46 s at import

    df = float(n - 1)  # scipy takes no integer beyond 64 bits
    critical = float(t.isf(alpha / 2, df))
    if critical > _LARGEST_CRITICAL:
        raise Undefined("alpha too small for n")
    true_side = float(nct.sf(critical, df, noncentrality))
    if noncentrality > _ONE_SIDED_FROM:
        return finite(true_side)
    return finite(true_side + float(nct.sf(critical, df, -noncentrality)))


def _normal_reach(alpha: float, power: float) -> float:
    """z_(1 - alpha/2) + z_power: the standard errors between no difference and one that shows."""
    standard = NormalDist()
    return standard.inv_cdf(power) - standard.inv_cdf(alpha / 2)


def _check(sd: float, alpha: float, power: float) -> None:
    open_unit(alpha, "alpha")
    open_unit(power, "power")
    if alpha >= power:
        raise ValueError(f"power is {power} at alpha {alpha}; give a power above alpha")
    if finite(sd, "non-finite value") <= 0:
        raise Undefined("sd <= 0")
