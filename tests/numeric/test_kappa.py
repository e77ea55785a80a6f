"""Cohen's kappa: by hand, beside sklearn, and as documents add up."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from evalflow.numeric.kappa import (
    agreement_of_marginals,
    agreement_rate,
    cohen_kappa,
    kappa_of_counts,
    kappa_of_marginals,
    kappa_of_tables,
    marginals,
    pair_counts,
)
from evalflow.numeric.labels import label_set
from evalflow.numeric.undefined import Undefined

ORDER = ("a", "b", "c", "d")
PAIRS = st.lists(st.tuples(st.sampled_from(ORDER), st.sampled_from(ORDER)), min_size=1, max_size=40)
WEIGHTS = ("none", "linear", "quadratic")


def columns(pairs):
    a, b = zip(*pairs, strict=True)
    assume(len(set(a) | set(b)) > 1)
    return list(a), list(b)


@given(PAIRS)
def test_kappa_is_sklearns(pairs):
    """Plain, linear and quadratic, with labels that may not occur."""
    a, b = columns(pairs)
    for weights in WEIGHTS:
        peer = cohen_kappa_score(a, b, labels=list(ORDER), weights=None if weights == "none" else weights)
        assert cohen_kappa(a, b, weights, ORDER) == pytest.approx(peer, abs=1e-12)


def test_kappa_by_hand():
    """20, 5, 10, 15 of 50: agreement 0.7, chance 0.5, kappa 0.4 exactly."""
    assert kappa_of_counts([[20, 5], [10, 15]]) == 0.4
    assert kappa_of_marginals([35, 25, 25, 30, 20]) == 0.4
    assert agreement_of_marginals([35, 25, 25, 30, 20]) == 0.7


@given(PAIRS)
def test_kappa_is_symmetric_and_bounded(pairs):
    """Either rater may come first; no kappa is above 1; the order of rows moves no digit."""
    a, b = columns(pairs)
    for weights in WEIGHTS:
        kappa = cohen_kappa(a, b, weights, ORDER)
        assert kappa <= 1.0
        assert kappa == cohen_kappa(b, a, weights, ORDER) == cohen_kappa(a[::-1], b[::-1], weights, ORDER)
    assert (cohen_kappa(a, b) == 1.0) == (a == b)


@given(PAIRS, st.permutations(ORDER))
def test_names_do_not_matter_to_plain_kappa(pairs, names):
    """Labels renamed, kappa is the same to the last digit; weights survive a reversed order."""
    a, b = columns(pairs)
    renamed = dict(zip(ORDER, names, strict=True))
    assert cohen_kappa(a, b) == cohen_kappa([renamed[x] for x in a], [renamed[x] for x in b])
    assert cohen_kappa(a, b, "linear", ORDER) == cohen_kappa(a, b, "linear", ORDER[::-1])


@given(st.lists(PAIRS, min_size=1, max_size=4))
def test_documents_add_up(documents):
    """The sum of the documents' counts gives the kappa of all pairs together, either way."""
    labels = label_set([], ORDER)
    a, b = columns([pair for document in documents for pair in document])
    parts = [list(zip(*document, strict=True)) for document in documents]
    sums = sum(marginals(*part, labels) for part in parts)
    table = sum(pair_counts(*part, labels) for part in parts)
    assert kappa_of_marginals(sums) == kappa_of_counts(table) == cohen_kappa(a, b)
    assert kappa_of_counts(table, "quadratic") == cohen_kappa(a, b, "quadratic", ORDER)
    assert agreement_of_marginals(sums) == agreement_rate(a, b)


def test_labels_that_chance_alone_would_give_are_at_0():
    """Independent margins: kappa is 0 exactly."""
    assert kappa_of_counts([[4, 2], [2, 1]]) == 0.0


def test_one_constant_rater_is_not_the_undefined_case():
    """Different constants have agreement 0 and kappa 0; the same constant has no kappa unless asked for."""
    assert cohen_kappa(["x", "x"], ["y", "y"]) == 0.0
    for weights in WEIGHTS:
        with pytest.raises(Undefined, match="chance agreement is 1"):
            cohen_kappa([3, 3], [3, 3], weights)
        assert cohen_kappa([3, 3], [3, 3], weights, constant_is_one=True) == 1.0
    assert agreement_rate([3, 3], [3, 3]) == 1.0


def test_no_pairs_have_no_kappa():
    """Nor an agreement."""
    for figure in (lambda: cohen_kappa([], []), lambda: agreement_rate([], []), lambda: cohen_kappa([], [], "linear")):
        with pytest.raises(Undefined, match="no pairs"):
            figure()


def test_weights_need_an_order():
    """Names have none unless it is stated; numbers do, by the places of those that occur."""
    with pytest.raises(Undefined, match="the labels have no order"):
        cohen_kappa(["a", "b"], ["a", "a"], "linear")
    a, b = [1, 2, 10, 10], [1, 10, 10, 2]
    assert cohen_kappa(a, b, "linear") == pytest.approx(cohen_kappa_score(a, b, weights="linear"), abs=1e-15)


def test_counts_are_exact_where_floats_are_not():
    """Twenty million million pairs: the kappa is the nearest float to the exact fraction."""
    big = 10**13
    counts = [[big, 1], [2, big]]
    n, agreed = 2 * big + 3, 2 * big
    chance = (big + 1) * (big + 2) + (big + 2) * (big + 1)
    assert kappa_of_counts(counts) == float(Fraction(n * agreed - chance, n * n - chance))
    assert kappa_of_counts(np.array(counts, dtype=float), "linear") == kappa_of_counts(counts)


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: cohen_kappa(["a"], ["a", "b"]), "1 labels beside 2"),
        (lambda: cohen_kappa(["a"], [None]), "a label is None"),
        (lambda: cohen_kappa(["a"], ["b"], order=["a"]), "'b' is not in the stated order"),
        (lambda: cohen_kappa(["a"], ["b"], "cubic", ["a", "b"]), "weights is 'cubic'; choose none, linear, quadratic"),
        (lambda: kappa_of_counts([[1, 2]]), r"shape \(1, 2\)"),
        (lambda: kappa_of_counts([[1, -1], [0, 1]]), "below 0"),
        (lambda: kappa_of_counts([[1, 0.5], [0, 1]]), "not whole"),
        (lambda: kappa_of_counts([[float("nan"), 0], [0, 1]]), "not whole"),
        (lambda: kappa_of_marginals([1, 2, 3]), "no marginals"),
        (lambda: kappa_of_marginals([3, 1, 1, 1, 1]), "no marginals"),
    ],
)
def test_what_is_no_agreement_is_refused(refused, message):
    """Unequal lists, missing labels, labels outside the order, and counts that are none."""
    with pytest.raises(ValueError, match=message):
        refused()


@pytest.mark.parametrize("function", [agreement_rate, cohen_kappa])
def test_a_text_is_no_list_of_labels(function):
    """Its letters are no labels that anyone gave."""
    for a, b in (("ab", "ab"), ("ab", ["a", "b"]), (["a", "b"], "ab")):
        with pytest.raises(TypeError, match="give a list of labels"):
            function(a, b)


def test_several_tables_add_up_what_is_seen_and_what_is_expected() -> None:
    """Two pairs by hand: 1 of 4 differ where 2 would, and 1 of 2 where 1 would: 1 - 2 / 3. One table is Cohen's."""
    first, second = [[2, 0], [1, 1]], [[1, 0], [1, 0]]
    seen, expected = 1 + 1, (2 * 1 + 2 * 3) / 4 + (1 * 0 + 1 * 2) / 2
    assert kappa_of_tables([first, second]) == pytest.approx(1 - seen / expected)
    assert kappa_of_tables([first], "quadratic") == pytest.approx(kappa_of_counts(first, "quadratic"))


def test_a_pair_that_has_no_kappa_of_its_own_adds_nothing() -> None:
    """Two who only ever said one thing, or who rated nothing together; of such pairs alone there is none."""
    first, constant, nothing = [[2, 0], [1, 1]], [[5, 0], [0, 0]], [[0, 0], [0, 0]]
    assert kappa_of_tables([first, constant, nothing]) == kappa_of_counts(first)
    with pytest.raises(Undefined, match=r"^chance agreement is 1$"):
        kappa_of_tables([constant, nothing])
    with pytest.raises(Undefined, match=r"^no pairs$"):
        kappa_of_tables([nothing])
    for wrong in (first, [[[1, 2]]]):
        with pytest.raises(ValueError, match="give a square per pair"):
            kappa_of_tables(wrong)
    with pytest.raises(ValueError, match="weights is 'cubic'"):
        kappa_of_tables([first], "cubic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a count is below 0 or not whole"):
        kappa_of_tables([[[0.5, 0], [0, 1]]])
