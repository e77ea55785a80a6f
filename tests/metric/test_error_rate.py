"""Error rates against a target or annotators, by hand and beside jiwer."""

import jiwer
import numpy as np
import pytest

from evalflow.metric.error_rate import ErrorRate
from evalflow.metric.protocol import figure_names
from evalflow.numeric.text_profile import TextProfile
from tests.metric.by_hand import answer, stacked
from tests.metric.transcribed import document

CER, WER = ErrorRate(), ErrorRate(unit="word")


def test_it_counts_edits_and_units_of_the_target():
    """Kitten to sitting: three edits of six; where there are no annotators the target grades."""
    assert CER.stats(answer("sitting", "kitten")) == (3.0, 6.0)
    assert WER.stats(answer("the cat sat", "the cat sat down")) == (1.0, 4.0)
    assert CER.stats(answer("", "kitten")) == (6.0, 6.0)
    assert CER.stats(answer("cafe\u0301", "café")) == (0.0, 4.0)


def test_a_corpus_is_sums_over_sums():
    """As jiwer has it, not the mean of the documents' own rates."""
    pairs = [("sitting", "kitten"), ("a long line of text", "a line of longer text"), ("x", "xyz")]
    stack = stacked(CER, *(answer(given, wanted) for given, wanted in pairs))
    peer = jiwer.cer([wanted for _, wanted in pairs], [given for given, _ in pairs])
    assert CER.value(stack) == pytest.approx(peer, rel=1e-15)


def test_an_answer_without_a_reference_is_excluded():
    """As one without a text is; its detail says which it was."""
    assert CER.stats(answer("x", None)) is None
    assert CER.detail(answer("x", None)) == {"reason": "no reference"}
    assert CER.stats(answer(None, "x")) is None
    assert CER.detail(answer(None, "x")) == {}


def test_all_annotators_grade_by_their_mean():
    """3 edits of 6 units against one and 1 of 8 against the other are 2 of 7; the target has no say beside them."""
    unit = document("sitting", target="zzz", A="kitten", B="sittings")
    assert CER.stats(unit) == (2.0, 7.0)
    assert CER.detail(unit)["rates"] == {"A": 0.5, "B": 0.125}


def test_the_nearest_or_a_named_annotator_may_grade():
    """The nearest is the one of the least rate, not of the fewest edits."""
    unit = document("abcd", A="abc", B="abcdefghxx")
    assert ErrorRate(reference="B").stats(unit) == (6.0, 10.0)
    assert ErrorRate(reference="min").stats(unit) == (1.0, 3.0)
    assert ErrorRate(reference="min").stats(document("", A="ab", B="")) == (0.0, 0.0)
    assert ErrorRate(reference="Z").stats(unit) is None
    assert ErrorRate(reference="Z").detail(unit) == {"reason": "annotator Z did not read it"}


def test_each_tells_how_much_hangs_on_who_grades():
    """The mean is the figure; beside it the rate against each document's nearest annotator, and its farthest."""
    each = ErrorRate(reference="each")
    assert figure_names("cer", each) == ("quality/cer", "quality/cer/min", "quality/cer/max")
    stack = stacked(each, document("sitting", A="kitten", B="sittings"), document("ab", A="ab", B="ax"))
    assert stack.tolist() == [[2.0, 7.0, 1.0, 8.0, 3.0, 6.0], [0.5, 2.0, 0.0, 2.0, 1.0, 2.0]]
    values = {suffix: reading.value(stack) for suffix, reading in each.readings().items()}
    assert values == {"": 2.5 / 9, "min": 1 / 10, "max": 4 / 8}
    assert figure_names("cer", CER) == ("quality/cer",)


@pytest.mark.parametrize("reference", ["mean", "min", "each"])
def test_a_document_that_an_annotator_missed_is_excluded(reference):
    """A mean over fewer is another mean; whoever is named may grade what others missed."""
    unit = document("x", A="x", B=None)
    assert ErrorRate(reference=reference).stats(unit) is None
    assert ErrorRate(reference=reference).detail(unit) == {"reason": "not read by B"}
    assert ErrorRate(reference="A").stats(unit) == (0.0, 1.0)


def test_both_texts_are_brought_to_the_profile():
    """Long s is s only where that is said."""
    unit = document("so was it", A="ſo was\nit")
    assert CER.stats(unit) == (2.0, 9.0)
    assert ErrorRate(profile=TextProfile(long_s=True, line_breaks=True)).stats(unit) == (0.0, 9.0)


def test_text_beside_an_empty_reference_counts_its_edits():
    """It has no rate of its own, and adds to the corpus; a corpus of nothing but that has none either."""
    beside = document("abc", A="", B="")
    assert CER.stats(beside) == (3.0, 0.0)
    assert CER.point((3.0, 0.0)) == 3.0
    assert CER.value(stacked(CER, beside, document("ab", A="ab", B="ab"))) == 1.5


def test_the_commonest_confusions_are_named():
    """(reference, answer, how often), over all who grade; of the nearest alone where it alone grades."""
    unit = document("fofofo", A="ſoſoſo", B="fofof")
    assert CER.detail(unit)["confusions"] == [["ſ", "f", 3], ["", "o", 1]]
    assert ErrorRate(reference="min").detail(unit)["confusions"] == [["", "o", 1]]


def test_less_is_better_and_the_interval_is_by_document():
    """A rate of edits is no share: it may exceed 1."""
    assert (CER.higher_is_better, CER.measured_in) == (False, "edits/unit")
    stack = np.array([[1.0, 10.0], [3.0, 10.0], [2.0, 10.0]])
    interval = CER.interval(stack, np.array(["a", "b", "c"], dtype=object), 0.95)
    assert interval.low < 0.2 < interval.high
    assert CER.value(stacked(CER, document("abcd", A="x"))) == 4.0


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"unit": "letter"}, "unit is 'letter'; choose grapheme"), ({"reference": ""}, "reference is empty; give mean")],
)
def test_settings_that_cannot_be_meant_are_refused(settings, said):
    """On building."""
    with pytest.raises(ValueError, match=said):
        ErrorRate(**settings)
