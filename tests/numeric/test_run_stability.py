"""Stability over runs: by hand, beside numpy and jiwer."""

from itertools import combinations

import jiwer
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalflow.numeric.run_stability import jaccard_distance, run_stability
from evalflow.numeric.text_profile import TextProfile
from evalflow.numeric.undefined import Undefined

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=6).map(" ".join)


def test_jaccard_by_hand():
    """Two of four words in common; order and counts are not seen."""
    assert jaccard_distance("the cat sat", "the cat sits") == 0.5
    assert jaccard_distance("a b", "b a a") == 0.0
    assert jaccard_distance("", " ") == 0.0
    assert jaccard_distance("", "a") == 1.0
    assert jaccard_distance("a\u00a0b", "a b") == 0.0


@given(TEXTS, TEXTS, TEXTS)
def test_jaccard_is_a_distance_of_sets(a, b, c):
    """From 0 to 1, symmetric, and never longer than by way of a third."""
    assert 0.0 <= jaccard_distance(a, b) == jaccard_distance(b, a) <= 1.0
    assert jaccard_distance(a, c) <= jaccard_distance(a, b) + jaccard_distance(b, c) + 1e-15


@given(st.lists(TEXTS, min_size=2, max_size=5), TEXTS.filter(bool))
def test_figures_are_those_of_numpy_and_jiwer(texts, reference):
    """Means, maxima, shares and spreads over all pairs and all runs."""
    found = run_stability(texts, reference)
    pairs = list(combinations(texts, 2))
    apart = [1 - len({*a.split()} & {*b.split()}) / max(1, len({*a.split(), *b.split()})) for a, b in pairs]
    apart = [0.0 if not a.split() and not b.split() else d for d, (a, b) in zip(apart, pairs, strict=True)]
    assert found.disagreement_mean == pytest.approx(np.mean(apart), abs=1e-12)
    assert found.disagreement_max == pytest.approx(max(apart), abs=1e-12)
    assert found.identical_pair_rate == pytest.approx(np.mean([a == b for a, b in pairs]), abs=1e-12)
    assert (found.n_runs, found.n_distinct) == (len(texts), len(set(texts)))
    rates = [jiwer.cer(reference, text) for text in texts]
    assert [run.rate for run in found.against_reference] == pytest.approx(rates, abs=1e-12)
    assert found.error_rate_mean == pytest.approx(np.mean(rates), abs=1e-12)
    assert found.error_rate_sd == pytest.approx(np.std(rates, ddof=1), abs=1e-12)


def test_what_jaccard_cannot_see_is_in_the_pairwise_error_rate():
    """The same words in another order: distance 0, and an error rate of 2 edits in 3 characters each way."""
    found = run_stability(["a b", "b a"])
    assert (found.disagreement_max, found.identical_pair_rate) == (0.0, 0.0)
    assert found.pairwise_error_rate == 2 / 3


def test_the_pairwise_error_rate_by_hand():
    """abcd and abc: one edit of 4 and one of 3, pooled 2 of 7; with an empty run 2; of two empty ones 0."""
    assert run_stability(["abcd", "abc"]).pairwise_error_rate == 2 / 7
    assert run_stability(["abcd", ""]).pairwise_error_rate == 2.0
    assert run_stability(["", ""]).pairwise_error_rate == 0.0
    assert run_stability(["a b", "a c"], unit="word").pairwise_error_rate == 0.5


def test_texts_are_brought_to_the_profile_first():
    """Spellings that the profile evens out are one output."""
    decomposed = ["caf\u00e9", "cafe\u0301"]
    assert run_stability(decomposed).n_distinct == 1
    assert run_stability(decomposed, profile=TextProfile(None)).n_distinct == 2
    assert run_stability(["A", "a"], "a", profile=TextProfile(casefold=True)).error_rate_mean == 0.0


def test_one_run_and_none():
    """Pairs need two runs, a spread needs two, a mean needs one."""
    alone, none = run_stability(["x"], "x"), run_stability([], "x")
    for name in ("disagreement_mean", "disagreement_max", "identical_pair_rate", "pairwise_error_rate"):
        for found in (alone, none):
            with pytest.raises(Undefined, match="fewer than 2 runs"):
                getattr(found, name)
    assert alone.error_rate_mean == 0.0
    with pytest.raises(Undefined, match="n < 2"):
        alone.error_rate_sd  # noqa: B018 - reading it is the test
    with pytest.raises(Undefined, match="no rows"):
        none.error_rate_mean  # noqa: B018 - reading it is the test


def test_no_reference_and_an_empty_one():
    """Missing is not empty: without a reference there is no rate, beside an empty one only of empty runs."""
    with pytest.raises(Undefined, match="no reference"):
        run_stability(["x", "y"]).error_rate_mean  # noqa: B018 - reading it is the test
    assert run_stability(["", ""], "").error_rate_mean == 0.0
    with pytest.raises(Undefined, match="empty reference"):
        run_stability(["", "x"], "").error_rate_mean  # noqa: B018 - reading it is the test


def test_cv_by_hand():
    """Rates 0 and 1: sd sqrt(1/2), mean 1/2. About a mean of 0 there is none."""
    assert run_stability(["a", "b"], "a").error_rate_cv == pytest.approx(2**0.5, rel=1e-15)
    with pytest.raises(Undefined, match="the mean is 0"):
        run_stability(["a", "a"], "a").error_rate_cv  # noqa: B018 - reading it is the test


def test_what_is_no_text_or_unit_is_refused():
    """A failed run is not an empty one; a unit is checked with or without a reference."""
    with pytest.raises(TypeError, match="None is no text"):
        run_stability(["a", None])
    with pytest.raises(TypeError, match="the runs are one text"):
        run_stability("abc")
    for reference in ("a", None):
        with pytest.raises(ValueError, match="unit is 'line'"):
            run_stability([], reference, unit="line")
