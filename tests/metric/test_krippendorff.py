"""Alpha over characters and labels, beside the krippendorff package."""

import krippendorff
import numpy as np
import pytest

from evalflow.metric.krippendorff import KrippendorffAlpha
from evalflow.metric.protocol import figure_names
from evalflow.numeric.text_profile import TextProfile
from evalflow.numeric.undefined import Undefined
from tests.metric.transcribed import document

CHARACTERS, LABELS = KrippendorffAlpha(), KrippendorffAlpha(unit="label")
# three raters of eight items, some missing; 9 occurs once, where nobody else rated
RATINGS = np.array(
    [[1, 2, 3, 3, 2, 1, 4, np.nan], [1, 2, 3, 3, 2, 2, 4, 9], [np.nan, 3, 3, 3, 2, 3, 4, np.nan]], dtype=float
)


def documents(ratings=RATINGS):
    """Every column as an item; a missing rating is None."""
    return [
        document(
            "",
            name=f"d{i}",
            **{rater: None if np.isnan(x) else f"{x:g}" for rater, x in zip("ABC", column, strict=False)},
        )
        for i, column in enumerate(ratings.T)
    ]


def scored(alpha, units):
    """The stack as a run has it: without the items that it excludes."""
    stack = alpha.stack(units)
    return stack[np.isfinite(stack).all(axis=1)]


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_labels_at_every_level(level):
    """Missing ratings and a lone label are no trouble; numbers are read from the texts."""
    order = ("1", "2", "3", "4", "9") if level == "ordinal" else None
    alpha = KrippendorffAlpha(unit="label", level=level, order=order)
    expected = krippendorff.alpha(reliability_data=RATINGS, level_of_measurement=level)
    assert alpha.value(scored(alpha, documents())) == pytest.approx(expected, rel=1e-12)


def test_an_item_with_one_rating_is_excluded():
    """It counts nowhere, and its row is NaN; where all are so, there is nothing."""
    stack = LABELS.stack(documents())
    assert np.isnan(stack).all(axis=1).tolist() == [False] * 7 + [True]
    assert np.isnan(LABELS.stack([document("", A="x"), document("", target="y")])).all()


def test_characters_of_three_aligned_texts():
    """As of the columns by hand: abd lacks the c that the others have."""
    read = [{"A": "abcd", "B": "abd", "C": "abcx"}, {"A": "ee", "B": "ee", "C": None}]
    codes = {"a": 0, "b": 1, "c": 2, "d": 3, "x": 4, "e": 5}
    columns = ["aaa", "bbb", "c c", "ddx", "ee ", "ee "]
    by_hand = np.array([[codes.get(label, np.nan) for label in column] for column in columns]).T
    expected = krippendorff.alpha(reliability_data=by_hand, level_of_measurement="nominal")
    stack = CHARACTERS.stack([document("", name=f"d{i}", **one) for i, one in enumerate(read)])
    assert CHARACTERS.value(stack) == pytest.approx(expected, rel=1e-12)


def test_readings_are_brought_to_the_profile():
    """Long s is s only where that is said."""
    unit = document("", A="so it", B="ſo it")
    even = KrippendorffAlpha(profile=TextProfile(long_s=True))
    assert even.value(even.stack([unit])) == 1.0
    assert CHARACTERS.value(CHARACTERS.stack([unit])) < 1.0


def test_all_the_same_has_none():
    """Nothing could have differed: undefined, not 1."""
    with pytest.raises(Undefined, match=r"^expected disagreement is 0$"):
        LABELS.value(LABELS.stack([document("", A="x", B="x")] * 3))


def test_a_label_that_is_no_number_is_named():
    """With its item, at the levels that need numbers."""
    interval = KrippendorffAlpha(unit="label", level="interval")
    with pytest.raises(ValueError, match=r"^label 'many' of item 'd' is no number, as level interval needs$"):
        interval.stack([document("", A="3", B="many")])


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_its_interval_is_a_bootstrap_of_documents(level):
    """Of all three levels, it holds the value; of items that all agree there is none."""
    order = ("1", "2", "3", "4", "9") if level == "ordinal" else None
    alpha = KrippendorffAlpha(unit="label", level=level, order=order)
    stack = alpha.stack(documents())[:7]
    interval = alpha.interval(stack, np.arange(7).astype(object), 0.95)
    assert interval.low < alpha.value(stack) < interval.high <= 1.0
    assert interval.method == "document bootstrap"
    agreed = alpha.stack(documents(np.array([[1, 2], [1, 2]], dtype=float)))
    with pytest.raises(Undefined, match="a resample is undefined"):
        alpha.interval(agreed, np.arange(2).astype(object), 0.95)


def test_it_has_a_fixed_name():
    """A figure of all items at once."""
    assert figure_names("k", LABELS) == ("agreement/alpha",)
    assert LABELS.grain == "corpus"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"level": "interval"}, "unit is 'grapheme', and characters are names; give level nominal"),
        ({"unit": "label", "level": "ordinal"}, "level 'ordinal' needs the labels' order; give order"),
        ({"unit": "label", "level": "ratio", "order": ("1",)}, "order is given, and at level ratio labels are numbers"),
        ({"unit": "line"}, "unit is 'line'"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings, said):
    """On building."""
    with pytest.raises(ValueError, match=said):
        KrippendorffAlpha(**settings)
