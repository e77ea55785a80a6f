"""How many items a gate on an end of a rate's interval takes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from evalflow.numeric.rate_power import items_to_clear
from evalflow.runner.gate_size import gate_sizes
from tests.runner.pilots import UP_6_DOWN_2, items, pilot_run

FLOOR: dict[str, Any] = {"figure": "quality/exact", "arm": "new", "floor": 0.7, "bound": "lower"}


def test_a_floor_under_a_low_end(tmp_path: Path) -> None:
    """Eighteen of twenty are right: the size is that of a rate of 0.9, without a design effect."""
    (one,) = gate_sizes(pilot_run(tmp_path, gates={"high": FLOOR}), 0.8)
    assert (one.gate, one.arm, one.n, one.rate, one.threshold) == ("high", "new", 20, 0.9, "lower end >= 0.7")
    assert one.design_effect == pytest.approx(1.0)
    assert one.asked == items_to_clear(0.9, 0.7)


def test_a_ceiling_over_a_high_end_is_its_mirror(tmp_path: Path) -> None:
    """A share of 0.1 under 0.3 takes what 0.9 over 0.7 does."""
    said = {("old", 0): "w" * 20, ("new", 0): "r" * 2 + "w" * 18}
    ceiling = {"figure": "quality/exact", "arm": "new", "ceiling": 0.3, "bound": "upper"}
    (one,) = gate_sizes(pilot_run(tmp_path, said, gates={"low": ceiling}), 0.8)
    assert one.asked == items_to_clear(0.9, 0.7)


def test_of_every_arm_where_none_is_named(tmp_path: Path) -> None:
    """Controls aside; one that is not above the floor will not clear it with more."""
    arms = {"old": {}, "new": {}, "bad": {"control": True}}
    gates = {"all": {key: value for key, value in FLOOR.items() if key != "arm"}}
    said = {**UP_6_DOWN_2, ("old", 0): "r" * 14 + "w" * 6, ("bad", 0): "w" * 20}
    old, new = gate_sizes(pilot_run(tmp_path, said, arms=arms, gates=gates), 0.8)
    assert (old.arm, old.asked, old.reason) == ("old", None, "the rate is not above the floor")
    assert new.arm == "new" and new.asked is not None


def test_items_that_depend_on_each_other_count_for_less(tmp_path: Path) -> None:
    """Pairs that are always right or wrong together are worth half: the size doubles, but for a part in twenty."""
    said = {("old", 0): "w" * 20, ("new", 0): "r" * 18 + "w" * 2}
    (alone,) = gate_sizes(pilot_run(tmp_path, said, gates={"high": FLOOR}), 0.8)
    (paired,) = gate_sizes(pilot_run(tmp_path, said, per_cluster=2, gates={"high": FLOOR}), 0.8)
    assert paired.design_effect == pytest.approx(2 * 19 / 18)
    assert alone.asked is not None and paired.asked == math.ceil(alone.asked * 2 * 19 / 18)


def test_where_and_what_was_lost(tmp_path: Path) -> None:
    """Only the rows that the gate reads count, and of ten asked for nine that answered as many more are asked."""
    questions = tuple({**one, "kind": "x" if place < 10 else "y"} for place, one in enumerate(items(20)))
    said = {("old", 0): "w" * 20, ("new", 0): "e" + "r" * 9 + "w" * 10}
    run = pilot_run(tmp_path, said, items=questions, gates={"high": {**FLOOR, "where": {"kind": "x"}}})
    (one,) = gate_sizes(run, 0.8)
    assert (one.n, one.rate) == (9, 1.0)
    assert one.asked == math.ceil(items_to_clear(1.0, 0.7) * 10 / 9)


@pytest.mark.parametrize(
    "gate",
    [
        {"figure": "quality/exact", "floor": 0.7},
        {"figure": "quality/exact", "arm": "old", "floor": 0.9, "bound": "upper"},
        {"figure": "quality/exact", "arm": "old", "floor": 0.9, "bound": "lower", "expect": "fail"},
        {"comparison": "pair", "figure": "quality/exact", "floor": 0.1, "bound": "lower"},
        {"figure": "n/error_share", "ceiling": 0.1},
    ],
)
def test_gates_that_more_items_do_not_settle_are_left_out(tmp_path: Path, gate: dict[str, Any]) -> None:
    """On a value, on the far end, meant to fail, or of a comparison."""
    assert gate_sizes(pilot_run(tmp_path, gates={"one": gate}), 0.8) == []


def test_nothing_scored_and_one_cluster_have_no_size(tmp_path: Path) -> None:
    """Each with its reason."""
    (empty,) = gate_sizes(pilot_run(tmp_path, {("old", 0): "www", ("new", 0): "eee"}, gates={"high": FLOOR}), 0.8)
    assert empty.asked is None and empty.reason is not None and "3 errors" in empty.reason
    run = pilot_run(tmp_path, {("old", 0): "www", ("new", 0): "rrr"}, per_cluster=3, gates={"high": FLOOR})
    (one,) = gate_sizes(run, 0.8)
    assert (one.asked, one.reason) == (None, "fewer than 2 clusters")
