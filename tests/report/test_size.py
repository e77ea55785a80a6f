"""The document that tells the sizes of a pilot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalflow.report.size import size_document
from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.gate_size import gate_sizes
from evalflow.runner.pilot_cost import arm_cost
from evalflow.runner.size import Wanted, size_of
from tests.runner.pilots import pilot_run

GATE = {"figure": "quality/exact", "arm": "new", "floor": 0.7, "bound": "lower"}


def documented(run: ComparedRun, **wanted: float) -> dict[str, Any]:
    """The document of the pair on its one figure, and of the run's gates."""
    costs = {name: arm_cost(run, name) for name in run.plan.arms}
    figures = [size_of(run, "pair", "quality/exact", Wanted(**wanted), costs)]
    return size_document(run, figures, gate_sizes(run, 0.8), costs)


def test_what_it_holds(tmp_path: Path) -> None:
    """Plain JSON: the pilot, sizes with what they cost, seeds with why there are none, gates, arms."""
    document = documented(pilot_run(tmp_path, gates={"high": GATE}), difference=0.1)
    assert json.loads(json.dumps(document)) == document
    assert (document["experiment"], document["n_items"], document["part"], document["exit_code"]) == (
        "four",
        20,
        None,
        0,
    )
    (one,) = document["figures"]
    assert (one["reference"], one["candidate"], one["test"], one["unit"]) == ("old", "new", "exact sign test", "share")
    assert one["pilot"]["mde"] == one["shows"]
    (size,) = one["sizes"]
    assert (size["kind"], size["value"], size["reason"], size["beyond_dataset"]) == ("difference", 0.1, None, True)
    assert size["cost"]["rows"] == 2 * size["asked"]
    assert size["cost"]["minutes"] == pytest.approx(2 * size["asked"] * 0.2 / 60)
    assert size["cost"]["tokens_in"] is None
    assert one["seeds"]["reason"].startswith("both arms are greedy") and one["seeds"]["choices"] == []
    (gate,) = document["gates"]
    assert gate["cost"]["rows"] == gate["asked"]
    assert {arm["arm"]: arm["undefined"]["tokens_in"] for arm in document["arms"]} == dict.fromkeys(
        ("old", "new"), "20 of 20 answers lack a count of tokens"
    )


def test_where_nothing_has_a_size_the_answer_is_unreadable(tmp_path: Path) -> None:
    """Exit code 2, and the reason; numbers are None."""
    document = documented(pilot_run(tmp_path, {("old", 0): "www", ("new", 0): "rrr"}))
    (one,) = document["figures"]
    assert (document["exit_code"], one["pilot"], one["sizes"], one["seeds"]) == (2, None, [], None)
    assert one["reason"].startswith("zero variance")


def test_a_family_of_tests_is_told(tmp_path: Path) -> None:
    """Holm may ask the smallest of two p-values for half of alpha."""
    other = {"_target_": "evalflow.metric.contains.Contains"}
    exact = {"_target_": "evalflow.metric.exact_match.ExactMatch"}
    run = pilot_run(
        tmp_path,
        metrics={"exact": exact, "found": other},
        comparison={"figures": ["quality/exact", "quality/found"]},
    )
    (note,) = documented(run)["notes"]
    assert note.startswith("the run corrects 2 tests by Holm") and note.endswith("--alpha 0.025 plans for that")
