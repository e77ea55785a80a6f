"""Holm's adjustment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from evalflow.numeric.multiplicity import holm

P = st.floats(0, 1)


def test_published_case(cases):
    """Five p-values get the adjusted ones that two other implementations give (p19)."""
    case = cases["p19"]
    adjusted = holm(case["input"]["p"])
    assert adjusted == pytest.approx(case["expected"]["holm"], abs=1e-12)
    assert [p <= 0.05 for p in adjusted] == case["expected"]["reject_holm"]


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_statsmodels(seed):
    """Families of 1 to 12, with ties among them, get the adjusted p-values of statsmodels."""
    p = np.round(np.random.default_rng(seed).uniform(size=seed + 1) ** 3, 2).tolist()
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1].tolist(), rel=1e-12)


@given(st.lists(P, max_size=12))
def test_adjusting_keeps_order_and_never_helps(p):
    """An adjusted p is at least its p and at most 1, and the order of the family stays."""
    adjusted = holm(p)
    assert all(before <= after <= 1 for before, after in zip(p, adjusted, strict=True))
    by_p = [after for _, after in sorted(zip(p, adjusted, strict=True))]
    assert by_p == sorted(by_p)


def test_no_tests_need_no_adjusting():
    """An empty family is empty, and a family of one is its p."""
    assert holm([]) == []
    assert holm([0.03]) == [0.03]


@pytest.mark.parametrize("bad", [float("nan"), -0.1, 1.5])
def test_what_is_no_p_is_refused(bad):
    """NaN neither counts in the family nor turns the others to NaN: it is refused."""
    with pytest.raises(ValueError, match="p-value"):
        holm([0.01, bad, 0.5])
