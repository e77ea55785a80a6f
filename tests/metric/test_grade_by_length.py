"""Whether grades go with the length of the answers."""

from __future__ import annotations

import numpy as np
import pytest

from evalflow.metric.grade_by_length import GradeByLength
from evalflow.metric.protocol import Answer
from evalflow.record import Item
from tests.metric.by_hand import row

METRIC = GradeByLength()


def graded(grade: float | None, text: str | None) -> Answer:
    about = {} if text is None else {"about": {"answer": text}}
    stats = {"grade": None if grade is None else (grade,)}
    return Answer(Item("i", "p"), row("Rating: 3", stats=stats, detail=about))


def test_longer_and_better_liked_is_1() -> None:
    """Whatever the lengths are, as long as they rise with the grades; falling it is -1."""
    stack = METRIC.stack([graded(1, "a"), graded(2, "a" * 7), graded(5, "a" * 8)])
    assert METRIC.value(stack) == 1.0
    assert METRIC.value(stack * [1, -1]) == -1.0
    interval = METRIC.interval(np.tile(stack, (9, 1)), np.arange(27).astype(object), 0.95)
    assert interval is None  # it is 1 in every resample, which is no certainty


def test_what_is_not_known_is_excluded() -> None:
    """A row without a grade, or of an answer that nobody kept."""
    stack = METRIC.stack([graded(None, "a"), graded(3, None), graded(4, "")])
    assert np.isnan(stack).any(axis=1).tolist() == [True, True, False]
    assert stack[2].tolist() == [4.0, pytest.approx(0.0)]
