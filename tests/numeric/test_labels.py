"""Labels and their order."""

from fractions import Fraction

import numpy as np
import pytest

from evalflow.numeric.labels import LabelSet, label_set


def test_numbers_are_in_order_by_themselves():
    """Ascending, whole or not; names come as they appear, which is no order."""
    assert label_set([3, 1, 2.5, 3, Fraction(1, 2)]) == LabelSet((Fraction(1, 2), 1, 2.5, 3), ordered=True)
    assert label_set(["b", "a", "b"]) == LabelSet(("b", "a"), ordered=False)
    assert label_set([1, "1"]) == LabelSet((1, "1"), ordered=False)
    assert label_set(np.array([2.0, 1.0])).names == (1.0, 2.0)


def test_a_stated_order_is_kept_whole():
    """Labels that do not occur stay in it; those that are not in it have no place."""
    labels = label_set(["b"], order=["low", "b", "high"])
    assert labels == LabelSet(("low", "b", "high"), ordered=True)
    assert labels.codes(["high", "low"]).tolist() == [2, 0]
    with pytest.raises(ValueError, match="label 'c' is not in the stated order"):
        labels.codes(["b", "c"])


def test_strings_are_labels_whatever_they_say():
    """ "nan", "None" and the empty string are names."""
    assert label_set(["nan", "", "None"]).names == ("nan", "", "None")


@pytest.mark.parametrize(
    ("labels", "order", "message"),
    [
        (["a", None], None, "a label is None"),
        ([1.0, float("nan")], None, "a label is NaN"),
        ([np.float32("nan")], None, "a label is NaN"),
        ([True, 1], None, "true or false stand among numbers"),
        (["a"], ["a", "b", "a"], "a label stands twice"),
        (["a"], ["a", None], "a label is None"),
    ],
)
def test_what_is_no_label_is_refused(labels, order, message):
    """None, NaN, and true beside 1, which Python holds for equal."""
    with pytest.raises(ValueError, match=message):
        label_set(labels, order)


def test_true_and_false_are_names():
    """Among themselves they are labels like any other."""
    assert label_set([True, False, True]) == LabelSet((True, False), ordered=False)
