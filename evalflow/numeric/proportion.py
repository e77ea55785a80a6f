"""Proportions: intervals that keep their width at 0 and at 1, and that know of clusters."""

from __future__ import annotations

import math
from dataclasses import replace
from operator import index

import numpy as np
from numpy.typing import ArrayLike

from evalflow.numeric.cluster import Clusters, cluster_codes, interval_se
from evalflow.numeric.critical import normal_critical, open_unit, t_critical, tail
from evalflow.numeric.interval import Interval
from evalflow.numeric.moments import mean
from evalflow.numeric.undefined import Undefined, finite, finite_column


def wilson(successes: float, n: float, level: float = 0.95, critical: float | None = None) -> Interval:
    """Wilson's score interval of a proportion, without continuity correction.

    Both counts may be fractional, for effective sample sizes. `critical` stands in for the normal quantile of
    `level`, where the variance was estimated. The low end is exactly 0 at no success, the high end exactly 1
    at `n`.

    Source: the p for which |successes - n p| = c sqrt(n p (1 - p)) (Wilson 1927), that is, with s =
    successes, (2 s + c^2 -/+ c sqrt(c^2 + 4 s (n - s) / n)) / (2 (n + c^2)); the low end is computed as the
    product of the two roots over the high one, which does not cancel.

    Raises:
        Undefined: "no rows" where n is 0, or "non-finite value".
        ValueError: successes outside 0..n, critical not above 0, or a level outside (0, 1).
    """
    c = normal_critical(level) if critical is None else critical
    finite(c, "non-finite value")
    _check_counts(successes, n)
    if c <= 0:
        raise ValueError(f"critical is {c}; give a number above 0")
    rate = successes / n
    larger_root = 2 * successes + c * c + c * math.sqrt(c * c + 4 * successes * ((n - successes) / n))
    low = 2 * successes * rate / larger_root
    high = larger_root / (2 * (n + c * c))
    # rounding may put an end an ulp beyond the rate, or beyond 1; at `n` this makes the high end exactly 1
    return Interval(min(low, rate), min(max(high, rate), 1.0), level, "wilson")


def proportion(successes: float, n: float) -> float:
    """Successes over `n`, of counts that may be fractional.

    Raises:
        Undefined: "no rows" where n is 0, or "non-finite value".
        ValueError: successes outside 0..n.
    """
    _check_counts(successes, n)
    return float(successes / n)


def proportion_se(successes: float, n: float) -> float:
    """The standard error of a proportion of independent rows: sqrt(p (1 - p) / n).

    At 0 or `n` successes that formula says 0 of however few rows; there is then no standard error to be had from the
    data, and an interval is what there is to give.

    Raises:
        Undefined: "all rows alike" at 0 or n successes, or as `proportion`.
        ValueError: as `proportion`.
    """
    rate = proportion(successes, n)
    if rate in (0.0, 1.0):
        raise Undefined("all rows alike")
    return math.sqrt(rate * (1 - rate) / n)


def normal_interval(successes: float, n: float, level: float = 0.95) -> Interval:
    """The textbook's interval of a proportion, p +/- z `proportion_se`, cut at 0 and 1; for comparison with others'.

    It covers too little near the edge: at rate 0.97 and n 60, 84 % where it says 95 (`wilson` 97 %). At 0 or `n`
    successes it has no width, and is marked `degenerate`.

    Source: Wald's interval (Laplace 1812). Method "normal".

    Raises:
        Undefined: as `proportion`.
        ValueError: as `proportion`, or a level outside (0, 1).
    """
    critical, rate = normal_critical(level), proportion(successes, n)
    if rate in (0.0, 1.0):
        return Interval(rate, rate, level, "normal", degenerate=True)
    reach = critical * proportion_se(successes, n)
    return Interval(max(0.0, rate - reach), min(1.0, rate + reach), level, "normal")


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval:
    """The exact interval of a proportion: it never covers less than `level`, and is wider for it.

    Source: the rates at which `successes` or more, and `successes` or fewer, have probability (1 - level) / 2
    (Clopper and Pearson 1934), as beta quantiles.

    Raises:
        Undefined: "no rows" where n is 0.
        ValueError: successes outside 0..n, or a level outside (0, 1).
        TypeError: a count that is no integer.
    """
    from scipy.special import betainccinv, betaincinv  # 0.27 s at import

    k, total, alpha = index(successes), index(n), tail(level)
    _check_counts(k, total)
    low = 0.0 if k == 0 else float(betaincinv(k, total - k + 1, alpha))
    high = 1.0 if k == total else float(betainccinv(k + 1, total - k, alpha))
    return Interval(low, high, level, "clopper-pearson")


def rate_bound(successes: float, n: float, level: float = 0.95) -> float:
    """The high end of `clopper_pearson`, for fractional counts too: `tail(level)` is left beyond it.

    For a sum of n values from 0 to 1 in place of a count it is wider than it need be, as nothing in 0..1 varies more
    than 0 and 1 do. At none it is `zero_event_bound` at 1 - `tail(level)`.

    Raises:
        Undefined: "no rows" where n <= 0, or "non-finite value".
        ValueError: successes outside 0..n (but for rounding), or a level outside (0, 1).
    """
    from scipy.special import betainccinv  # 0.27 s at import

    alpha = tail(level)
    if finite(n, "non-finite value") <= 0:
        raise Undefined("no rows")
    count = finite(successes, "non-finite value")
    if not 0 <= count <= n * (1 + 1e-12):
        raise ValueError(f"{successes} successes of {n}; give a count from 0 to n")
    if count >= n * (1 - 1e-12):
        return 1.0
    return zero_event_bound(n, 1 - alpha) if count == 0 else float(betainccinv(count + 1, n - count, alpha))


def rate_interval(values: ArrayLike, clusters: Clusters, level: float = 0.95) -> Interval:
    """The interval of the mean of `values` (N,), each from 0 to 1 (right or wrong, or a mean over seeds).

    One row per cluster and nothing but 0 and 1: plain Wilson, method "wilson". Otherwise Wilson on an
    effective sample size, method "wilson, clustered": with p the mean, se its `interval_se` (CR1 where clusters
    are of one size) and G_eff its effective clusters (Kish's),

    - p inside (0, 1): n_eff = p (1 - p) / se^2, the number of independent rows that would have this standard
      error (Kish's design effect, as Korn and Graubard 1998 use it), with the t quantile of G_eff - 1 degrees of
      freedom, since se is an estimate from the clusters' totals. It is capped at N: totals that agree by luck, even
      to a standard error of 0, cannot make the rows worth more than independent ones.
    - p = 0 or 1, or all that keeps it from the nearer of the two lies in one cluster: dependence cannot be
      estimated, since it shows only between clusters that differ. Each effective cluster then counts as one
      observation, n_eff = G_eff, and the normal quantile serves, as no variance was estimated: at the edge it is
      what plain Wilson says of G_eff rows, and one wrong answer more cannot raise the low end.

    Simulated at level 0.95, rates .5 and .9, beta-binomial within a cluster at correlation .05, .5 and .9, with 10, 20
    or 60 clusters of sizes 1 to 6, of 1 or 3 with one of 40, or a fifth of 20 and the rest 1: it covers in .95-1.00
    of samples, or is undefined (one of 40 among 9 single rows). CR1 with t(G - 1) covered .27-.97.

    Raises:
        Undefined: "no rows", "non-finite value", "fewer than 2 clusters" (but one row of 0 or 1 has plain
            Wilson) or "fewer than 2 effective clusters".
        ValueError: a value outside 0..1, not one cluster per value, or a level outside (0, 1).
    """
    column = finite_column(values)
    if column.min() < 0 or column.max() > 1:
        raise ValueError(f"values run from {column.min()} to {column.max()}; give rates from 0 to 1")
    names, codes = cluster_codes(clusters, column.size)
    if len(names) == column.size and np.isin(column, (0.0, 1.0)).all():
        return wilson(float(column.sum()), column.size, level)
    se, effective = interval_se(column, clusters)
    rate = mean(column)
    dissenting = np.unique(codes[column != round(rate)])
    if dissenting.size < 2:
        size, critical = effective, normal_critical(level)
    else:
        size, critical = _effective_size(rate, se, column.size), t_critical(level, effective - 1)
    return replace(wilson(rate * size, size, level, critical), method="wilson, clustered")


def zero_event_bound(n: float, level: float = 0.95) -> float:
    """The highest rate at which none in `n` independent trials is not yet surprising: one-sided, exact.

    Source: the p with (1 - p)^n = 1 - level, hence 1 - (1 - level)^(1/n); 3/n is its mnemonic at 0.95.

    Raises:
        Undefined: "no rows" where n <= 0, or "non-finite value".
        ValueError: a level outside (0, 1).
    """
    open_unit(level, "level")
    if finite(n, "non-finite value") <= 0:
        raise Undefined("no rows")
    return -math.expm1(math.log1p(-level) / n)


def rule_of_three(n: float) -> float:
    """The mnemonic of `zero_event_bound` at 0.95: 3 / n, which is above it, and no rate below n = 3.

    Raises:
        Undefined: "no rows" where n <= 0, or "non-finite value".
    """
    if finite(n, "non-finite value") <= 0:
        raise Undefined("no rows")
    return float(3 / n)


def _check_counts(successes: float, n: float) -> None:
    """More successes than rows are a mistake, without rows too; none of none is a proportion that does not exist."""
    for number in (successes, n):
        finite(number, "non-finite value")
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}; give a count from 0 to n")
    if n == 0:
        raise Undefined("no rows")


def _effective_size(rate: float, se: float, n_rows: int) -> float:
    """rate (1 - rate) / se^2, at most the number of rows."""
    spread = math.sqrt(rate * (1 - rate))
    if se <= spread / math.sqrt(n_rows):  # no larger than independent rows would have; it may be 0
        return float(n_rows)
    return (spread / se) ** 2
