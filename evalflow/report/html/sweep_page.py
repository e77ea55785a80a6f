"""The page of a sweep: its verdict and what kept jobs from passing first, then curves, the grid, and every job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalflow.report.html.curve import STEP, curves_over
from evalflow.report.html.curve_plot import Drawn, drawn
from evalflow.report.html.gates import MARKS
from evalflow.report.html.page import duration, moment, seconds_between
from evalflow.report.html.sweep_cells import grid_of_page
from evalflow.report.html.template import rendered
from evalflow.report.sweep import failures, severity, word_of
from evalflow.report.sweep_grid import grid_of

TEMPLATE = "sweep.html.jinja"
TITLES = {
    "curves": "Curves",
    "grid": "Grid",
    "jobs": "Jobs",
    "limits": "What this does not show",
    "notes": "Notes",
}
"""Section -> its title, in their order; one that has nothing to show is not there."""
MOST_TROUBLES, MOST_NAMED, MOST_GATES = 12, 8, 6
"""Kinds of trouble at the head of the page, jobs named of each, and gates named of a job; the table has them all."""
MOST_JOBS = 1000
MOST_LIMITS = 40
Reports = Mapping[int, Mapping[str, Any]]
Told = Mapping[str, Any]


@dataclass(frozen=True)
class JobLine:
    """One job in words; `link` leads to its own page, where that lies beside this one."""

    number: str
    link: str
    swept: tuple[str, ...]
    word: str
    mark: str
    code: str
    gates: str
    said: str
    run_id: str
    took: str


@dataclass(frozen=True)
class Trouble:
    """What kept jobs from passing, in the words that they share."""

    word: str
    why: str
    jobs: tuple[str, ...]
    n_left_out: int


@dataclass(frozen=True)
class CurveSet:
    """The plots over one axis."""

    axis: str
    is_step: bool
    plots: tuple[Drawn, ...]
    unreadable: tuple[tuple[str, str], ...]
    same: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]


def curve_sets(summary: Told, reports: Reports) -> list[CurveSet]:
    """All plots of a sweep. They hold names and numbers, and nobody's texts."""
    found = []
    for place, over in enumerate(curves_over(summary["jobs"], summary["axes"], reports)):
        plots = tuple(drawn(one, over.axis, f"{place}") for one in over.families)
        others = tuple(over.unreadable.items()), tuple(over.same.items())
        found.append(CurveSet(over.axis, over.axis == STEP, plots, *others, over.left_out))
    return found


def sweep_page(
    summary: Told, reports: Reports, curves: Sequence[CurveSet], links: Mapping[int, str], private: bool = False
) -> str:
    """The HTML page of a sweep; the same summary, reports and links give the same text.

    `reports` are the jobs' own, as far as they can be read, and `links` where their pages lie. Private, what a job said
    is left out: it may quote an answer.
    """
    jobs = [_job(job, links, private) for job in summary["jobs"][:MOST_JOBS]]
    sections = {
        "curves": list(curves),
        "grid": grid_of_page(summary, reports),
        "jobs": jobs,
        "limits": _limits(reports),
        "notes": list(_notes(summary, reports)),
    }
    troubles = _troubles(summary, private)
    return rendered(
        {
            **sections,
            "titles": {name: title for name, title in TITLES.items() if sections[name]},
            "summary": summary,
            "mark": MARKS[summary["verdict"]],
            "counts": _counts(summary),
            "troubles": troubles[:MOST_TROUBLES],
            "n_troubles_left_out": len(troubles[MOST_TROUBLES:]),
            "n_jobs_left_out": len(summary["jobs"]) - len(jobs),
            "facts": list(_facts(summary)),
            "axes": list(summary["axes"]),
            "has_whys": any(job.gates or job.said for job in jobs),
            "private": private,
        },
        TEMPLATE,
    )


def _job(job: Told, links: Mapping[int, str], private: bool) -> JobLine:
    word = word_of(job)
    return JobLine(
        number=str(job["job"]),
        link=links.get(job["job"], ""),
        swept=tuple(job["swept"].values()),
        word=word,
        mark=MARKS.get(word, "…"),
        code="" if job["exit_code"] is None else str(job["exit_code"]),
        gates=_gates(job),
        said="" if private else _one_line(job["said"]),
        run_id=job["run_id"] or "",
        took="finished before" if job["skipped"] else "" if job["seconds"] is None else duration(job["seconds"]),
    )


def _gates(job: Told) -> str:
    told = []
    for said, names in job["gates"].items():
        more = f" and {len(names) - MOST_GATES} more" if len(names) > MOST_GATES else ""
        told += [f"{said}: {', '.join(names[:MOST_GATES])}{more}"] * bool(names)
    return "; ".join(told)


def _troubles(summary: Told, private: bool) -> list[Trouble]:
    """The jobs that did not pass, those for the same reason together, the worst first."""
    found: dict[tuple[str, str], list[Told]] = {}
    for job in sorted(summary["jobs"], key=severity):
        word = word_of(job)
        if word != "pass":
            said = "" if private else _one_line(job["said"])
            found.setdefault((word, _gates(job) or said), []).append(job)
    return [
        Trouble(word, why, tuple(_named(job) for job in jobs[:MOST_NAMED]), max(0, len(jobs) - MOST_NAMED))
        for (word, why), jobs in found.items()
    ]


def _named(job: Told) -> str:
    swept = " ".join(f"{axis}={value}" for axis, value in job["swept"].items())
    return f"job {job['job']} ({swept})" if swept else f"job {job['job']}"


def _counts(summary: Told) -> str:
    """How many jobs came to what, the worst first."""
    jobs = sorted(summary["jobs"], key=severity)
    counted = Counter(word_of(job) for job in jobs)
    n = len(jobs)
    if len(counted) == 1:
        word = next(iter(counted))
        return f"The only job: {word}" if n == 1 else f"All {n:,} jobs: {word}"
    return f"Of {n:,} jobs: {', '.join(f'{count:,} {word}' for word, count in counted.items())}"


def _facts(summary: Told) -> Iterator[tuple[str, str]]:
    """What the sweep was, in a few words each."""
    yield "sweep", summary["sweep_id"]
    yield "started", moment(summary["started"])
    if summary["finished"]:
        yield "took", duration(seconds_between(summary["started"], summary["finished"]))
    else:
        yield "ended", "interrupted"
    jobs = f"{len(summary['jobs']):,}, {'side by side' if summary['parallel'] else 'one after another'}"
    yield "jobs", jobs
    for axis, values in summary["axes"].items():
        yield axis, ", ".join(values)
    if summary["overrides"]:
        yield "asked for", " ".join(summary["overrides"])


def _notes(summary: Told, reports: Reports) -> Iterator[str]:
    """What a reader must know of the sweep as a whole. What single jobs said has places of its own."""
    own = set(failures(summary["jobs"]))
    yield from (note for note in summary["notes"] if note not in own)
    gone = [str(job["job"]) for job in summary["jobs"] if job["verdict"] is not None and job["job"] not in reports]
    if gone:
        more = f" and {len(gone) - MOST_NAMED} more" if len(gone) > MOST_NAMED else ""
        told = f"the reports of these jobs cannot be read any more: {', '.join(gone[:MOST_NAMED])}{more}"
        yield f"{told}; the grid has their numbers, curves and dots have not"
    elif grid_of(summary["jobs"], reports) != summary["grid"]:
        told = "the jobs' reports give another grid now than when the sweep ended (scored again since?)"
        yield f"{told}: the grid is the sweep's, curves and dots are theirs"


def _limits(reports: Reports) -> list[str]:
    """What the experiments themselves say that they do not show."""
    return list(dict.fromkeys(limit for number in sorted(reports) for limit in reports[number]["limits"]))[:MOST_LIMITS]


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
