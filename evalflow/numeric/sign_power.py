"""How many pairs a sign test takes, of which a t-test's formula knows nothing."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.critical import open_unit
from evalflow.numeric.moments import mean
from evalflow.numeric.power import least_n
from evalflow.numeric.undefined import Undefined, finite, finite_column

_TAIL_SDS = 9  # beyond, a binomial count has a chance of less than 1e-17
_STEEPEST = 1e6  # tilted so far, the largest difference has all the weight
_EXACT_UP_TO = 1_000_000  # pairs; beyond, the normal formula is right to a part in a thousand
_EACH_UP_TO = 2000  # counts that are summed one by one; of more, as many quantiles of one probability


def tilted(differences: ArrayLike, delta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The values (M,) of pairs and their chances (M,), were the mean of `differences` (N,) |delta| and all else alike.

    For shares, and whatever has pairs that are level. Up is where their mean lies. Each difference is weighted by
    exp(lambda difference) with the lambda that makes the mean |delta|: of all ways to move a mean the one that moves
    the distribution least (Kullback 1959). Where no pair is level, one is added: it stands for those that a small
    sample does not show, and that a smaller mean must have. A mean that no weights reach has every pair at the top.

    Raises:
        Undefined: "zero variance" where every difference is 0, "delta is 0", "no rows" or "non-finite value".
    """
    from scipy.optimize import brentq  # slow to import

    column = finite_column(differences)
    largest = float(np.abs(column).max())
    if largest == 0:
        raise Undefined("zero variance")
    scaled = column / largest * (-1.0 if mean(column) < 0 else 1.0)
    if (scaled != 0).all():
        scaled = np.append(scaled, 0.0)
    target = abs(finite(delta, "non-finite value")) / largest
    if target == 0:
        raise Undefined("delta is 0")

    def weights(tilt: float) -> NDArray[np.float64]:
        raw: NDArray[np.float64] = np.exp(tilt * scaled - (tilt * scaled).max())
        whole: NDArray[np.float64] = raw / raw.sum()
        return whole

    def excess(tilt: float) -> float:
        return float((weights(tilt) * scaled).sum()) - target

    far = 1.0
    while excess(-far) > 0 or (excess(far) < 0 and far < _STEEPEST):
        far *= 2
    tilt = far if excess(far) < 0 else float(brentq(excess, -far, far, xtol=1e-12))
    values, codes = np.unique(scaled, return_inverse=True)
    chances: NDArray[np.float64] = np.bincount(codes, weights=weights(tilt)).astype(np.float64)
    return values * largest, chances


def signs_at(differences: ArrayLike, delta: float) -> tuple[float, float]:
    """The shares of pairs up and down of `tilted`.

    Raises:
        Undefined: as `tilted`.
    """
    values, chances = tilted(differences, delta)
    return float(chances[values > 0].sum()), float(chances[values < 0].sum())


def normal_signs_at(sd: float, delta: float) -> tuple[float, float]:
    """The shares of pairs up and down where differences are normal, with this sd and the mean |delta|.

    Raises:
        Undefined: "sd <= 0" or "non-finite value".
    """
    if finite(sd, "non-finite value") <= 0:
        raise Undefined("sd <= 0")
    up = NormalDist().cdf(abs(finite(delta, "non-finite value")) / sd)
    return up, 1 - up


def pairs_for_signs(up: float, down: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """The pairs at which the exact two-sided sign test rejects with chance `power`, of shares `up` and `down` of pairs.

    On 0/1 outcomes it is the exact McNemar test's. Found by bisection: the power of an exact test rises in steps, so
    that a few fewer may now and then do too.

    Source: the discordant pairs m are Binomial(n, up + down), the wins among them Binomial(m, up / (up + down)), and
    m with k of the rarer sign rejects where 2 P(X <= k) <= alpha, X ~ Binomial(m, 1/2). Beyond a million pairs it is
    Connor's formula (1987), ((z_(1 - alpha/2) sqrt(p) + z_power sqrt(p - d^2)) / d)^2 with p = up + down and
    d = up - down.

    Raises:
        Undefined: "no direction" where the shares are equal, or "non-finite value".
        ValueError: shares that are none, or not 0 < alpha < power < 1.
    """
    open_unit(alpha, "alpha")
    open_unit(power, "power")
    if alpha >= power:
        raise ValueError(f"power is {power} at alpha {alpha}; give a power above alpha")
    for share in (up, down):
        finite(share, "non-finite value")
    if min(up, down) < 0 or up + down > 1 + 1e-12:
        raise ValueError(f"shares are {up} and {down}; give shares of one whole")
    if up == down:
        raise Undefined("no direction")
    differing, gain, normal = min(1.0, up + down), up - down, NormalDist()
    spread = normal.inv_cdf(power) * math.sqrt(differing - gain**2) - normal.inv_cdf(alpha / 2) * math.sqrt(differing)
    by_formula = math.ceil(finite((spread / gain) ** 2))
    if by_formula > _EXACT_UP_TO:
        return by_formula
    return least_n(lambda n: sign_power(n, up, down, alpha) >= power, by_formula)


def sign_power(n: int, up: float, down: float, alpha: float = 0.05) -> float:
    """The chance that the exact sign test of `n` pairs rejects, of shares `up` and `down` of pairs."""
    from scipy.stats import binom  # 0.46 s at import

    differing = min(1.0, up + down)
    reach = _TAIL_SDS * math.sqrt(n * differing * (1 - differing)) + 1
    low, high = max(0, math.floor(n * differing - reach)), min(n, math.ceil(n * differing + reach))
    if high - low < _EACH_UP_TO:
        m = np.arange(low, high + 1)
        chances = binom.pmf(m, n, differing)
    else:
        m = binom.ppf((np.arange(_EACH_UP_TO) + 0.5) / _EACH_UP_TO, n, differing)
        chances = np.full(_EACH_UP_TO, 1 / _EACH_UP_TO)
    rarer = binom.ppf(alpha / 2, m, 0.5)
    rarer = np.where(2 * binom.cdf(rarer, m, 0.5) <= alpha, rarer, rarer - 1)  # the largest count that still rejects
    share = up / (up + down)
    rejects = binom.cdf(rarer, m, share) + binom.cdf(rarer, m, 1 - share)
    return float((chances * rejects).sum())
