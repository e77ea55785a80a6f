"""The items of a finished run as a dataset."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalflow.dataset.graded_run import GradedRun
from evalflow.errors import StoredRunError
from evalflow.runner.plan import build_plan
from tests.conftest import config, faults_of
from tests.graded import finished, grading

pytestmark = pytest.mark.usefixtures("home")


def test_its_items_are_those_of_the_run() -> None:
    """To the last field, with its fingerprints: what is paired by item there is here."""
    run = finished()
    plan = build_plan(config(**grading(run, "one")), ("tests",))
    assert GradedRun(str(run)).items() == plan.items
    assert plan.fingerprints["content_fp"] == build_plan(config(), ()).fingerprints["content_fp"]
    assert GradedRun(str(run)).part() is None


def test_a_part_stays_a_part(home: Path) -> None:
    """Grading a smoke run does not make it whole, and a part of a part says both."""
    run = finished(limit=4)
    assert build_plan(config(**grading(run, "one")), ("tests",)).selection.part == "smoke run: limit 4"
    fewer = build_plan(config(**grading(run, "one", limit=2)), ("tests",))
    assert fewer.selection.part == "smoke run: limit 4, smoke run: limit 2"
    sharded = build_plan(config(**grading(run, "one", shard={"index": 0, "of": 2})), ("tests",))
    assert sharded.selection.part == "smoke run: limit 4, shard 0 of 2"


def test_a_run_that_cannot_be_read_is_a_fault_of_the_config() -> None:
    """Before anything is started; so is one that is not named, and once."""
    with pytest.raises(StoredRunError, match="there is no such run under elsewhere"):
        GradedRun("20261130-000000-000000", outputs="elsewhere").items()
    (fault,) = faults_of(config(**grading("20261130-000000-000000", "one")))
    said = "20261130-000000-000000: there is no such run under outputs"
    assert fault == f"{said}; give the run's folder, or see evalflow list"
