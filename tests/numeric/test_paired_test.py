"""One door to the tests of a paired comparison."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evalflow.numeric.paired_test import paired_p
from evalflow.numeric.undefined import Undefined

D = np.array([0.3, -0.1, 0.25, 0.4, 0.05, -0.02, 0.6, 0.15, 0.2, -0.3])


def test_each_kind_is_its_own_test() -> None:
    """Against scipy: binomial of signs, signed ranks, t, and every one of the 2^10 flips."""
    flips = stats.permutation_test((D,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue
    assert paired_p("sign", D, 0) == pytest.approx(stats.binomtest(3, 10).pvalue)
    assert paired_p("wilcoxon", D, 0) == pytest.approx(stats.wilcoxon(D).pvalue, rel=0.05)
    assert paired_p("t", D, 0) == pytest.approx(stats.ttest_1samp(D, 0).pvalue)
    assert paired_p("permutation", D, 0) == pytest.approx(flips)


@pytest.mark.parametrize("kind", ["sign", "permutation", "wilcoxon", "t"])
def test_arms_that_never_differ_have_p_1(kind: str) -> None:
    """Nothing speaks against chance where every difference is 0."""
    assert paired_p(kind, np.zeros(5), 0) == 1.0  # type: ignore[arg-type]


def test_a_t_of_what_does_not_vary_is_undefined() -> None:
    """One and the same gain everywhere has no t."""
    with pytest.raises(Undefined, match="zero variance"):
        paired_p("t", np.full(5, 0.5), 0)
