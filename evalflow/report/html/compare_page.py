"""The page of a comparison: how the instruments differ first, then what was compared, beside, and not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalflow.report.compare_lines import (
    alike_lines,
    answer_line,
    arms_in_words,
    difference_lines,
    is_alike,
    missed_lines,
    not_compared_lines,
)
from evalflow.report.console import shown
from evalflow.report.html.deltas import Difference, difference, drawn
from evalflow.report.html.gates import MARKS
from evalflow.report.html.template import rendered

TEMPLATE = "compare.html.jinja"
TITLES = {
    "runs": "Runs",
    "instruments": "The instruments differ in",
    "deltas": "Compared item by item",
    "beside": "Side by side, not tested",
    "refused": "Not compared",
    "notes": "Notes",
}
"""Section -> its title, in their order; one that has nothing to show is not there."""
Told = Mapping[str, Any]


@dataclass(frozen=True)
class RunLine:
    """A run in words."""

    label: str
    run_id: str
    experiment: str
    verdict: str
    items: str
    folder: str


def compare_page(document: Told) -> str:
    """The HTML page of what `evalflow compare` found; the same document gives the same text. It has no run's texts."""
    title, said = answer_line(document)
    sections = {
        "runs": list(_runs(document)),
        "instruments": [(c["run"]["label"], line) for c in document["candidates"] for line in difference_lines(c)],
        "deltas": drawn(list(_deltas(document))),
        "beside": list(_beside(document)),
        "refused": [
            (c["run"]["label"], *line) for c in document["candidates"] for line in not_compared_lines(document, c)
        ],
        "notes": [*alike_lines(document), *document["notes"]],
    }
    gate = document["gate"]
    word = gate["outcome"] if gate else title
    return rendered(
        {
            **sections,
            "titles": {name: heading for name, heading in TITLES.items() if sections[name]},
            "word": word,
            "mark": MARKS[word] if gate else "",
            "said": said,
            "missed": missed_lines(document),
            "exit_code": document["exit_code"],
            "reference": document["reference"]["label"],
            "n_tested": document["family"]["n_tested"],
        },
        TEMPLATE,
    )


def _runs(document: Told) -> Iterator[RunLine]:
    runs: list[tuple[Told, str]] = [(document["reference"], "the reference")]
    for run, remark in [*runs, *((c["run"], f"{c['items']['n_shared']:,} shared") for c in document["candidates"])]:
        part = f" ({run['part']})" if run["part"] else ""
        items = f"{run['n_items']:,} of {run['dataset']}{part}, {remark}"
        yield RunLine(run["label"], run["run_id"], run["experiment"], run["verdict"], items, run["folder"])


def _deltas(document: Told) -> Iterator[Difference]:
    """What was compared, under the candidate and the arms that it is of."""
    margin = document["gate"]["max_loss"] if document["gate"] else None
    held = {_key(one) for one in document["gate"]["held"]} if document["gate"] else set()
    for candidate in document["candidates"]:
        label = candidate["run"]["label"]
        for one in candidate["figures"]:
            if one["delta"] is not None:
                allowed = margin if (label, *one["arms"], one["figure"]) in held else None
                name = f"{label}: {arms_in_words(one['arms'])}{' (control)' if one['control'] else ''}"
                yield difference(name, one["figure"], one["delta"], one["unit"], allowed)


def _key(held: Told) -> tuple[str, ...]:
    return (held["candidate"], *held["arms"], held["figure"])


def _beside(document: Told) -> Iterator[tuple[str, str, str, str, str]]:
    """Figures that differ; those that are alike are told in a line."""
    for candidate in document["candidates"]:
        for one in candidate["figures"]:
            if one["kind"] == "beside" and not is_alike(one):
                first, second = (shown(side) for side in one["beside"])
                yield candidate["run"]["label"], one["figure"], arms_in_words(one["arms"]), first, second
