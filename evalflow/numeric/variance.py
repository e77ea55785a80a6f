"""Where the spread of a mean comes from, and how far off a small sample's may be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import index

import numpy as np
from numpy.typing import ArrayLike

from evalflow.numeric.cluster import Clusters, cluster_codes
from evalflow.numeric.critical import open_unit
from evalflow.numeric.moments import mean, sample_sd
from evalflow.numeric.undefined import Undefined, finite, finite_column, floats


@dataclass(frozen=True)
class Components:
    """The variance between units, and what a single pass over a unit adds to it, in the square of their unit."""

    between: float
    within: float

    def sd(self, passes: int) -> float:
        """The standard deviation of a unit's mean over so many passes: sqrt(between + within / passes).

        Raises:
            ValueError: fewer than one.
            TypeError: no integer.
        """
        if index(passes) < 1:
            raise ValueError(f"passes is {passes}; give at least 1")
        return math.sqrt(self.between + self.within / passes)


def components(means: ArrayLike, noise: float, within: float) -> Components:
    """What lies between units, of which only means over some passes are known.

    `means` (G,) are the units', `noise` is the variance that finite passes gave such a mean on average, and `within`
    the variance that one pass would give it.

    Source: one-way random effects by the method of moments: Var(means) estimates between + noise; where it is less
    than the noise, between is taken to be 0 (Searle, Casella and McCulloch 1992).

    Raises:
        Undefined: "n < 2", "no rows", "non-finite value" or "non-finite result".
        ValueError: a variance below 0.
    """
    for number in (noise, within):
        if finite(number, "non-finite value") < 0:
            raise ValueError(f"a variance is {number}; give 0 or more")
    return Components(max(0.0, finite(sample_sd(means) ** 2) - noise), within)


def pass_variance(passes: ArrayLike, clusters: Clusters) -> float:
    """The variance that a single pass gives a cluster's mean, averaged over clusters.

    `passes` (N, K) are N rows' values in K passes each, `clusters` (N,) what each row belongs to. Passes of different
    rows are independent: a cluster of m rows has the sum of its rows' variances (ddof 1) over m^2.

    Raises:
        Undefined: "fewer than 2 passes", "no rows", "non-finite value" or "non-finite result".
        ValueError: not two-dimensional, or not one cluster per row.
    """
    table = floats(passes)
    if table.ndim != 2:
        raise ValueError(f"passes have shape {table.shape}; give rows by passes")
    if table.shape[0] and table.shape[1] < 2:
        raise Undefined("fewer than 2 passes")
    names, codes = cluster_codes(clusters, len(table))
    of_rows = finite_column([sample_sd(row) ** 2 for row in table])
    totals, sizes = (np.bincount(codes, weights=weights, minlength=len(names)) for weights in (of_rows, None))
    return mean(totals / sizes**2)


def sd_upper(sd: float, n: int, confidence: float = 0.8) -> float:
    """What the true standard deviation is under with this confidence, where `n` values showed `sd` (ddof 1).

    Source: sd sqrt((n - 1) / chi2_(1 - confidence)(n - 1)), the upper limit of a normal sample's. A sample size that
    is planned with it has at least the power wanted in that share of pilots (Browne 1995).

    Raises:
        Undefined: "n < 2", "sd <= 0" or "non-finite value".
        ValueError: confidence outside (0, 1).
        TypeError: n is no integer.
    """
    from scipy.stats import chi2  # 0.46 s at import

    open_unit(confidence, "confidence")
    if index(n) < 2:
        raise Undefined("n < 2")
    if finite(sd, "non-finite value") <= 0:
        raise Undefined("sd <= 0")
    return finite(sd * math.sqrt((n - 1) / float(chi2.ppf(1 - confidence, n - 1))))


def design_effect(se: float, values: ArrayLike) -> float:
    """How many rows as dependent as these are worth one independent row: the square of `se` over the naive error.

    `se` is the standard error of the mean of `values` (N,) that allows for their dependence (Kish 1965).

    Raises:
        Undefined: "zero variance", "n < 2", "no rows" or "non-finite value".
    """
    column = finite_column(values)
    naive = sample_sd(column) / math.sqrt(column.size)
    if naive == 0:
        raise Undefined("zero variance")
    return (finite(se, "non-finite value") / naive) ** 2
