"""The figures that llama.cpp's `llama-perplexity --kl-divergence` prints of two arms, from their token NLL."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalflow.numeric.interval import Interval
from evalflow.numeric.mergeable import CrossMoments, Moments
from evalflow.numeric.paired import differences
from evalflow.numeric.perplexity import exp_mean
from evalflow.numeric.proportion import wilson
from evalflow.numeric.undefined import Undefined, finite, finite_column, floats
from evalflow.numeric.value import Value, told


@dataclass(frozen=True)
class RatioReport:
    """Figures of a model against a base, in nats; each `se` is as if tokens did not depend on one another.

    Why one has no value: "no rows", "n < 2", or "zero variance".
    """

    ln_ppl_ratio: Value
    """The mean difference of NLL, model - base."""
    ln_ppl_ratio_se: Value
    ppl_ratio: Value
    ppl_ratio_se: Value
    correlation: Value
    """Pearson's, of the two NLL."""
    mean_dp: Value
    """Of p(target) under the model less that under the base."""
    rms_dp: Value
    same_top_p: Value
    same_top_p_se: Value
    """Wald's, 0 where all agree or none does: the interval is what to read."""
    same_top_interval: Interval | Undefined
    """Wilson's, at 0.95."""


def ratio_report(nll: ArrayLike, nll_base: ArrayLike, same_top: ArrayLike) -> RatioReport:
    """The report of `nll` (N,) against `nll_base` (N,), and of where both have one likeliest token (N,), 1 or 0.

    Source: the standard error of ln(ppl / ppl_base), sqrt(var a + var b - 2 cov) there, is sd(a - b) / sqrt(N), ddof 1;
    that of the ratio is the ratio times it, and that of a share p sqrt(p (1 - p) / (N - 1)).

    Raises:
        Undefined: "non-finite value".
        ValueError: unequal lengths, no numbers, or a same_top other than 0 and 1.
    """
    own, base, same = (floats(values) for values in (nll, nll_base, same_top))
    if not own.shape == base.shape == same.shape:
        raise ValueError(
            f"{own.size} NLL, {base.size} of the base and {same.size} same_top; give one of each per token"
        )
    if not np.isin(same, (0, 1)).all():
        raise ValueError("same_top has other numbers than 0 and 1; give 1 where both have one likeliest token")
    n = own.size
    dnll = Moments.of(differences(base, own)) if n else Moments()
    with np.errstate(over="ignore", invalid="ignore"):  # of NLL far below 0, which are of no probability
        dp = Moments.of(np.exp(-finite_column(own)) - np.exp(-finite_column(base))) if n else Moments()
    same_top_p = told(Moments.of(same).average)
    return RatioReport(
        ln_ppl_ratio=told(dnll.average),
        ln_ppl_ratio_se=told(lambda: _se(dnll)),
        ppl_ratio=told(lambda: exp_mean(dnll.average())),
        ppl_ratio_se=told(lambda: finite(exp_mean(dnll.average()) * _se(dnll))),
        correlation=told(CrossMoments.of(own, base).correlation),
        mean_dp=told(dp.average),
        rms_dp=told(dp.root_mean_square),
        same_top_p=same_top_p,
        same_top_p_se=told(lambda: _share_se(same_top_p, n)),
        same_top_interval=told(lambda: wilson(float(same.sum()), n)),
    )


def _se(dnll: Moments) -> float:
    if not dnll.count:
        raise Undefined("no rows")
    return dnll.sd() / math.sqrt(dnll.count)


def _share_se(share: Value, n: int) -> float:
    if isinstance(share, Undefined):
        raise share
    if n < 2:
        raise Undefined("n < 2")
    return math.sqrt(share * (1 - share) / (n - 1))
