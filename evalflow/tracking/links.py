"""Addresses of MLflow's own pages, and the links between them that stand in the descriptions of runs.

An address begins at `#`, so that it holds wherever the store is served. Looked at with MLflow 3.17.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote

from evalflow.tracking.entry import PRIVATE_TAG, Entry
from evalflow.tracking.items_table import TABLE
from evalflow.tracking.note import NOTE_TAG

# MLflow opens in its mode for agents, whose pages of runs are called "Evaluations" and begin with traces and judges
MODE = "workflowType=machine_learning"
CHARTS = "CHART"
SIDE_BY_SIDE = "ARTIFACT"


def runs_page(experiment_id: str, *more: str) -> str:
    """The page of an experiment's runs; `more` are parts of its query."""
    return f"#/experiments/{experiment_id}/runs?{'&'.join([MODE, *more])}"


def run_page(experiment_id: str, run_id: str, artifact: str | None = None) -> str:
    """The page of one run, or of an artifact of it."""
    rest = "" if artifact is None else f"/artifacts/{quote(artifact)}"
    return f"#/experiments/{experiment_id}/runs/{run_id}{rest}?{MODE}"


def linked(entries: Sequence[Entry], experiment_id: str, run_ids: Sequence[str]) -> list[Entry]:
    """The entries of a run, or a sweep's one, with links to each other's pages in their descriptions."""
    return [_linked(entry, experiment_id, run_id, run_ids[-1]) for entry, run_id in zip(entries, run_ids, strict=True)]


def _linked(entry: Entry, experiment_id: str, run_id: str, last_id: str) -> Entry:
    links = _links(entry, experiment_id, run_id, last_id)
    told = " · ".join(f"[{name}]({address})" for name, address in links.items())
    first, *rest = entry.tags[NOTE_TAG].split("\n")
    # MLflow folds a description: two blanks break the line, where a paragraph of its own would push the table out
    return replace(entry, tags={**entry.tags, NOTE_TAG: "\n".join([f"{first}  ", told, *rest])})


def _links(entry: Entry, experiment_id: str, run_id: str, last_id: str) -> dict[str, str]:
    """What is to be seen of an entry, and where. A run's report is its last entry."""
    role = entry.tags["evalflow.role"]
    if role == "arm":
        answers = {"what it answered": run_page(experiment_id, run_id, TABLE)} if TABLE in entry.texts else {}
        return {"the report of its run": run_page(experiment_id, last_id), **answers}
    names = [*entry.texts, *(path.name for path in entry.files)]
    page = next((name for name in names if name.endswith(".html")), None)
    links = {} if page is None else {"as a page": run_page(experiment_id, run_id, page)}
    family = _family(entry.tags, role)
    links["its arms in charts"] = _filtered(experiment_id, {**family, "role": "arm"}, CHARTS)
    if role == "sweep":
        return {**links, "the reports of its jobs": _filtered(experiment_id, {**family, "role": "report"})}
    what = "items" if PRIVATE_TAG in entry.tags else "answers"
    return {**links, f"their {what} side by side": _filtered(experiment_id, {**family, "role": "arm"}, SIDE_BY_SIDE)}


def _family(tags: Mapping[str, str], role: str) -> dict[str, str]:
    """The tag that the entries of a run, or the runs of a sweep, have in common."""
    key = "sweep_id" if role == "sweep" else "run_id"
    return {key: tags[f"evalflow.{key}"]}


def _filtered(experiment_id: str, wanted: Mapping[str, str], view: str | None = None) -> str:
    condition = " AND ".join(f"tags.`evalflow.{key}` = '{value}'" for key, value in wanted.items())
    shown = [] if view is None else [f"compareRunsMode={view}"]
    return runs_page(experiment_id, *shown, f"searchFilter={quote(condition, safe='')}")
