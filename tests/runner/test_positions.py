"""The positions of an arm's texts as one stack: all of them while they are few, and beyond that bins."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalflow.metric.document import Values
from evalflow.metric.protocol import Answer
from evalflow.metric.spread import KlSpread, Spread
from evalflow.numeric.histogram import RELATIVE_ERROR
from evalflow.numeric.quantile import weighted_type7
from evalflow.record import Row
from evalflow.runner.plan import Plan
from evalflow.runner.positions import EXACT, Positions, positions_of
from evalflow.runner.score import score
from tests.conftest import ITEMS
from tests.runner.scored_texts import text_plan, walked
from tests.runner.test_score import ended, row

pytestmark = pytest.mark.usefixtures("home")


def found(plan: Plan, rows: list[Row], where: dict[str, Any] | None = None, **settings: Any) -> Positions:
    arm = score(plan, rows, (), ended(plan)).arms["one"]
    return positions_of(settings.pop("metric", KlSpread()), arm, where or {}, arm.planned.arm.seeds, **settings)


def counts(positions: Positions) -> tuple[int, int, int]:
    return positions.n_total, positions.n_scored, positions.n_error


def test_few_positions_are_each_themselves() -> None:
    """With their values, once each, and of the cluster of their text."""
    items = [{**ITEMS[0], "cluster": "c"}, {**ITEMS[1], "cluster": "c"}, ITEMS[2]]
    rows = [walked("a", [0.5, 0.25]), walked("b", [0.125]), walked("c", [0.0, 1.0])]
    positions = found(text_plan(items), rows)
    assert positions.stack.tolist() == [[0.5, 1], [0.25, 1], [0.125, 1], [0.0, 1], [1.0, 1]]
    assert positions.clusters.tolist() == ["c", "c", "c", "\0c", "\0c"]
    assert counts(positions) == (5, 5, 0)


def test_what_is_missing_is_counted() -> None:
    """A position without a finite value, a text without the columns, one in error, and one that never came."""
    rows = [
        walked("a", [0.5, math.nan, math.inf, 0.25]),
        row("b", ""),  # no columns: excluded, as many as the longest text has
        row("c", None),  # an error: as many
        walked("d", [math.nan]),
    ]
    positions = found(text_plan(ITEMS[:5]), rows)
    assert positions.stack.tolist() == [[0.5, 1], [0.25, 1]]
    assert counts(positions) == (4 + 4 + 4 + 1 + 4, 2, 8)


def test_where_chooses_texts() -> None:
    """As it chooses rows everywhere else."""
    items = [{**item, "kind": kind} for item, kind in zip(ITEMS[:3], "xyx", strict=True)]
    rows = [walked(name, [float(value)]) for value, name in enumerate("abc")]
    assert found(text_plan(items), rows, {"kind": "x"}).stack[:, 0].tolist() == [0, 2]
    assert found(text_plan(items), rows, {"kind": "z"}).stack.shape == (0, 2)


def test_no_position_at_all() -> None:
    """An empty stack that a reader may still ask for its columns."""
    positions = found(text_plan(ITEMS[:1]), [])
    assert (positions.stack.shape, len(positions.clusters), counts(positions)) == ((0, 2), 0, (1, 0, 1))


def spread(rng: np.random.Generator, n: int) -> list[float]:
    """Divergences as they are: over many powers of ten, some of them 0."""
    values = np.exp(rng.normal(-8, 3, n))
    values[:: max(1, n // 5)] = 0.0
    return values.tolist()


@pytest.mark.parametrize("exact", [0, 1, 59, 60, 130, 299])
def test_many_are_counted_in_bins(exact: int) -> None:
    """Whichever text tips it over: no position is lost, each stays with its text, and every percentile is as near to
    the truth as a bin is wide."""
    rng = np.random.default_rng(exact)
    texts = [spread(rng, 50) for _ in ITEMS]
    positions = found(text_plan(), [walked(i["id"], kl) for i, kl in zip(ITEMS, texts, strict=True)], exact=exact)
    assert positions.stack[:, 1].sum() == 300
    assert len(positions.stack) < 300, "the zeros of a text share a bin"
    for item, kl in zip(ITEMS, texts, strict=True):
        own = positions.stack[positions.clusters == f"\0{item['id']}"]
        assert own[:, 1].sum() == 50
        assert np.repeat(own[:, 0], own[:, 1].astype(int)) == pytest.approx(np.sort(kl), rel=RELATIVE_ERROR, abs=0)
    order = np.argsort(positions.stack[:, 0])
    ordered, times = positions.stack[order].T
    for q in (0.0, 0.1, 0.5, 0.9, 0.99, 1.0):
        wanted = float(np.quantile(np.concatenate(texts), q))
        assert weighted_type7(ordered, times, q) == pytest.approx(wanted, rel=RELATIVE_ERROR, abs=0)


def test_at_the_limit_all_are_kept() -> None:
    """One more is too many, and then none is kept by itself, whether the text before it just fitted or not."""
    rows = [walked(item["id"], [0.1, 0.1, 0.2]) for item in ITEMS]
    assert len(found(text_plan(), rows, exact=18).stack) == 18
    for exact in (17, 16, 15, 3, 2, 0):
        assert len(found(text_plan(), rows, exact=exact).stack) == 12, exact
    assert EXACT == 1_000_000


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.floats(0, 9), max_size=6), min_size=6, max_size=6), st.integers(0, 40))
def test_no_limit_loses_a_position(texts: list[list[float]], exact: int) -> None:
    """Neither those before it nor those after."""
    rows = [walked(item["id"], kl) for item, kl in zip(ITEMS, texts, strict=True) if kl]
    positions = found(text_plan(), rows, exact=exact)
    for item, kl in zip(ITEMS, texts, strict=True):
        assert positions.stack[positions.clusters == f"\0{item['id']}", 1].sum() == len(kl)
    assert positions.n_scored == sum(map(len, texts))


@dataclass(frozen=True)
class Long(Spread):
    """Half a million positions of every text, made when they are asked for; 2,048 bins hold them."""

    figure: ClassVar[str | None] = "parity/long"
    percentiles: tuple[float, ...] = (50.0,)

    def values(self, unit: Answer) -> Values | None:
        return np.random.default_rng(ord(unit.item.id)).uniform(0.25, 1.0, 500_000)


def test_memory_does_not_grow_with_the_length_of_texts() -> None:
    """Beyond the limit a text leaves its bins and no more: six texts need no more at once than two."""
    peaks = []
    for n in (2, 6):
        plan = text_plan(ITEMS[:n])
        arm = score(plan, [row(item["id"], "") for item in ITEMS[:n]], (), ended(plan)).arms["one"]
        tracemalloc.start()
        positions = positions_of(Long(), arm, {}, (0,), exact=1000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (positions.n_scored, len(positions.stack) <= n * 2049) == (n * 500_000, True)
    assert peaks[1] < peaks[0] + 500_000, peaks
