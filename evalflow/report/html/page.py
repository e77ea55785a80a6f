"""A run's page: what its report says and what its rows show, in the order in which a reader asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from evalflow.record import Item, Row
from evalflow.report.html.arms import arms_of
from evalflow.report.html.deltas import deltas_of
from evalflow.report.html.failing import failing_of
from evalflow.report.html.figure_table import broken_down
from evalflow.report.html.gates import MARKS, gate_lines
from evalflow.report.html.instrument import instrument_of
from evalflow.report.html.latencies import latencies
from evalflow.report.html.position_spread import spreads
from evalflow.report.html.review import review_of
from evalflow.report.html.seeds import seed_spreads
from evalflow.report.html.shown_text import short
from evalflow.report.html.template import rendered
from evalflow.report.html.worst_positions import worst_positions

TITLES = {
    "gates": "Gates",
    "arms": "Arms side by side",
    "deltas": "Paired differences",
    "review": "What people said",
    "latency": "Latency",
    "positions": "Distance from the reference",
    "kinds": "By kind",
    "seeds": "Seed by seed",
    "worst": "Worst positions",
    "failing": "Failing rows",
    "limits": "What this does not show",
    "instrument": "Instrument",
    "notes": "Notes",
}
"""Section -> its title, in their order; one that has nothing to show is not there."""


def page(
    report: Mapping[str, Any],
    rows: Sequence[Row],
    items: Iterable[Item],
    private: bool = False,
    review: Mapping[str, Any] | None = None,
) -> str:
    """The HTML page of a report and the scored rows that it was made from; the same input gives the same text.

    `review` is what people said of the answers, where somebody did. Private, it holds no prompt, target or answer, nor
    a message that could quote one, names no rater, and says so.
    """
    known = {item.id: item for item in items}
    sections = {**_sections(report, rows, known, private), "review": review_of(review, private)}
    missed = [gate for gate in sections["gates"] if gate.missed]
    return rendered(
        {
            **sections,
            "titles": {name: title for name, title in TITLES.items() if sections[name]},
            "report": report,
            "mark": MARKS[report["verdict"]],
            "missed": [gate for gate in missed if gate.reason != report["part"]],
            "n_for_a_part": sum(gate.reason == report["part"] for gate in missed),
            "facts": _facts(report),
            "private": private,
        }
    )


def _sections(
    report: Mapping[str, Any], rows: Sequence[Row], items: Mapping[str, Item], private: bool
) -> dict[str, Any]:
    """What each section shows; empty or None where that is nothing."""
    return {
        "gates": gate_lines(report, items, private),
        "arms": arms_of(report, private),
        "deltas": deltas_of(report),
        "latency": latencies(report, rows),
        "positions": spreads(report, rows, items),
        "kinds": broken_down(report),
        "seeds": seed_spreads(report),
        "worst": worst_positions(report, private),
        "failing": failing_of(report, rows, items, private),
        "limits": report["limits"],
        "instrument": instrument_of(report, private),
        "notes": report["notes"],
    }


def _facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the run was, in a few words each."""
    dataset, coverage = report["dataset"], report["coverage"]
    rows = f"{coverage['n_rows']:,} of {coverage['n_planned']:,} planned"
    told = [
        ("run", report["run_id"]),
        ("started", moment(report["started"])),
        ("dataset", f"{short(dataset['name'], 60)}, {dataset['n']:,} items"),
        ("rows", rows + (f", {coverage['n_error']:,} in error" if coverage["n_error"] else "")),
        ("instrument", report["instrument"]["hash"][:12]),
    ]
    if report["finished"]:
        told.insert(2, ("took", duration(seconds_between(report["started"], report["finished"]))))
    return told


def moment(told: str) -> str:
    """An ISO moment to the second, as the run wrote it."""
    at = datetime.fromisoformat(told)
    return f"{at:%Y-%m-%d %H:%M:%S} {at.tzname() or ''}".strip()


def seconds_between(began: str, ended: str) -> float:
    """How long it is from one ISO moment to another (s)."""
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()


def duration(seconds: float) -> str:
    """A time in words that suit its size."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
