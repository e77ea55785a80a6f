"""What `evalflow compare` found, in one document with a schema version, and as tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from evalflow.errors import ExitCode
from evalflow.report.compare_lines import few
from evalflow.report.tables import Columns, Record, csv_text
from evalflow.runner.compared_run import ComparedRun, Overlap
from evalflow.runner.instrument_difference import Difference
from evalflow.runner.regression import Held, Regression, outcome_of
from evalflow.runner.run_pair import Finding, RunPair
from evalflow.strict_json import plain

COMPARE_SCHEMA_VERSION = 1
OCCASIONS = "the runs were taken on different occasions: what else a machine or a seat did then, no instrument tells"
COMPARE_COLUMNS: Columns = {
    "candidate": "text",
    "arm_reference": "text",
    "arm_candidate": "text",
    "figure": "text",
    "unit": "text",
    "kind": "text",
    "reference_value": "number",
    "reference_low": "number",
    "reference_high": "number",
    "candidate_value": "number",
    "candidate_low": "number",
    "candidate_high": "number",
    "delta": "number",
    "low": "number",
    "high": "number",
    "p": "number",
    "p_adjusted": "number",
    "n_pairs": "whole",
    "n_clusters": "whole",
    "n_unpaired": "whole",
    "mde": "number",
    "conclusion": "text",
    "gate": "text",
    "reason": "text",
}
"""A record per candidate, pair of arms and figure. `kind` is compared, beside, refused or undefined; values of what was
compared are over the shared items, those that stand beside each other are each run's own, with their intervals."""


@dataclass(frozen=True)
class Gated:
    """The regression gate and what it held."""

    regression: Regression
    held: Sequence[Held]


def comparison_document(pairs: Sequence[RunPair], gated: Gated | None) -> dict[str, Any]:
    """All that was found, as plain JSON values. There is at least one pair."""
    n_compared = sum(len(pair.compared) for pair in pairs)
    n_tested = sum(one.delta is not None and one.delta.p is not None for pair in pairs for one in pair.compared)
    n_beside = sum(one.beside is not None and _says(one.figure) for pair in pairs for one in pair.findings)
    document = {
        "schema_version": COMPARE_SCHEMA_VERSION,
        "reference": _run(pairs[0].reference),
        "candidates": [_candidate(pair) for pair in pairs],
        "n_compared": n_compared,
        "family": {"correction": "Holm", "n_tested": n_tested},
        "gate": None if gated is None else _gate(gated),
        "exit_code": int(_exit_code(n_compared + n_beside, gated)),
        "notes": _notes(pairs),
    }
    written: dict[str, Any] = json.loads(json.dumps(document, ensure_ascii=True, allow_nan=False, default=plain))
    return written


def compare_schema() -> dict[str, Any]:
    """The JSON Schema that every such document obeys."""
    text = (files("evalflow.report") / "compare.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def compare_csv(document: Mapping[str, Any]) -> str:
    """Every figure of every pair of arms as CSV."""
    return csv_text(compare_records(document), COMPARE_COLUMNS)


def compare_records(document: Mapping[str, Any]) -> list[Record]:
    """A record per candidate, pair of arms and figure."""
    held = {} if document["gate"] is None else {_key(one): one["outcome"] for one in document["gate"]["held"]}
    empty = dict.fromkeys(COMPARE_COLUMNS)
    records = []
    for candidate in document["candidates"]:
        for one in candidate["figures"]:
            own = {
                "candidate": candidate["run"]["run_id"],
                "arm_reference": one["arms"][0],
                "arm_candidate": one["arms"][1],
                "figure": one["figure"],
                "unit": one["unit"],
                "kind": one["kind"],
                "gate": held.get((candidate["run"]["label"], *one["arms"], one["figure"])),
                "reason": "; ".join(one["reasons"]) or None,
            }
            records.append({**empty, **_numbers(one), **own})
    return records


def _key(held: Mapping[str, Any]) -> tuple[str, ...]:
    return (held["candidate"], *held["arms"], held["figure"])


def _numbers(one: Mapping[str, Any]) -> Record:
    if one["delta"] is not None:
        told = one["delta"]
        kept = {name: told[name] for name in COMPARE_COLUMNS if name in told}
        return {**kept, "n_unpaired": len(told["unpaired"])}
    if one["beside"] is not None:
        sides = zip(("reference", "candidate"), one["beside"], strict=True)
        return {f"{side}_{end}": figure[end] for side, figure in sides for end in ("value", "low", "high")}
    return {}


def _says(figure: str) -> bool:
    """Whether a figure says something of answers or speed: how many rows there are, and how much memory, does not."""
    return figure.partition("/")[0] not in ("n", "mem")


def _exit_code(n_said: int, gated: Gated | None) -> ExitCode:
    """The gate's; without one, whether anything at all could be compared."""
    if gated is not None:
        return outcome_of(gated.held)[1]
    return ExitCode.PASS if n_said else ExitCode.UNREADABLE


def _run(run: ComparedRun) -> dict[str, Any]:
    report = run.report
    return {
        "label": run.label,
        "run_id": run.run_id,
        "experiment": report["experiment"],
        "folder": str(run.stored.folder),
        "started": report["started"],
        "verdict": report["verdict"],
        "part": report["part"],
        "n_items": len(run.plan.items),
        "dataset": run.plan.dataset_name,
        "content_fp": run.plan.fingerprints["content_fp"],
        "instrument": run.instrument["hash"],
    }


def _candidate(pair: RunPair) -> dict[str, Any]:
    return {
        "run": _run(pair.candidate),
        "items": _items(pair.items),
        "arms": {
            "paired": [list(arms) for arms in pair.arms],
            "only_reference": list(pair.only_reference),
            "only_candidate": list(pair.only_candidate),
        },
        "differences": [_difference(one) for one in pair.differences],
        "figures": [_figure(pair, finding) for finding in pair.findings],
    }


def _items(items: Overlap) -> dict[str, Any]:
    return {
        "n_shared": len(items.shared),
        "only_reference": list(items.only_reference),
        "only_candidate": list(items.only_candidate),
        "changed": list(items.changed),
        "n_reworded": len(items.reworded),
        "reordered": items.reordered,
    }


def _difference(one: Difference) -> dict[str, Any]:
    return {
        "field": one.field,
        "arms": None if one.arms is None else list(one.arms),
        "reference": one.reference,
        "candidate": one.candidate,
        "figures": list(one.figures),
        "why": one.why,
    }


def _figure(pair: RunPair, finding: Finding) -> dict[str, Any]:
    kind = "refused" if finding.refused else "undefined"
    kind = "compared" if finding.delta is not None else "beside" if finding.beside is not None else kind
    return {
        "arms": list(finding.arms),
        "figure": finding.figure,
        "unit": pair.reference.metric(finding.figure).measured_in,
        "control": finding.control,
        "kind": kind,
        "delta": None if finding.delta is None else asdict(finding.delta),
        "beside": None if finding.beside is None else [dict(one) for one in finding.beside],
        "reasons": [*finding.refused, *([finding.undefined] if finding.undefined else [])],
    }


def _gate(gated: Gated) -> dict[str, Any]:
    outcome, _ = outcome_of(gated.held)
    return {
        "max_loss": gated.regression.max_loss,
        "coverage": gated.regression.coverage,
        "wanted": gated.regression.wanted,
        "outcome": outcome,
        "held": [{**asdict(one), "arms": list(one.arms)} for one in gated.held],
    }


def _notes(pairs: Sequence[RunPair]) -> list[str]:
    """What a reader must know to read the rest."""
    notes = []
    for pair in pairs:
        label, items = pair.candidate.label, pair.items
        if not pair.arms:
            named = (", ".join(pair.only_reference), ", ".join(pair.only_candidate))
            notes.append(f"{label} has no arm of {pair.reference.label}'s ({named[0]}) but {named[1]}: --arms OLD=NEW")
        if not items.whole:
            ours = pair.reference.label
            lost = {
                f"only in {ours}": items.only_reference,
                "changed": items.changed,
                f"only in {label}": items.only_candidate,
            }
            said = ", ".join(f"{len(ids)} {what} ({few(ids, 3)})" for what, ids in lost.items() if ids)
            notes.append(f"{label} shares {len(items.shared)} items with {ours}: {said}")
    notes += [f"{run['label']} is a part: {run['part']}" for run in _parts(pairs)]
    return [*notes, OCCASIONS]


def _parts(pairs: Sequence[RunPair]) -> list[dict[str, Any]]:
    runs = [_run(pairs[0].reference), *(_run(pair.candidate) for pair in pairs)]
    return [run for run in runs if run["part"]]
