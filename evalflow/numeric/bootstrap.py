"""The bootstrap: draws that depend on the seed alone, replicates, and percentile intervals.

Resample r of seed s is the same whatever the chunk, thread or order that it is drawn in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric import fast_bootstrap
from evalflow.numeric.cluster import Clusters, cluster_units
from evalflow.numeric.critical import tail
from evalflow.numeric.interval import Interval
from evalflow.numeric.moments import sample_sd
from evalflow.numeric.quantile import type7
from evalflow.numeric.undefined import Undefined, finite, finite_column

Statistic = Callable[[NDArray[np.int64]], float]
"""A figure of the units whose indices (n_units,) are given, drawn with replacement."""

_DRAWS_AT_ONCE = 1 << 16  # small enough for its few temporaries to stay in cache
_FAST_FROM = 1 << 28  # draws that take numpy a second: as long as it takes numba to start
_FEW = 8  # distinct values up to which the counts of each are drawn, not the units
_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio, odd: the step of SplitMix64
_WORD = (1 << 64) - 1


def resamples(n_units: int, seed: int, start: int, stop: int) -> NDArray[np.int64]:
    """Resamples start..stop - 1 of `seed`: indices (stop - start, n_units), each from 0 to n_units - 1.

    Every draw is a hash of (seed, resample, position) and of nothing else, so that pieces drawn apart are the
    pieces of the whole, on any machine and numpy version. Resample r is the SplitMix64 stream (Steele, Lea
    and Flood 2014) whose state is a hash of seed and r; each 64-bit output gives two draws, its halves h
    scaled as floor(h n / 2^32) (Lemire 2019, without the rejection). That makes some indices likelier than
    others by a share of less than n / 2^32: 2e-4 at a million units, beneath what resamples can show.

    Raises:
        ValueError: n_units outside 1..2^31, a seed outside 0..2^64 - 1, or not 0 <= start <= stop.
    """
    if not 1 <= n_units <= 1 << 31:
        raise ValueError(f"n_units is {n_units}; give 1 to 2^31")
    if not 0 <= start <= stop:
        raise ValueError(f"resamples {start} to {stop}; give 0 <= start <= stop")
    return draws(n_units, n_units, seed, start, stop)


def draws(n_draws: int, below: int, seed: int, start: int, stop: int) -> NDArray[np.int64]:
    """Rows start..stop - 1 of the draws that `resamples` makes: (stop - start, n_draws), each from 0 to below - 1.

    With `below` 2 they are tosses of a coin.
    """
    half = (n_draws + 1) // 2
    # arrays of uint64 wrap round silently, which is the arithmetic meant here
    streams = np.arange(start + 1, stop + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
    streams += np.uint64(_hash_seed(seed))
    _mix(streams)
    steps = np.arange(1, half + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
    words = streams[:, np.newaxis] + steps
    _mix(words)
    drawn = np.empty((stop - start, 2 * half), dtype=np.uint64)
    np.bitwise_and(words, np.uint64(0xFFFFFFFF), out=drawn[:, :half])
    np.right_shift(words, np.uint64(32), out=drawn[:, half:])
    drawn *= np.uint64(below)
    drawn >>= np.uint64(32)
    return drawn[:, :n_draws].view(np.int64)


def mean_replicates(
    values: ArrayLike, seed: int, n_resamples: int = 10_000, weights: ArrayLike | None = None
) -> NDArray[np.float64]:
    """The mean of each resample of the units `values` (N,): replicates (n_resamples,), in their unit.

    With `weights` (N,) it is sum w v / sum w, both sums over the units drawn: give cluster means and cluster
    sizes for the mean over rows of clusters of unequal size. Weights that are all equal are no weights.

    Where the values are few (accuracy differences: -1, 0, 1) it draws how often each occurs, which is the
    same law at a cost that does not grow with N; those draws are numpy's multinomial on a Philox generator
    keyed by the seed, and may change with numpy. Where the draws are hundreds of millions and numba is installed,
    the same units are drawn and summed by `fast_bootstrap`, in another order of addition.

    Raises:
        Undefined: "n < 2", "no rows", "non-finite value" or "non-finite result".
        ValueError: a weight not above 0, not one weight per value, n_resamples < 1, or a seed outside
            0..2^64 - 1.
    """
    column = finite_column(values)
    share = _checked_weights(weights, column.size)
    _check_counts(column.size, n_resamples)
    distinct, counts = np.unique(column, return_counts=True)
    with np.errstate(over="ignore", invalid="ignore"):
        if share is None and distinct.size <= _FEW:
            means = _mean_of_counts(distinct, counts, seed, n_resamples)
        else:
            means = _mean_of_units(column, share, seed, n_resamples)
    if not np.isfinite(means).all():
        raise Undefined("non-finite result")
    # a rounded sum can put a mean outside the range by one ulp: constant data would then not be constant
    return np.clip(means, distinct[0], distinct[-1])


def ratio_replicates(
    numerators: ArrayLike, denominators: ArrayLike, seed: int, n_resamples: int = 10_000
) -> NDArray[np.float64]:
    """The sum of `numerators` (N,) over the sum of `denominators` (N,) of each resample of units: (n_resamples,).

    Both sums are over the same units: edits over reference lengths, say, where a reference may be empty.

    Raises:
        Undefined: "n < 2", "no rows", "non-finite value", "non-finite result", or "a resample is undefined: the
            denominators sum to 0".
        ValueError: not as many of one as of the other, or a denominator below 0, or as `mean_replicates`.
    """
    above, below = checked_ratio(numerators, denominators)
    _check_counts(above.size, n_resamples)
    with np.errstate(over="ignore", invalid="ignore"):
        tops, bottoms = _sums_of_units((above, below), seed, n_resamples)
        if not (bottoms > 0).all():
            raise Undefined("a resample is undefined: the denominators sum to 0")
        ratios: NDArray[np.float64] = tops / bottoms
    if not np.isfinite(ratios).all():
        raise Undefined("non-finite result")
    return ratios


def given_replicates(values: ArrayLike, indices: ArrayLike) -> NDArray[np.float64]:
    """The mean of each of the resamples of `values` (N,) that `indices` (B, N) give, each from 0 to N - 1: (B,).

    For draws that were made elsewhere; `percentile_interval` and `bca.bca_interval` make intervals of the replicates.

    Raises:
        Undefined: "n < 2", "no rows", "non-finite value" or "non-finite result".
        ValueError: indices that are not B >= 1 rows of N integers, or one that is no unit's.
    """
    column = finite_column(values)
    try:
        drawn = np.asarray(indices)
    except ValueError:
        raise ValueError("resamples differ in length; give as many indices each as there are values") from None
    _check_counts(column.size, n_resamples=drawn.size)
    if drawn.ndim != 2 or drawn.shape[1] != column.size or drawn.dtype.kind not in "iu":
        raise ValueError(f"indices of shape {drawn.shape}; give rows of {column.size} integers, one row per resample")
    if drawn.min() < 0 or drawn.max() >= column.size:
        raise ValueError(f"indices run from {drawn.min()} to {drawn.max()}; give 0 to {column.size - 1}")
    with np.errstate(over="ignore", invalid="ignore"):
        means: NDArray[np.float64] = column[drawn].mean(axis=1)
    if not np.isfinite(means).all():
        raise Undefined("non-finite result")
    clipped: NDArray[np.float64] = np.clip(means, column.min(), column.max())
    return clipped


def bootstrap_se(values: ArrayLike, seed: int, n_resamples: int = 10_000, weights: ArrayLike | None = None) -> float:
    """The standard error of the (weighted) mean of independent units: the sd (ddof 1) of `mean_replicates`.

    It is not divided by the root of their number: more resamples make it no smaller, but steadier.

    Source: Efron 1979.

    Raises:
        Undefined: "zero variance" where all values are equal, or as `mean_replicates`.
        ValueError: as `mean_replicates`, or n_resamples < 2.
    """
    replicates = mean_replicates(values, seed, n_resamples, weights)
    if n_resamples < 2:
        raise ValueError("1 resample has no spread; give at least 2")
    if np.ptp(finite_column(values)) == 0:
        raise Undefined("zero variance")
    return sample_sd(replicates)


def bootstrap_mean(
    values: ArrayLike,
    seed: int,
    n_resamples: int = 10_000,
    level: float = 0.95,
    weights: ArrayLike | None = None,
) -> Interval:
    """The percentile interval of the (weighted) mean of independent units, from `mean_replicates`.

    Constant values give one point. On 0/1 data near the edge it covers too little: use `proportion`.

    Raises:
        Undefined: as `mean_replicates`.
        ValueError: as `mean_replicates`, or n_resamples < 2, or a level outside (0, 1).
    """
    return percentile_interval(mean_replicates(values, seed, n_resamples, weights), level)


def bootstrap_clusters(
    values: ArrayLike, clusters: Clusters, seed: int, n_resamples: int = 10_000, level: float = 0.95
) -> Interval:
    """The percentile interval of the mean of `values` (N,) whose rows depend on one another inside a cluster.

    Whole clusters are drawn, and each resample is the mean over the rows of those drawn. With few clusters it is too
    narrow: prefer `cluster.mean_interval` below some 30.

    Raises:
        Undefined: "fewer than 2 clusters", "no rows", "non-finite value" or "non-finite result".
        ValueError: not one cluster per value, or as `bootstrap_mean`.
    """
    means_g, sizes_g = cluster_units(values, clusters)
    return bootstrap_mean(means_g, seed, n_resamples, level, sizes_g)


def bootstrap_statistic(
    n_units: int, statistic: Statistic, seed: int, n_resamples: int = 10_000, level: float = 0.95
) -> Interval:
    """The percentile interval of any figure of `n_units` independent units, in its own unit.

    `statistic` gets the indices (n_units,) of one resample. No resample is skipped, since leaving out those
    without a value would shift the rest.

    Raises:
        Undefined: "n < 2", or "a resample is undefined: ..." where the statistic raised it or was not finite.
        ValueError: n_resamples < 2, a level outside (0, 1), or as `resamples`.
    """
    _check_counts(n_units, n_resamples)
    try:
        replicates = [
            finite(statistic(indices), "non-finite value")
            for chunk in _chunks(n_units, seed, n_resamples)
            for indices in chunk
        ]
    except Undefined as undefined:
        raise Undefined(f"a resample is undefined: {undefined.reason}") from undefined
    return percentile_interval(replicates, level)


def percentile_interval(estimates: ArrayLike, level: float = 0.95) -> Interval:
    """The middle `level` of the `estimates` (B,), in their unit: their type 7 quantiles at (1 -/+ level) / 2.

    Estimates that are all equal give one point, which is marked `degenerate`.

    Raises:
        Undefined: "no rows", "non-finite value" or "non-finite result".
        ValueError: fewer than 2 estimates, or a level outside (0, 1).
    """
    column = finite_column(estimates)
    alpha = tail(level)
    if column.size < 2:
        raise ValueError("1 resample has no percentiles; give at least 2")
    low, high = type7(column, alpha), type7(column, 1 - alpha)
    return Interval(low, high, level, "percentile bootstrap", degenerate=bool(column.min() == column.max()))


def _chunks(n_units: int, seed: int, n_resamples: int) -> Iterator[NDArray[np.int64]]:
    """All resamples in order, a bounded number of draws at a time (one resample at least)."""
    rows = max(1, _DRAWS_AT_ONCE // n_units)
    for start in range(0, n_resamples, rows):
        yield resamples(n_units, seed, start, min(start + rows, n_resamples))


def _mean_of_units(
    column: NDArray[np.float64], share: NDArray[np.float64] | None, seed: int, n_resamples: int
) -> NDArray[np.float64]:
    """Replicates (n_resamples,) from the units drawn."""
    if share is None:
        means: NDArray[np.float64] = _sums_of_units((column,), seed, n_resamples)[0] / column.size
        return means
    weighted, weight = _sums_of_units((column * share, share), seed, n_resamples)
    ratios: NDArray[np.float64] = weighted / weight
    return ratios


def _sums_of_units(columns: tuple[NDArray[np.float64], ...], seed: int, n_resamples: int) -> NDArray[np.float64]:
    """The sum of each of K `columns` (N,) over the units of each resample: (K, n_resamples)."""
    n_units = columns[0].size
    if n_units * n_resamples >= _FAST_FROM and fast_bootstrap.available():
        base = _hash_seed(seed)
        return np.stack([fast_bootstrap.drawn_sums(column, base, n_resamples) for column in columns])
    sums = np.empty((len(columns), n_resamples))
    done = 0
    for chunk in _chunks(n_units, seed, n_resamples):
        for column, into in zip(columns, sums, strict=True):
            np.sum(column.take(chunk), axis=1, out=into[done : done + len(chunk)])
        done += len(chunk)
    return sums


def _mean_of_counts(
    distinct: NDArray[np.float64], counts: NDArray[np.int64], seed: int, n_resamples: int
) -> NDArray[np.float64]:
    """Replicates (n_resamples,) from how often each distinct value (K,) is drawn."""
    n_units = int(counts.sum())
    generator = np.random.Generator(np.random.Philox(key=_hash_seed(seed)))
    drawn_bk = generator.multinomial(n_units, counts / n_units, size=n_resamples)
    means: NDArray[np.float64] = (drawn_bk * distinct).sum(axis=1) / n_units
    return means


def _checked_weights(weights: ArrayLike | None, n_units: int) -> NDArray[np.float64] | None:
    """Weights (N,), each above 0, or None where they make no difference."""
    if weights is None:
        return None
    share = finite_column(weights)
    if share.size != n_units:
        raise ValueError(f"{share.size} weights for {n_units} values; give one weight per value")
    if share.min() <= 0:
        raise ValueError(f"a weight is {share.min()}; leave out units without weight")
    return None if share.min() == share.max() else share


def checked_ratio(numerators: ArrayLike, denominators: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both columns (N,), of one length, no denominator below 0; errors as `ratio_replicates`."""
    above, below = finite_column(numerators), finite_column(denominators)
    if above.size != below.size:
        raise ValueError(f"{above.size} numerators for {below.size} denominators; give one per unit")
    if below.min() < 0:
        raise ValueError(f"a denominator is {below.min()}; give 0 or more")
    return above, below


def _check_counts(n_units: int, n_resamples: int) -> None:
    if n_units < 2:
        raise Undefined("n < 2")
    if n_resamples < 1:
        raise ValueError(f"n_resamples is {n_resamples}; give at least 1")


def _hash_seed(seed: int) -> int:
    """A well-mixed 64-bit number from `seed`, so that neighbouring seeds share no streams."""
    if not 0 <= seed <= _WORD:
        raise ValueError(f"seed is {seed}; give 0 to 2^64 - 1")
    word = np.array([seed], dtype=np.uint64) + np.uint64(_GOLDEN)
    _mix(word)
    return int(word[0])


def _mix(words: NDArray[np.uint64]) -> None:
    """SplitMix64's finaliser, in place: every input bit moves every output bit about half the time."""
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
