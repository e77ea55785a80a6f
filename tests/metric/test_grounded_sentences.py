"""Sentences kept and citation overlap, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from evalflow.metric.grounded_sentences import CitationOverlap, SentencesKept
from evalflow.metric.protocol import Answer
from tests.grounding.mill import mill_item
from tests.metric.by_hand import row
from tests.metric.test_grounded import LABELS, labelled, served


def test_sentences_are_counted_on_partial_releases_alone():
    """Kept and written; an answer served whole, or not at all, was not released in part."""
    kept = SentencesKept()
    assert kept.stats(labelled(LABELS["partial-keeps-an-uncited-sentence"])) == (2.0, 3.0)
    assert kept.stats(labelled(LABELS["partial-from-the-middle"])) == (1.0, 3.0)
    assert kept.stats(labelled(LABELS["passes"])) is None
    assert kept.stats(labelled(LABELS["figures"])) is None
    assert kept.stats(labelled(LABELS["refusal"])) is None
    assert kept.point((2.0, 3.0)) == pytest.approx(2 / 3)


def test_the_ratio_is_of_sums():
    """1 of 2 and 5 of 6 are 6 of 8, not the mean of two shares."""
    assert SentencesKept().value(np.array([[1.0, 2.0], [5.0, 6.0]])) == 0.75


def test_the_interval_is_of_the_linearised_ratio():
    """Student's around the ratio, with residuals kept - ratio * written over the mean written."""
    stack = np.array([[1.0, 2.0], [2.0, 3.0], [3.0, 5.0], [1.0, 3.0], [2.0, 2.0]])
    clusters = np.array(list("abcde"), dtype=object)
    ratio = 9 / 15
    residuals = [(k - ratio * w) / 3.0 for k, w in stack]
    se = math.sqrt(sum(e * e for e in residuals) / 4 / 5)
    reach = scipy_stats.t.ppf(0.975, 4) * se
    found = SentencesKept().interval(stack, clusters, 0.95)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((ratio - reach, ratio + reach), rel=1e-9)


def test_the_interval_stays_within_0_and_1():
    """A share cannot leave it; rows that all kept the same share carry no interval."""
    wide = np.array([[1.0, 1.0], [0.0, 2.0], [6.0, 6.0]])
    found = SentencesKept().interval(wide, np.array(list("abc"), dtype=object), 0.95)
    assert found is not None
    assert (found.low, found.high) == (0.0, 1.0)
    alike = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    assert SentencesKept().interval(alike, np.array(list("abc"), dtype=object), 0.95) is None


def test_a_rows_overlap_is_the_median_of_its_sentences():
    """3 of 5 words, all of 4, and 1 of 2 are 3 of 5; uncited sentences and unknown sections say nothing."""
    draft = (
        "Two wheels make nice flour § {#machinery}. "  # two, wheels, make, nice, flour: 2 of 5
        "The wheel drive stones § {#machinery}. "  # all of 4
        "Stones sing § {#machinery}. "  # 1 of 2
        "Nothing here. Neither here § {#nowhere}."
    )
    assert CitationOverlap().stats(served(draft)) == (0.5,)
    assert CitationOverlap().stats(served("Stones sing § {#machinery}. Two wheels § {#machinery}.")) == (0.75,)


def test_only_rows_that_can_say_are_counted():
    """No refusal, uncited draft, error or answer that nothing served; where a gate abstained there is still a draft."""
    overlap = CitationOverlap()
    assert overlap.stats(labelled(LABELS["abstain-as-authored"])) is None
    assert overlap.stats(labelled(LABELS["citations-none"])) is None
    assert overlap.stats(Answer(mill_item("?"), row(None))) is None
    assert overlap.stats(Answer(mill_item("?"), row("Stones § {#machinery}."))) is None
    # the, mill, was, built, in, 1768, of which history lacks 1768
    assert overlap.stats(labelled(LABELS["figures"])) == (pytest.approx(5 / 6),)


def test_median_least_and_greatest_are_read():
    """Over the rows' medians; only the median has an interval, and it needs 6 rows."""
    readings = CitationOverlap().readings()
    stack = np.array([[0.2], [0.9], [0.4], [0.6]])
    clusters = np.array(list("abcd"), dtype=object)
    assert {name: reading.value(stack) for name, reading in readings.items()} == {
        "median": pytest.approx(0.5),
        "min": 0.2,
        "max": 0.9,
    }
    assert all(reading.interval(stack, clusters, 0.95) is None for reading in readings.values())
    more = np.array([[share] for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)])
    found = readings["median"].interval(more, np.array(list("abcdef"), dtype=object), 0.95)
    assert found is not None
    assert (found.low, found.high) == (0.1, 0.6)
    assert readings["max"].interval(more, np.array(list("abcdef"), dtype=object), 0.95) is None
