"""Kappa over characters and labels, beside scikit-learn."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from evalflow.metric.kappa import Kappa
from evalflow.metric.protocol import figure_names
from evalflow.numeric.text_profile import TextProfile
from evalflow.numeric.undefined import Undefined
from tests.metric.transcribed import document

CHARACTERS, LABELS = Kappa(), Kappa(unit="label")
GRADES = ["poor", "fair", "good"]


def drawn(n: int, raters: str = "AB", seed: int = 0) -> list[dict[str, str]]:
    """Grades of n items by raters who mostly agree."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 3, n)
    noise = {rater: generator.integers(-1, 2, n) * (generator.random(n) < 0.4) for rater in raters}
    return [{rater: GRADES[int(np.clip(truth[i] + noise[rater][i], 0, 2))] for rater in raters} for i in range(n)]


def documents(readings):
    return [document("", name=f"d{i}", **read) for i, read in enumerate(readings)]


def test_characters_that_face_each_other_are_labels():
    """Of abcd and abxd three of four agree, of ee and e the first; c, x and the like are labels of all documents."""
    stack = CHARACTERS.stack(documents([{"A": "abcd", "B": "abxd"}, {"A": "ee", "B": "e"}]))
    assert CHARACTERS.value(stack) == pytest.approx(cohen_kappa_score(list("abcde"), list("abxde")), rel=1e-15)


def test_labels_are_whole_texts():
    """One pair an item; the value is scikit-learn's."""
    read = drawn(50)
    expected = cohen_kappa_score([one["A"] for one in read], [one["B"] for one in read])
    assert LABELS.value(LABELS.stack(documents(read))) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_weighted_by_places_in_a_stated_order(weights):
    """Poor is farther from good than from fair."""
    read = drawn(50)
    kappa = Kappa(unit="label", weights=weights, order=tuple(GRADES))
    a, b = ([GRADES.index(one[rater]) for one in read] for rater in "AB")
    expected = cohen_kappa_score(a, b, weights=weights)
    assert kappa.value(kappa.stack(documents(read))) == pytest.approx(expected, rel=1e-14)


def test_of_several_annotators_it_is_the_mean_over_pairs():
    """Light's kappa; a pair is of the items that both read."""
    read = drawn(60, "ABC")
    for one in read[:10]:
        one["C"] = None
    expected = [
        cohen_kappa_score(*zip(*((one[a], one[b]) for one in read if one[a] and one[b]), strict=True))
        for a, b in combinations("ABC", 2)
    ]
    assert LABELS.value(LABELS.stack(documents(read))) == pytest.approx(np.mean(expected), rel=1e-14)


def test_items_that_fewer_than_two_read_are_excluded():
    """Their rows are NaN; where there is no other, all are."""
    stack = LABELS.stack(documents([{"A": "x", "B": "x"}, {"A": "x", "B": None}, {}]))
    assert np.isnan(stack).all(axis=1).tolist() == [False, True, True]
    alone = LABELS.stack(documents([{"A": "x"}, {"A": "y"}]))
    assert np.isnan(alone).all()


def test_two_who_only_ever_say_the_same_have_none():
    """Chance leaves no room: undefined, not 1; identical texts of several characters have 1."""
    constant = LABELS.stack(documents([{"A": "x", "B": "x"}] * 3))
    with pytest.raises(Undefined, match=r"^chance agreement is 1$"):
        LABELS.value(constant)
    same = CHARACTERS.stack(documents([{"A": "abc", "B": "abc"}] * 3))
    assert CHARACTERS.value(same) == 1.0
    assert CHARACTERS.interval(same, np.arange(3).astype(object), 0.95) is None


def test_readings_are_brought_to_the_profile():
    """Long s is s only where that is said."""
    read = [{"A": "so it", "B": "ſo it"}]
    even = Kappa(profile=TextProfile(long_s=True))
    assert even.value(even.stack(documents(read))) == 1.0
    assert CHARACTERS.value(CHARACTERS.stack(documents(read))) < 1.0


def test_its_interval_is_a_bootstrap_of_documents_or_their_clusters():
    """Ten copies of each item in one cluster carry what the items alone do; as items of their own they would not."""
    read = drawn(40)
    once = LABELS.interval(LABELS.stack(documents(read)), np.arange(40).astype(object), 0.95)
    copied = LABELS.stack(documents([one for one in read for _ in range(10)]))
    clustered = LABELS.interval(copied, np.repeat(np.arange(40), 10).astype(object), 0.95)
    apart = LABELS.interval(copied, np.arange(400).astype(object), 0.95)
    assert (clustered.low, clustered.high) == pytest.approx((once.low, once.high), abs=1e-12)
    assert apart.high - apart.low < 0.5 * (once.high - once.low)
    assert once.method == "document bootstrap"


def test_it_has_a_fixed_name():
    """A figure of all items at once."""
    assert figure_names("k", LABELS) == ("agreement/kappa",)
    assert LABELS.grain == "corpus"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"weights": "linear"}, "unit is 'grapheme', and characters have no order; drop weights"),
        ({"order": ("a",)}, "unit is 'grapheme', and characters have no order"),
        ({"unit": "label", "weights": "linear"}, "weights 'linear' need the labels' order; give order"),
        ({"unit": "line"}, "unit is 'line'"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings, said):
    """On building."""
    with pytest.raises(ValueError, match=said):
        Kappa(**settings)
