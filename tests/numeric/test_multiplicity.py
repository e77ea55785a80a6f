"""The adjustments of Holm and of Benjamini and Hochberg."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from evalflow.numeric.multiplicity import benjamini_hochberg, holm, rejected

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
@pytest.mark.parametrize("function", [holm, benjamini_hochberg, rejected])
def test_what_is_no_p_is_refused(function, bad):
    """NaN neither counts in the family nor turns the others to NaN: it is refused."""
    with pytest.raises(ValueError, match="p-value"):
        function([0.01, bad, 0.5])


# --- the false discovery rate ---


def test_published_case_of_false_discoveries(cases):
    """Five p-values get the adjusted ones that two other implementations give (p19)."""
    case = cases["p19"]
    adjusted = benjamini_hochberg(case["input"]["p"])
    assert adjusted == pytest.approx(case["expected"]["bh"], abs=1e-12)
    assert rejected(adjusted, case["input"]["alpha"]) == case["expected"]["reject_bh"]


@pytest.mark.parametrize("seed", range(12))
def test_false_discoveries_agree_with_scipy_and_statsmodels(seed):
    """Families of 1 to 12, with ties among them, get the adjusted p-values of both."""
    p = np.round(np.random.default_rng(seed).uniform(size=seed + 1) ** 3, 2).tolist()
    adjusted = benjamini_hochberg(p)
    assert adjusted == pytest.approx(false_discovery_control(p).tolist(), rel=1e-12)
    assert adjusted == pytest.approx(multipletests(p, method="fdr_bh")[1].tolist(), rel=1e-12)


@given(st.lists(P, max_size=12), st.randoms())
def test_false_discoveries_are_milder_than_holm(p, random):
    """Between its p and Holm's, the adjusted p keeps the order of the family, whatever the order given."""
    adjusted = benjamini_hochberg(p)
    for before, after, strict in zip(p, adjusted, holm(p), strict=True):
        assert before * (1 - 1e-12) <= after <= strict * (1 + 1e-12)
    places = random.sample(range(len(p)), len(p))
    assert benjamini_hochberg([p[i] for i in places]) == [adjusted[i] for i in places]


def test_one_and_no_test_have_no_false_discoveries_to_share():
    """An empty family is empty, and a family of one is its p."""
    assert benjamini_hochberg([]) == []
    assert benjamini_hochberg([0.03]) == [0.03]


def test_at_alpha_is_rejected_but_for_rounding():
    """0.05 is rejected at 0.05, also where a product left it an ulp above, and 0.0500001 is not."""
    assert rejected([0.05, np.nextafter(0.05, 1), 0.0500001, 0.0, 1.0]) == [True, True, False, True, False]
    assert rejected([0.05, 0.2], 0.2) == [True, True]
    assert rejected([]) == []
    with pytest.raises(ValueError, match="alpha"):
        rejected([0.1], 5)
