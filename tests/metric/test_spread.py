"""Percentiles over the positions of texts, each by itself or counted in bins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalflow.metric.protocol import Stack
from evalflow.metric.spread import KlSpread, Largest, NllDifferenceSpread, PositionPercentile
from evalflow.numeric.undefined import Undefined
from tests.metric.by_hand import answer, text


def stack_of(values: list[float], times: list[int] | None = None) -> Stack:
    """Values and how often each occurs."""
    return np.column_stack([values, [1] * len(values) if times is None else times]).astype(np.float64)


def clusters(*names: object) -> np.ndarray:
    return np.array(names, dtype=object)


def test_the_values_are_those_of_the_positions() -> None:
    """The divergence as it is, and the NLL difference either way; two infinite NLLs have none."""
    one = text(kl=[0.1, 0.0, 0.3], nll=[1.0, 2.0, math.inf], nll_ref=[3.0, 1.5, math.inf])
    assert KlSpread().values(one).tolist() == [0.1, 0.0, 0.3]  # type: ignore[union-attr]
    found = NllDifferenceSpread().values(one)
    assert found is not None
    assert found[:2].tolist() == [2.0, 0.5] and math.isnan(found[2])
    for metric in (KlSpread(), NllDifferenceSpread()):
        assert metric.values(answer("x")) is None
        assert metric.values(text(nll=[1.0])) is None
        assert metric.stats(one) is None, "positions are too many to be kept with a row"
        assert (metric.grain, metric.lockstep, metric.higher_is_better) == ("position", True, False)


def test_what_counts_begins_where_the_item_says() -> None:
    """Context is in no percentile."""
    assert KlSpread().values(text("0123456", 3, kl=[9.0, 8.0, 1.0, 2.0])).tolist() == [1.0, 2.0]  # type: ignore[union-attr]


def test_one_figure_for_each_percentile() -> None:
    """Named as they are written, and the largest beside them."""
    assert list(KlSpread().readings()) == ["p50", "p90", "p95", "p99", "p99.9", "max"]
    assert list(NllDifferenceSpread(percentiles=(75.0,)).readings()) == ["p75", "max"]
    assert (KlSpread().figure, NllDifferenceSpread().figure) == ("parity/kl_nats", "parity/dnll_abs_nats")


@pytest.mark.parametrize("percentiles", [(), (0.0,), (100.0,), (math.nan,)])
def test_percentiles_that_make_no_sense_are_refused(percentiles: tuple[float, ...]) -> None:
    """None, an end of the scale, no number."""
    for metric in (KlSpread, NllDifferenceSpread):
        with pytest.raises(ValueError, match="percentiles"):
            metric(percentiles=percentiles)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 50), st.integers(1, 5)), min_size=20, max_size=60),
    st.sampled_from([50.0, 90.0, 95.0]),
)
def test_a_percentile_is_numpys_over_all_positions(pairs: list[tuple[float, int]], percent: float) -> None:
    """Whether each is an entry of its own or many share one, in whatever order they come."""
    written = [value for value, times in pairs for _ in range(times)]
    wanted = pytest.approx(float(np.percentile(written, percent)), rel=1e-9, abs=1e-12)
    reading = PositionPercentile(percent)
    assert reading.value(stack_of([v for v, _ in pairs], [n for _, n in pairs])) == wanted
    assert reading.value(stack_of(written[::-1])) == wanted


@pytest.mark.parametrize(("percent", "least"), [(95.0, 20), (99.0, 100), (99.9, 1000), (90.0, 10), (97.5, 40)])
def test_a_percentile_needs_enough_positions(percent: float, least: int) -> None:
    """Positions count, not entries: one entry of a thousand has a p99.9."""
    reading = PositionPercentile(percent)
    with pytest.raises(Undefined) as undefined:
        reading.value(stack_of([1.0, 2.0], [1, least - 2]))
    assert undefined.value.reason == f"p{percent:g} needs n >= {least}, has {least - 1}"
    assert reading.value(stack_of([1.0], [least])) == 1.0


def test_the_largest_is_the_largest() -> None:
    """However seldom it occurs, and without an interval."""
    stack = stack_of([0.5, 7.0, 0.1], [10, 1, 1000])
    assert Largest().value(stack) == 7.0
    assert Largest().interval(stack, clusters("a", "b", "c"), 0.95) is None


def test_too_few_texts_have_no_interval() -> None:
    """Twenty clusters bound a median and a p95, sixty a p99; entries of one text are one cluster."""
    for percent, n, there in ((50.0, 19, False), (95.0, 20, True), (99.0, 59, False), (99.0, 60, True)):
        stack = stack_of([float(i % 7) for i in range(n * 10)])
        of = clusters(*(i // 10 for i in range(n * 10)))
        assert (PositionPercentile(percent).interval(stack, of, 0.95) is not None) == there


def test_the_interval_is_over_texts() -> None:
    """24 texts of equal positions each: a median drawn from 24 numbers, whichever text each position is of.

    The ends are held against those of 10,000 draws by numpy.
    """
    per_text, n = 30, 24
    stack = stack_of([float(i // per_text) + 1 for i in range(n * per_text)])
    of = clusters(*(i // per_text for i in range(n * per_text)))
    found = PositionPercentile(50.0).interval(stack, of, 0.95)
    draws = np.random.default_rng(1).integers(1, n + 1, (10_000, n))
    wanted = np.quantile(np.median(np.repeat(draws, per_text, axis=1), axis=1), [0.025, 0.975])
    assert found is not None
    assert (found.low, found.high) == pytest.approx(tuple(wanted), abs=1.01)
    assert (found.level, found.method) == (0.95, "cluster bootstrap")
    counted = stack_of([float(i) + 1 for i in range(n)], [per_text] * n)
    again = PositionPercentile(50.0).interval(counted, clusters(*range(n)), 0.95)
    assert again == found, "bins of one text are that text"


def test_a_counted_value_is_drawn_as_often_as_it_occurs() -> None:
    """Texts of one to thirty positions, written out or counted, have one interval."""
    times = list(range(1, 31))
    values = [float((7 * i) % 30) for i in range(30)]
    written = stack_of([value for value, n in zip(values, times, strict=True) for _ in range(n)])
    of = clusters(*(i for i, n in enumerate(times) for _ in range(n)))
    found = PositionPercentile(50.0).interval(stack_of(values, times), clusters(*range(30)), 0.95)
    assert found is not None and found == PositionPercentile(50.0).interval(written, of, 0.95)
    assert found != PositionPercentile(50.0).interval(stack_of(values), clusters(*range(30)), 0.95)


def test_the_interval_is_the_same_whenever_it_is_read() -> None:
    """A report that is written again says the same, whatever else was drawn between."""
    stack = stack_of([float((7 * i) % 23) for i in range(200)])
    of = clusters(*(i % 25 for i in range(200)))
    first = PositionPercentile(90.0).interval(stack, of, 0.95)
    np.random.default_rng(0).normal(size=100)
    assert PositionPercentile(90.0).interval(stack, of, 0.95) == first
    assert first is not None and first.low <= PositionPercentile(90.0).value(stack) <= first.high


def test_identical_arms_spread_over_nothing() -> None:
    """0 at every percentile, and at the largest."""
    stack = stack_of([0.0], [5000])
    assert [reading.value(stack) for reading in KlSpread().readings().values()] == [0.0] * 6


def test_the_widest_positions_are_named() -> None:
    """By the value itself; one that has none stands first."""
    one = text(kl=[0.1, math.nan, 0.3, 0.0], nll=[1.0, 1.0, 1.0, 9.0], nll_ref=[1.0, 1.0, 2.0, 3.0])
    assert [place.at for place in KlSpread().places(one)] == [2, 3, 1]
    assert [place.at for place in NllDifferenceSpread().places(one)] == [4, 3]
