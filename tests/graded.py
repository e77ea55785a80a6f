"""A finished run, and what grades it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evalflow.command.options import Options
from evalflow.command.run import carry
from tests.conftest import ITEMS, plan_of

RUBRIC = "Asked: {prompt}\n<answer {mark}>\n{answer}\n</answer {mark}>\nEnd with a line such as Rating: 3"
JUDGE = "evalflow.model.judge.Judge"
BY_TEXT = {
    f"\n{text}\n</answer": f"It is {text}.\nRating: {grade}"
    for text, grade in {"right": 5, "near": 4, "wrong": 1}.items()
}
"""What the scripted judge replies to which answer."""


def finished(items: Iterable[Mapping[str, Any]] = ITEMS, **parts: Any) -> Path:
    """The folder of a run of `plan_of(items, **parts)`, from the current folder."""
    done = carry(plan_of(list(items), **parts), Options(allow=("tests",)))
    assert done is not None
    return done.folder


def scripted(**table: Any) -> dict[str, Any]:
    """A model that answers from a table: `right` unless it says otherwise."""
    return {"_target_": "evalflow.model.scripted.Scripted", "otherwise": "right", **table}


def grading(run: Path | str, *arms: str, judge: Mapping[str, Any] | None = None, **parts: Any) -> dict[str, Any]:
    """The parts of an experiment in which a judge grades these arms of a run; `parts` replace them."""
    inner = scripted(otherwise="I cannot say.", by_text=BY_TEXT) if judge is None else judge
    return {
        "name": "grading",
        "dataset": {"_target_": "evalflow.dataset.graded_run.GradedRun", "run": str(run)},
        "model": {"_target_": JUDGE, "run": str(run), "arm": "???", "rubric": RUBRIC, "judge": dict(inner)},
        "arms": {name: {"model": {"arm": name}} for name in arms},
        "metrics": {
            "grade": {"_target_": "evalflow.metric.grade.Grade"},
            "agreement": {"_target_": "evalflow.metric.judge_agreement.JudgeAgreement", "ratings": str(run)},
            "rated": {"_target_": "evalflow.metric.judge_agreement.RatedShare", "ratings": str(run)},
            "by_length": {"_target_": "evalflow.metric.grade_by_length.GradeByLength"},
        },
        **parts,
    }


def rate(run: Path, given: Iterable[tuple[str, str, str, float]], seed: int = 0) -> None:
    """What people gave the answers of a run: (rater, item, arm, rating)."""
    rows = [json.loads(line) for line in (run / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = {(row["item_id"], row["arm"], row["seed"]): row["draft"] for row in rows}
    with (run / "ratings.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["rater", "item", "arm", "seed", "rating", "text"])
        lines.writerows([rater, item, arm, seed, value, texts[item, arm, seed]] for rater, item, arm, value in given)
