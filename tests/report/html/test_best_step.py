"""The best of several steps, and what is said of it."""

from __future__ import annotations

from evalflow.report.html.best_step import best_in_words, best_of
from evalflow.report.html.curve import Curve, Point
from evalflow.report.html.shown_number import number


def curve(*points: tuple[float, float | None, float]) -> Curve:
    """Points as (step, mean, half of the interval)."""
    told = [
        Point(x, mean, None if mean is None else mean - half, None if mean is None else mean + half, 1, "", ())
        for x, mean, half in points
    ]
    return Curve("long", "quality/exact", tuple(told))


def said(one: Curve, higher_is_better: bool = True) -> str | None:
    return best_in_words(one, higher_is_better, number, 1.0)


def test_the_best_is_the_earliest_of_the_best() -> None:
    """Whichever way is better; what cannot be read is no candidate."""
    rising = curve((1, 0.1, 0.0), (2, 0.9, 0.0), (3, None, 0.0), (4, 0.9, 0.0))
    best, least = best_of(rising, True), best_of(rising, False)
    assert best is not None and least is not None
    assert (best.x, least.x) == (2, 1)


def test_it_says_what_it_was_picked_from_and_which_others_are_as_good() -> None:
    """Of four steps that can be read, two lie within the interval of the best."""
    one = curve((150, 0.1, 0.1), (300, 0.7, 0.1), (1000, 0.72, 0.1), (1500, 0.75, 0.1), (2000, None, 0.0))
    assert said(one) == (
        "long: best at step 1,500, 0.750 [0.650, 0.850], picked from 4; steps 300, 1,000 lie within its interval; "
        "1 more cannot be read"
    )
    assert said(one, False) == "long: best at step 150, 0.100 [0, 0.200], picked from 4; 1 more cannot be read"


def test_where_all_are_equal_none_is_best() -> None:
    """Nor where there is one alone."""
    assert said(curve((1, 0.5, 0.1), (2, 0.5, 0.1))) == "long: 0.500 at every step that was measured"
    assert said(curve((1, 0.5, 0.1))) is None
    assert said(curve((1, 0.5, 0.1), (2, None, 0.0))) is None


def test_without_an_interval_only_equals_are_within_it() -> None:
    """Two seeds that agree have none."""
    flat = Curve("long", "quality/exact", tuple(Point(x, y, None, None, 2, "", ()) for x, y in ((1, 0.9), (2, 0.9))))
    rising = Curve("long", "quality/exact", (*flat.points, Point(3, 0.1, None, None, 2, "", ())))
    assert said(rising) == "long: best at step 1, 0.900, picked from 3; step 2 lies within its interval"
