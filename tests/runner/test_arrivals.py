"""When an open loop sends, and that nothing in flight can hold it up."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any, Literal

import pytest

from evalflow.arm import Arm
from evalflow.metric.latency import DispatchDelay, E2e
from evalflow.metric.protocol import Answer
from evalflow.model.scripted import Scripted
from evalflow.record import Decoding, Item, Row
from evalflow.runner.arrivals import arrivals
from evalflow.runner.parts import PlannedArm
from evalflow.runner.walk import walk
from tests.conftest import ITEMS
from tests.runner.test_execute import SCRIPTED, run, trace

MANY = [Item(f"i{number}", "p") for number in range(5_001)]


def schedule(
    rate: float, kind: Literal["poisson", "constant"], root: int = 0, items: list[Item] = MANY, seed: int = 0
) -> dict[str, float]:
    """Item id -> when it is due (s after the first)."""
    arm = Arm(rate=rate, arrivals=kind, seeds=(seed,))
    planned = PlannedArm("one", arm, Scripted(otherwise="x"), Decoding())
    (block,) = walk(planned, items, root, "salt")
    return {step.item.id: due for due, step in arrivals(planned, block.steps, root)}


def gaps(due: dict[str, float]) -> list[float]:
    return [after - before for before, after in pairwise(due.values())]


def test_constant_arrivals_are_one_gap_apart() -> None:
    """At 4 a second: at 0, 0.25, 0.5 s and so on, in the walk's order."""
    assert schedule(4.0, "constant", items=MANY[:4]) == {"i0": 0.0, "i1": 0.25, "i2": 0.5, "i3": 0.75}


@pytest.mark.parametrize("root", [0, 1, 2**40])
def test_poisson_gaps_are_exponential(root: int) -> None:
    """Over 5,000 gaps at 20 a second: mean and deviation near 0.05 s, and the share over the mean near 1/e.

    Four standard errors: of the mean 1 / sqrt n of it, of the deviation sqrt 2 times that, of the share 0.0068.
    """
    found = gaps(schedule(20.0, "poisson", root))
    assert len(found) == 5_000
    assert min(found) > 0.0
    assert fmean(found) == pytest.approx(0.05, rel=4 / 5_000**0.5)
    assert pstdev(found) == pytest.approx(0.05, rel=4 * (2 / 5_000) ** 0.5)
    assert fmean(gap > 0.05 for gap in found) == pytest.approx(0.3679, abs=4 * 0.0068)


def test_the_first_request_is_due_at_once() -> None:
    """A schedule begins with its first arrival."""
    assert schedule(1.0, "poisson")["i0"] == schedule(1.0, "constant")["i0"] == 0.0


def test_a_schedule_is_drawn_from_the_root_seed() -> None:
    """The same seed gives the same schedule to the last digit; another root seed, or another pass, another."""
    first = schedule(20.0, "poisson")
    assert schedule(20.0, "poisson") == first
    assert schedule(20.0, "poisson", root=1) != first
    assert schedule(20.0, "poisson", seed=1) != first


def test_a_schedule_at_another_rate_is_the_same_one_stretched() -> None:
    """At half the rate every request is due twice as late."""
    fast, slow = schedule(20.0, "poisson"), schedule(10.0, "poisson")
    assert list(slow.values()) == pytest.approx([2 * due for due in fast.values()])


def opened(rate: float, items: int = 4, **model: Any) -> list[Row]:
    """Rows of an open loop with constant arrivals, in the order in which they were due."""
    arms = {"one": {"rate": rate, "arrivals": "constant"}}
    stored = run(items=ITEMS[:items], model={"_target_": SCRIPTED, "otherwise": "right", **model}, arms=arms)
    return sorted(stored.rows, key=lambda row: row.times.scheduled or 0.0)


@pytest.mark.usefixtures("home")
def test_slow_answers_do_not_delay_what_is_sent_after_them() -> None:
    """Answers of 0.5 s at 50 a second: all four requests are sent before the first is answered."""
    rows = opened(50.0, delay_s=0.5)
    assert [row.item_id for row in rows] == list("abcd")
    first_end = min(row.times.end for row in rows if row.times.end)
    assert all(row.times.sent is not None and row.times.sent < first_end for row in rows)


@pytest.mark.usefixtures("home")
def test_requests_are_due_a_gap_apart_and_never_sent_before() -> None:
    """What is scheduled is the plan's own, however late the driver is; each is sent at that time or after it."""
    rows = opened(50.0)
    due = [row.times.scheduled for row in rows]
    assert [one - due[0] for one in due] == pytest.approx([0.0, 0.02, 0.04, 0.06], abs=1e-6)
    assert all(row.times.sent >= row.times.scheduled for row in rows)


@pytest.mark.usefixtures("home")
def test_latency_counts_from_when_a_request_was_due() -> None:
    """What the driver was late by is the reader's wait too, and stands beside it as the dispatch delay."""
    rows = opened(50.0, delay_s=0.01)
    for row in rows:
        times, unit = row.times, Answer(Item(row.item_id, "p"), row)
        assert times.scheduled is not None and times.sent is not None and times.end is not None
        assert E2e().stats(unit) == pytest.approx((times.end - times.scheduled,))
        assert DispatchDelay().stats(unit) == pytest.approx((times.sent - times.scheduled,))
    assert all(row.times.sent != row.times.scheduled for row in rows)


@pytest.mark.usefixtures("home")
def test_a_closed_loop_has_no_schedule() -> None:
    """Its requests are due when there is room for them, so that nothing was scheduled."""
    assert {row.times.scheduled for row in run(items=ITEMS[:2]).rows} == {None}


@pytest.mark.usefixtures("home")
def test_a_request_that_failed_was_due_too() -> None:
    """An error row of an open loop says when it was to be sent, and that it was."""
    rows = opened(50.0, otherwise=None)
    assert {row.status for row in rows} == {"error"}
    assert all(row.times.scheduled is not None and row.times.sent is not None for row in rows)


@pytest.mark.usefixtures("home")
def test_an_open_loop_asks_every_item_under_every_seed() -> None:
    """Each pass once, whatever is still in flight, and the arm comes to its end."""
    arms = {"one": {"rate": 200.0, "seeds": [0, 1]}}
    stored = run(arms=arms)
    assert sorted((row.seed, row.item_id) for row in stored.rows) == [(seed, i) for seed in (0, 1) for i in "abcdef"]
    assert trace(stored).ended is not None
