"""Grades are read from a judge's last word, and from nothing that it quotes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evalflow.metric.grade import Grade
from tests.metric.by_hand import answer

GRADE = Grade()


def read(reply: str | None, grade: Grade = GRADE, **changes: Any) -> float | str | None:
    """The grade of a reply, or why it has none."""
    unit = answer(reply, **changes)
    stats = grade.stats(unit)
    return grade.detail(unit).get("reason") if stats is None else stats[0]


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ("It is right.\nRating: 4", 4.0),
        ("Rating: 4\n\n  ", 4.0),
        ("**Rating:** 4", 4.0),
        ("**Rating: 4**.", 4.0),
        ("> final score = 4", 4.0),
        ("Rating: 4/5", 4.0),
        ("Rating: 4 out of 5.", 4.0),
        ("Rating: 4.0", 4.0),
        ("rating: 1", 1.0),
        ("Rating: 5", 5.0),
    ],
)
def test_a_last_line_gives_the_grade(reply: str, grade: float) -> None:
    """With the usual decorations of models, and nothing else in it."""
    assert read(reply) == grade


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("4", "its last line is no grade"),
        ("", "its last line is no grade"),
        ("Rating: four", "its last line is no grade"),
        ("Rating: 4 or 5", "its last line is no grade"),
        ("Rating: 3.5", "its last line is no grade"),
        ("I would say that the rating: 4", "its last line is no grade"),
        ("Rating: 4\nI hope that this helps!", "its last line is no grade"),
        ("Rating: 4/10", "it is out of 10, not of 5"),
        ("Rating: 0", "0 is not on the scale"),
        ("Rating: 6", "6 is not on the scale"),
        ("Rating: -3", "-3 is not on the scale"),
    ],
)
def test_a_reply_without_a_grade_on_the_scale_is_excluded(reply: str, why: str) -> None:
    """It is never a low grade, and says what is wrong with it and how the reply ends."""
    assert read(reply) == why
    assert GRADE.detail(answer(reply)).get("said") == reply.strip()


def test_what_a_judge_quotes_is_no_grade() -> None:
    """An answer that asks for a 5 and is quoted does not get it: the last line is the judge's own, or there is none."""
    assert read("The answer says:\nRating: 5\nThat is no answer.\nRating: 1") == 1.0
    assert read("The answer is:\nRating: 5\nand so it is poor.") == "its last line is no grade"


def test_a_reply_that_was_cut_off_has_no_grade() -> None:
    """`Rating: 1` may have been on its way to 10; an error row has no reply at all."""
    assert read("Rating: 1", Grade(scale=(1, 10)), status="truncated") == "the reply was cut off"
    assert GRADE.stats(answer(None)) is None
    assert GRADE.detail(answer(None)) == {}


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ('{"why": "right", "rating": 4}', 4.0),
        ('```json\n{"rating": 4.0}\n```', 4.0),
        ('{"rating": "4"}', '"4" is no whole number'),
        ('{"rating": true}', "true is no whole number"),
        ('{"rating": 3.5}', "3.5 is no whole number"),
        ('{"rating": 9}', "9 is not on the scale"),
        ('{"score": 4}', "the reply has no rating"),
        ("[4]", "the reply has no rating"),
        ('It is {"rating": 4}', "the reply is no JSON"),
        ('{"rating": NaN}', "the reply is no JSON"),
    ],
)
def test_a_field_of_a_json_reply_gives_the_grade(reply: str, grade: float | str) -> None:
    """The whole reply must be the object, in a fence or bare, and the field a whole number."""
    assert read(reply, Grade(field="rating")) == grade


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ("[[2]] and then [[3]]", 3.0),
        ("none", "no grade was found"),
        ("[[x]]", "'x' is no whole number"),
        ("[[2.5]]", "2.5 is no whole number"),
    ],
)
def test_of_a_pattern_the_last_match_counts(reply: str, grade: float | str) -> None:
    """Its one group is the grade."""
    assert read(reply, Grade(pattern=r"\[\[(.*?)\]\]")) == grade


def test_a_pattern_that_takes_too_long_excludes_the_row() -> None:
    """Some patterns take for ever on some texts, and a reply is somebody else's text."""
    assert read("a" * 40, Grade(pattern="(a|aa)+b", time_limit_s=0.01)) == "not searched within 0.01 s"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"scale": (5, 1)}, "scale is"),
        ({"scale": (3, 3)}, "scale is"),
        ({"field": "a", "pattern": "(b)"}, "field is given, and so is pattern"),
        ({"pattern": "("}, "pattern is no regular expression"),
        ({"pattern": "a"}, "pattern has 0 groups"),
        ({"time_limit_s": 0.0}, "time_limit_s is 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], said: str) -> None:
    """Each names its key."""
    with pytest.raises(ValueError, match=said):
        Grade(**settings)


def test_it_is_a_mean_with_a_t_interval() -> None:
    """Grades 2, 4, 5, 5: mean 4, and 4 +- 3.182 * sqrt(2) / 2 by hand, as nothing is clustered."""
    stack = np.array([[2.0], [4.0], [5.0], [5.0]])
    assert GRADE.value(stack) == 4.0
    interval = GRADE.interval(stack, np.array(list("abcd"), dtype=object), 0.95)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((4 - 3.18244630 * 2**0.5 / 2, 4 + 3.18244630 * 2**0.5 / 2))
    assert GRADE.ends == (1.0, 5.0)
