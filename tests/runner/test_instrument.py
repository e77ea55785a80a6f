"""The instrument: what two numbers must share to be comparable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalflow.runner.instrument import environment, instrument
from tests.conftest import plan_of

EXACT = "evalflow.metric.exact_match.ExactMatch"
HASHES = ("hash", "quality_hash", "latency_hash", "judging_hash")


@pytest.fixture(autouse=True)
def _elsewhere(home: Path) -> None:
    """Plans write their items to the current folder."""


def hashes(taken: dict[str, Any] | None = None, **parts: Any) -> dict[str, str]:
    whole = instrument(plan_of(**parts), {"machine": "a"} if taken is None else taken, {})
    return {name: whole[name] for name in HASHES}


def changed(after: dict[str, str]) -> set[str]:
    before = hashes()
    return {name for name in HASHES if before[name] != after[name]}


def test_the_same_plan_in_the_same_place_is_the_same_instrument() -> None:
    """Nothing in the instrument is drawn or taken from a clock."""
    assert changed(hashes()) == set()


def test_another_machine_changes_times_and_no_answer() -> None:
    """Quality stays comparable where latency is not."""
    assert changed(hashes({"machine": "b"})) == {"hash", "latency_hash"}


def test_another_concurrency_changes_times_and_no_answer() -> None:
    """A condition of an arm is part of what its times depend on."""
    assert changed(hashes(arms={"one": {"concurrency": 6}})) == {"hash", "latency_hash"}


def test_a_floor_that_was_moved_shows() -> None:
    """Gates are part of the whole instrument, though no figure depends on them."""
    assert changed(hashes(gates={"g": {"figure": "quality/exact", "floor": 0.5}})) == {"hash", "judging_hash"}


def test_another_metric_changes_what_quality_means() -> None:
    """Other items or other metrics make other numbers, timed or not."""
    contains = {"exact": {"_target_": "evalflow.metric.contains.Contains"}}
    assert changed(hashes(metrics=contains)) == {"hash", "quality_hash", "latency_hash"}


def test_a_setting_without_a_plain_form_is_told_by_its_repr() -> None:
    """A user's metric may hold anything; the instrument still can be written down."""
    held = {"exact": {"_target_": EXACT}, "odd": {"_target_": "tests.stand_ins.Holding"}}
    described = instrument(plan_of(metrics=held), {}, {})["metrics"]["odd"]
    assert described == {"class": "tests.stand_ins.Holding", "version": 1, "settings": {"names": "{'a'}"}}


def test_the_environment_names_versions_and_machine() -> None:
    """What is installed is told without importing it; what is not is None."""
    found = environment()
    assert set(found) == {"evalflow", "python", "packages", "machine"}
    assert found["packages"]["numpy"] and found["machine"]["cores"] >= 1
