"""What a review of answers by people found, in one document with a schema version."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from evalflow.record import Figure
from evalflow.report.compare_lines import few
from evalflow.runner.mean_ratings import MeanRatings
from evalflow.runner.preference import Preference
from evalflow.runner.rater_agreement import Agreement
from evalflow.runner.review_import import read_said
from evalflow.runner.review_key import read_keys
from evalflow.runner.review_result import ReviewResult, review_result
from evalflow.runner.stored_run import StoredRun, load_run
from evalflow.strict_json import plain
from evalflow.whole_file import as_json, replace_text

REVIEW = "review.json"
REVIEW_SCHEMA_VERSION = 1
_FIGURE = ("value", "low", "high", "level", "method", "n_total", "n_scored", "reason")


def review_document(run: StoredRun, result: ReviewResult) -> dict[str, Any]:
    """All that was found, as plain JSON values."""
    document = {
        "schema_version": REVIEW_SCHEMA_VERSION,
        "run_id": run.run_id,
        "experiment": run.state["experiment"],
        "raters": [asdict(one) for one in result.raters],
        "sheets": [
            {
                "sheet": sheet.sheet,
                "kind": sheet.kind,
                "scale": sheet.scale,
                "seed": sheet.seed,
                "question": sheet.asks,
                "n_items": len(sheet.item_ids),
                "n_tickets": len(sheet.tickets),
                "n_identical": len(sheet.identical),
            }
            for sheet in result.sheets
        ],
        "left_out": [asdict(one) for one in result.left_out],
        "preferences": [_preference(one) for one in result.preferences],
        "ratings": None if result.ratings is None else _ratings(result.ratings),
        "notes": _notes(result),
    }
    written: dict[str, Any] = json.loads(json.dumps(document, ensure_ascii=True, allow_nan=False, default=plain))
    return written


def review_schema() -> dict[str, Any]:
    """The JSON Schema that every such document obeys."""
    loaded: dict[str, Any] = json.loads((files("evalflow.report") / "review.schema.json").read_text(encoding="utf-8"))
    return loaded


def write_review(folder: Path, document: Mapping[str, Any]) -> Path:
    """Write review.json into a run's folder, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    return replace_text(folder / REVIEW, as_json(document))


def reviewed(folder: Path) -> dict[str, Any] | None:
    """What people said of a stored run, added up from what its folder holds of it now; None where nobody said a thing.

    Raises:
        EvalflowError: what was said, a sheet's key or the run is damaged, or of something else.
    """
    said = read_said(folder)
    if not said.all:
        return None
    run = load_run(folder)
    return review_document(run, review_result(run, said, read_keys(folder, run.run_id)))


def _figure(figure: Figure) -> dict[str, Any]:
    return {name: getattr(figure, name) for name in _FIGURE}


def _preference(one: Preference) -> dict[str, Any]:
    return {
        "reference": one.reference,
        "candidate": one.candidate,
        "conclusion": one.conclusion,
        "words": one.words,
        "share": _figure(one.share),
        "decided": _figure(one.decided),
        "left": _figure(one.left),
        "choices": asdict(one.choices),
        "items": asdict(one.items),
        "n_units": one.n_units,
        "n_identical": one.n_identical,
        "p": one.p,
        "p_adjusted": one.p_adjusted,
        "mde": one.mde,
        "test": f"exact sign test over {'clusters' if one.n_units < one.share.n_scored else 'items'}",
        "by_rater": [
            {"rater": own.rater, "counts": asdict(own.counts), "share": _figure(own.share)} for own in one.by_rater
        ],
        "agreement": _agreement(one.agreement),
    }


def _ratings(ratings: MeanRatings) -> dict[str, Any]:
    return {
        "scale": ratings.scale,
        "arms": [
            {
                "arm": one.arm,
                "mean": _figure(one.mean),
                "counts": [{"rating": value, "n": n} for value, n in one.counts.items()],
            }
            for one in ratings.arms
        ],
        "by_rater": [asdict(one) for one in ratings.by_rater],
        "differences": [asdict(one) for one in ratings.differences],
        "agreement": _agreement(ratings.agreement),
    }


def _agreement(agreement: Agreement) -> dict[str, Any]:
    return {
        "level": agreement.level,
        "alpha": _figure(agreement.alpha),
        "kappas": [{"raters": list(one.raters), **_figure(one.figure)} for one in agreement.kappas],
    }


def _notes(result: ReviewResult) -> list[str]:
    """What a reader must know to read the rest."""
    n = len(result.raters)
    notes = [
        "one rater: nothing here says how far another would agree"
        if n == 1
        else f"intervals and tests are over items: of other raters than these {n} they say nothing"
    ]
    shown = [one for one in result.raters if one.n_shown is not None]
    n_blank = sum((one.n_shown or 0) - one.n_rated for one in shown)
    if n_blank:
        notes.append(f"not all was rated: {n_blank} of {sum(one.n_shown or 0 for one in shown)} are missing")
    whys: dict[tuple[str, str], list[str]] = {}
    for one in result.left_out:
        whys.setdefault((one.arm, one.why), []).append(one.item_id)
    notes += [f"{_answers(ids)} of {arm} not shown ({why}): {few(ids, 3)}" for (arm, why), ids in whys.items()]
    for pair in result.preferences:
        if pair.left.low is not None and pair.left.high is not None and not pair.left.low <= 0.5 <= pair.left.high:
            side = "left" if pair.left.low > 0.5 else "right"
            told = f"{100 * (pair.left.value or 0.0):.1f} % of choices fell on the left"
            notes.append(f"{pair.candidate} against {pair.reference}: raters lean to the {side} side ({told})")
    return notes


def _answers(ids: Sequence[str]) -> str:
    return "1 answer" if len(ids) == 1 else f"{len(ids)} answers"
