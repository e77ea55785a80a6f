"""The document of a comparison: its schema, its exit code, and its table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalflow.report.compare import (
    COMPARE_COLUMNS,
    OCCASIONS,
    Gated,
    compare_csv,
    compare_schema,
    comparison_document,
)
from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.regression import Regression, held_against
from evalflow.runner.run_pair import Asked, pair_runs
from tests.report.by_hand import RUN_ID
from tests.runner.compared import EXACT, ITEMS, compared, one

RIGHT = "r" * 12


def document(runs: Sequence[ComparedRun], regression: Regression | None = None, **asked: Any) -> dict[str, Any]:
    """The document of the runs, the first being the reference, valid under the shipped schema."""
    pairs = pair_runs(runs[0], runs[1:], Asked(**asked))
    gated = None if regression is None else Gated(regression, held_against(regression, pairs))
    made = comparison_document(pairs, gated)
    assert [error.message for error in Draft202012Validator(compare_schema()).iter_errors(made)] == []
    assert json.loads(json.dumps(made)) == made
    return made


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_the_schema_is_one() -> None:
    """The shipped schema is itself valid, and of the version that documents carry."""
    Draft202012Validator.check_schema(compare_schema())
    assert compare_schema()["properties"]["schema_version"] == {"const": 1}


def test_what_was_compared_and_what_was_not(tmp_path: Path) -> None:
    """Every figure of every pair of arms is there once, as one of four kinds; only tests count into the family."""
    told = document(
        [
            compared(tmp_path, "A"),
            compared(tmp_path, "B", arms={"base": {"concurrency": 3}, "new": {}, "bad": {}}, comparisons={}, gates={}),
        ]
    )
    (candidate,) = told["candidates"]
    kinds = {(figure["arms"][0], figure["figure"]): figure["kind"] for figure in candidate["figures"]}
    assert len(kinds) == len(candidate["figures"])
    assert kinds["base", "quality/exact"] == "compared"
    assert kinds["base", "n/error_share"] == "beside"
    assert kinds["base", "lat/ttft_s/p50"] == "refused"
    assert kinds["base", "stability/seed_sd"] == "undefined"
    assert told["n_compared"] == told["family"]["n_tested"] == 3
    assert (told["gate"], told["exit_code"]) == (None, 0)
    assert told["notes"] == [OCCASIONS]
    assert candidate["arms"] == {
        "paired": [["base", "base"], ["new", "new"], ["bad", "bad"]],
        "only_reference": [],
        "only_candidate": [],
    }
    assert told["reference"]["run_id"] == candidate["run"]["run_id"] == RUN_ID
    concurrency = next(one for one in candidate["differences"] if one["field"] == "concurrency")
    assert concurrency == {
        "field": "concurrency",
        "arms": ["base", "base"],
        "reference": "1",
        "candidate": "3",
        "figures": ["lat/ttft_s/p50", "lat/ttft_s/p95"],
        "why": "a time depends on how many requests are under way",
    }


def test_a_gate_decides_the_exit_code(tmp_path: Path) -> None:
    """Pass, fail and unreadable are 0, 1 and 2; what was held is told with its reason."""
    reference = one(tmp_path, "A", RIGHT)
    codes = {}
    for label, said, gate in (
        ("B", RIGHT, Regression()),
        ("C", "w" * 12, Regression()),
        ("D", RIGHT, Regression(max_loss=0.02)),
        ("E", RIGHT, Regression(max_loss=0.3)),
    ):
        told = document([reference, one(tmp_path, label, said)], gate)
        codes[label] = (told["exit_code"], told["gate"]["outcome"], told["gate"]["wanted"])
    assert codes == {
        "B": (0, "pass", "not shown worse"),
        "C": (1, "fail", "not shown worse"),
        "D": (2, "unreadable", "loses less than 0.02"),
        "E": (0, "pass", "loses less than 0.3"),
    }


def test_nothing_in_common_is_unreadable(tmp_path: Path) -> None:
    """Without a gate too: code 2, and the note says what to do."""
    other = compared(
        tmp_path,
        "B",
        said={("hot", 0): RIGHT},
        arms={"hot": {}},
        items=ITEMS,
        metrics={"exact": EXACT},
        comparisons={},
        gates={},
        later=(),
    )
    told = document([one(tmp_path, "A", RIGHT), other])
    assert (told["exit_code"], told["n_compared"], told["candidates"][0]["figures"]) == (2, 0, [])
    assert told["notes"][0] == "B has no arm of A's (base) but hot: --arms OLD=NEW"
    assert document([one(tmp_path, "A", RIGHT), other], Regression())["exit_code"] == 2


def test_items_of_one_run_are_named(tmp_path: Path) -> None:
    """A note counts and names the first of them; the document has them all."""
    part = one(tmp_path, "B", "r" * 6, items=(*ITEMS[:5], {**ITEMS[5], "id": "new"}))
    told = document([one(tmp_path, "A", RIGHT), part])
    assert told["notes"][0] == "B shares 5 items with A: 7 only in A (f, g, h and 4 more), 1 only in B (new)"
    assert told["candidates"][0]["items"]["only_reference"] == list("fghijkl")


def test_the_table_has_a_record_per_figure(tmp_path: Path) -> None:
    """What was compared has its difference, what stands beside its intervals, the rest its reason."""
    changed = one(tmp_path, "B", "w" * 10 + "rr", items=ITEMS)
    told = document([one(tmp_path, "A", RIGHT), changed], Regression())
    text = compare_csv(told)
    listed = rows(text)
    assert list(listed[0]) == list(COMPARE_COLUMNS)
    exact = next(row for row in listed if row["figure"] == "quality/exact")
    assert (exact["kind"], exact["conclusion"], exact["gate"], exact["reason"]) == ("compared", "worse", "fail", "")
    assert (exact["candidate"], exact["arm_reference"], exact["arm_candidate"]) == (RUN_ID, "base", "base")
    assert float(exact["delta"]) == pytest.approx(-10 / 12)
    assert (exact["reference_value"], exact["n_pairs"], exact["n_unpaired"]) == ("1.0", "12", "0")
    errors = next(row for row in listed if row["figure"] == "n/error_share")
    assert (errors["kind"], errors["reference_value"], errors["candidate_value"]) == ("beside", "0.0", "0.0")
    assert errors["reference_high"] and errors["delta"] == "" and errors["gate"] == ""


def test_an_undefined_figure_keeps_its_reason_in_the_table(tmp_path: Path) -> None:
    """An empty cell for the number, the words in their column."""
    listed = rows(compare_csv(document([compared(tmp_path, "A"), compared(tmp_path, "B")])))
    lost = next(row for row in listed if row["kind"] == "undefined")
    assert lost["reason"] and lost["delta"] == lost["reference_value"] == ""
