"""Krippendorff's alpha: by the definition in exact fractions, beside the krippendorff package, and in documents."""

from fractions import Fraction
from itertools import permutations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evalflow.numeric.alpha import alpha_of_ratings, alpha_of_sums, alpha_sums, krippendorff_alpha
from evalflow.numeric.labels import label_set
from evalflow.numeric.ratings import ratings_of, ratings_of_codes
from evalflow.numeric.undefined import Undefined

LEVELS = ("nominal", "ordinal", "interval", "ratio")
RATING = st.one_of(st.none(), st.integers(0, 4))
UNITS = st.lists(st.lists(RATING, min_size=3, max_size=3), min_size=1, max_size=12)


def by_definition(units, level):
    """1 - D_o / D_e by all ordered pairs, in exact fractions; None where there is no such number."""
    kept = [[x for x in unit if x is not None] for unit in units]
    kept = [unit for unit in kept if len(unit) > 1]
    ratings = [x for unit in kept for x in unit]
    count = {x: ratings.count(x) for x in ratings}

    def squared(x, y):
        if level == "nominal" or x == y:
            return Fraction(x != y)
        if level == "ordinal":
            between = sum(count[z] for z in count if min(x, y) <= z <= max(x, y))
            return (between - Fraction(count[x] + count[y], 2)) ** 2
        return Fraction((x - y) ** 2, (x + y) ** 2 if level == "ratio" else 1)

    n = len(ratings)
    if not n:
        return None
    observed = sum(Fraction(sum(squared(x, y) for x, y in permutations(u, 2)), len(u) - 1) for u in kept) / n
    expected = Fraction(sum(squared(x, y) for x, y in permutations(ratings, 2)), n * (n - 1))
    return (observed, expected) if expected else None


@given(UNITS)
def test_alpha_is_its_definition(units):
    """Observed and expected disagreement at every level are those of all pairs, counted one by one."""
    for level in LEVELS:
        want = by_definition(units, level)
        if want is None:
            with pytest.raises(Undefined, match=r"no pairs|expected disagreement is 0"):
                krippendorff_alpha(units, level).value  # noqa: B018 - reading it is the test
            continue
        found = krippendorff_alpha(units, level)
        assert (found.observed, found.expected) == pytest.approx(tuple(map(float, want)), abs=1e-12)
        assert found.value == pytest.approx(float(1 - want[0] / want[1]), abs=1e-12)


@given(UNITS)
def test_alpha_is_the_packages(units):
    """Wherever the krippendorff package answers."""
    given_ratings = [x for unit in units for x in unit if x is not None]
    assume(len(set(given_ratings)) > 1 and by_definition(units, "nominal") is not None)
    table = np.array([[np.nan if x is None else x for x in unit] for unit in units]).T
    for level in LEVELS:
        peer = krippendorff.alpha(table, level_of_measurement=level)
        assert krippendorff_alpha(units, level).value == pytest.approx(peer, abs=1e-10)


@given(UNITS, st.randoms(use_true_random=False))
def test_order_and_names_do_not_matter(units, random):
    """Units and raters may be shuffled; at the nominal level labels may be renamed."""
    assume(by_definition(units, "nominal") is not None)
    shuffled = [random.sample(unit, len(unit)) for unit in random.sample(units, len(units))]
    for level in LEVELS:
        alpha = krippendorff_alpha(units, level).value
        assert alpha <= 1.0
        assert krippendorff_alpha(shuffled, level).value == pytest.approx(alpha, abs=1e-12)
    renamed = [[None if x is None else f"label {-x}" for x in unit] for unit in units]
    assert krippendorff_alpha(renamed).value == krippendorff_alpha(units).value


@given(UNITS)
def test_what_a_level_is_blind_to(units):
    """Interval does not see a shift, ratio no scale, ordinal no stretch; all agreeing is 1 exactly."""
    assume(by_definition(units, "nominal") is not None)

    def moved(by):
        return [[None if x is None else by(x) for x in unit] for unit in units]

    for level, by in (("interval", lambda x: 3 * x + 7), ("ratio", lambda x: 5 * x), ("ordinal", lambda x: 2.0**x)):
        assert krippendorff_alpha(moved(by), level).value == pytest.approx(
            krippendorff_alpha(units, level).value, abs=1e-12
        )
    agreed = [[unit[0]] * 3 for unit in units if unit[0] is not None]
    if len({unit[0] for unit in agreed}) > 1:
        assert [krippendorff_alpha(agreed, level).value for level in LEVELS] == [1.0] * 4


@given(UNITS)
def test_a_matrix_stands_for_any_distance(units):
    """The matrices of the nominal and interval levels give those levels."""
    assume(by_definition(units, "nominal") is not None)
    order = list(range(5))
    apart = np.subtract.outer(order, order).astype(float) ** 2
    for matrix, level in ((1 - np.eye(5), "nominal"), (apart, "interval")):
        found = krippendorff_alpha(units, matrix, order)
        assert found.value == pytest.approx(krippendorff_alpha(units, level).value, abs=1e-12)


@given(UNITS, st.data())
def test_documents_add_up(units, data):
    """Sums of all documents give alpha; a document drawn twice counts like two."""
    assume(by_definition(units, "nominal") is not None)
    documents = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(units), max_size=len(units)))
    twice = [*units, *(unit for unit, name in zip(units, documents, strict=True) if name == documents[0])]
    order = list(range(5))
    for level in (*LEVELS, (np.subtract.outer(order, order) ** 2).astype(float)):
        ratings = ratings_of(units, order)
        names, sums = alpha_sums(ratings, documents, level)
        assert names == list(dict.fromkeys(documents))
        found = alpha_of_sums(sums.sum(axis=0), ratings.labels, level)
        want = krippendorff_alpha(units, level, order)
        assert (found.value, found.n_pairable) == (pytest.approx(want.value, abs=1e-12), want.n_pairable)
        replicate = alpha_of_sums(sums.sum(axis=0) + sums[0], ratings.labels, level)
        assert replicate.value == pytest.approx(krippendorff_alpha(twice, level, order).value, abs=1e-12)


def test_the_disagreements_of_systematic_difference():
    """Two raters who always differ: alpha is below 0, and D_o and D_e say why (a known complaint that is none)."""
    found = krippendorff_alpha([["a", "b"], ["b", "a"]])
    assert (found.observed, found.expected, found.value, found.n_pairable) == (1.0, 2 / 3, -0.5, 4)


def test_lone_ratings_count_nowhere():
    """A unit with one rating adds no label, no pair and no expectation."""
    with_lone = [[1, 1], [2, 2], [1, 2], [9, None], [None, None], [7]]
    assert krippendorff_alpha(with_lone, "interval") == krippendorff_alpha(with_lone[:3], "interval")
    ratings = ratings_of(with_lone)
    assert (ratings.n_units, ratings.n_ratings_n.tolist()) == (3, [2, 2, 2, 0, 0, 0])
    with pytest.raises(Undefined, match="expected disagreement is 0"):
        krippendorff_alpha([[1, 1], [2]]).value  # noqa: B018 - reading it is the test


def test_the_string_nan_is_a_label():
    """Missing is None alone; the krippendorff package takes "nan" for missing."""
    assert krippendorff_alpha([["nan", "a"], ["nan", "nan"]]).n_pairable == 4
    assert krippendorff_alpha([["nan", "a"], ["nan", "nan"]]).value == 0.0  # D_o = 2/4, D_e = 6/12


def test_codes_are_the_same_ratings():
    """A table of places with -1 for missing is the list with None."""
    labels = label_set([], ["x", "y", "z"])
    codes = np.array([[0, 1, -1], [2, 2, 0], [-1, -1, 1], [1, 1, 1]])
    units = [["x", "y", None], ["z", "z", "x"], [None, None, "y"], ["y", "y", "y"]]
    for level in ("nominal", "ordinal"):
        found = alpha_of_ratings(ratings_of_codes(codes, labels), level)
        assert found == krippendorff_alpha(units, level, ["x", "y", "z"])


def test_equal_decimals_differ_by_nothing():
    """Ratings of 0.1 that are all alike disagree by 0 exactly, far from 0 too."""
    assert krippendorff_alpha([[0.1] * 3, [0.3] * 3], "interval").observed == 0.0
    far = krippendorff_alpha([[1e9 + 0.25, 1e9], [1e9 + 0.5, 1e9 + 0.5]], "interval")
    assert far.value == krippendorff_alpha([[0.25, 0.0], [0.5, 0.5]], "interval").value


def test_thousands_of_distinct_values_need_no_matrix():
    """20,000 different measurements: interval, ordinal and ratio come out, with memory for the ratings alone."""
    x = np.random.default_rng(0).normal(100, 10, (10_000, 1))
    table = x + np.array([[0.0, 1e-3]])
    units = table.tolist()
    assert len(set(table.ravel().tolist())) > 19_000
    for level in ("ordinal", "interval"):
        assert 0.999 < krippendorff_alpha(units, level).value < 1.0
    assert 0.999 < krippendorff_alpha(units[:1500], "ratio").value < 1.0
    assert krippendorff_alpha(units).value < 0.01


def test_numbers_beyond_a_float_are_undefined():
    """A square that overflows is no disagreement of infinity."""
    with pytest.raises(Undefined, match="non-finite result"):
        krippendorff_alpha([[1e200, -1e200], [0, 0]], "interval")
    with pytest.raises(Undefined, match="non-finite result"):
        krippendorff_alpha([[10**400, 1], [0, 0]], "interval")
    assert krippendorff_alpha([[1e308, 1e308], [1e308, 5e307]], "ratio").value == 0.0


@pytest.mark.parametrize(
    ("units", "level", "order", "message"),
    [
        ([["a", "b"]], "ordinal", None, "an ordinal alpha needs the labels' order"),
        ([["a", "b"]], "interval", None, "level interval needs numbers; label 'a' is none"),
        ([["a", "b"]], "interval", ["a", "b"], "level interval needs numbers"),
        ([[True, False]], "interval", None, "label True is none"),
        ([[1, float("inf")]], "interval", None, "needs finite numbers"),
        ([[1, -2]], "ratio", None, "numbers from 0 up; label -2 is below"),
        ([[1, float("nan")]], "nominal", None, "a label is NaN"),
        ([["a", "c"]], "nominal", ["a", "b"], "'c' is not in the stated order"),
        ([[1, 2]], "cardinal", None, "level is 'cardinal'; choose nominal, ordinal, interval, ratio"),
        ([["a", "b"]], np.zeros((2, 2)), None, "needs the labels' order"),
        ([[1, 2]], np.zeros((3, 3)), None, r"shape \(3, 3\); give 2 by 2"),
        ([[1, 2]], [[0, 1], [2, 0]], None, "not symmetric"),
        ([[1, 2]], [[0, -1], [-1, 0]], None, "0 or more"),
        ([[1, 2]], [[1, 1], [1, 0]], None, "put 0 on the diagonal"),
    ],
)
def test_labels_that_do_not_suit_the_level_are_refused(units, level, order, message):
    """Names have no order and no distance, a ratio needs a zero, a matrix must be a distance between the labels."""
    with pytest.raises(ValueError, match=message):
        krippendorff_alpha(units, level, order)


def test_ratios_of_large_numbers_that_are_close():
    """Quarters about 1e9 keep all their digits: the relative distances are those of exact fractions."""
    units = [[1e9 + 0.25, 1e9 + 0.5], [1e9, 1e9], [1e9 + 0.75, 1e9 + 0.5]]

    def apart(x, y):
        return ((Fraction(x) - Fraction(y)) / (Fraction(x) + Fraction(y))) ** 2

    every = [x for unit in units for x in unit]
    observed = sum(2 * apart(*unit) for unit in units) / 6
    expected = sum(apart(x, y) for x in every for y in every) / 30
    assert krippendorff_alpha(units, "ratio").value == pytest.approx(float(1 - observed / expected), rel=1e-12)
    # a sum of two of the largest floats is beyond a float
    assert krippendorff_alpha([[1.5e308, 1.2e308], [1.2e308, 1.2e308]], "ratio").value == pytest.approx(0.0, abs=1e-12)


def test_numbers_whose_squares_a_float_cannot_hold_have_no_interval_alpha():
    """Neither digits that are gone nor none at all pass for a figure."""
    for scale, reason in ((1e-160, "too close together"), (1e-300, "disagreement is 0"), (1e200, "non-finite result")):
        with pytest.raises(Undefined, match=reason):
            krippendorff_alpha([[scale, 2 * scale], [2 * scale, 2 * scale], [3 * scale, scale]], "interval").value  # noqa: B018


def test_what_are_no_ratings_is_refused():
    """A unit is a list; codes are a table of places; sums are those of the labels."""
    with pytest.raises(TypeError, match="a unit is no list"):
        krippendorff_alpha(["aab", "abb"])
    labels = label_set([], ["x", "y"])
    with pytest.raises(ValueError, match="give units by raters"):
        ratings_of_codes([0, 1], labels)
    with pytest.raises(ValueError, match=r"outside -1\.\.1"):
        ratings_of_codes([[0, 2]], labels)
    with pytest.raises(ValueError, match=r"make \(3,\)"):
        alpha_of_sums([0.0, 1.0], labels)
    with pytest.raises(ValueError, match="1 clusters for 2 values"):
        alpha_sums(ratings_of([[1, 2], [1, 1]]), ["x"])
    with pytest.raises(Undefined, match="no pairs"):
        alpha_of_sums([0.0, 0.0, 0.0], labels)
