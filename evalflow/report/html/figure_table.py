"""Figures side by side: a line per figure, a cell per arm, each with its interval, its count, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalflow.report.html.shown_number import Writer, scale, writer

GROUPS = {
    "quality": "Quality",
    "parity": "Parity with the reference",
    "agreement": "Agreement",
    "stability": "Stability",
    "lat": "Latency",
    "tps": "Throughput",
    "cache": "Cache",
    "mem": "Memory",
    "cost": "Cost",
    "n": "Health",
}
"""Groups of figures in the order in which they are shown, and their titles; others come before the last."""
NOT_BROKEN_DOWN = ("n", "mem")
"""Groups that are not shown by kind."""
MOST_KINDS = 40
NO_REFERENCE = "the arm has no reference"
TOLD_ONCE = ("arm unavailable", NO_REFERENCE)
"""Reasons that all figures of a kind share, which an arm's head says."""


@dataclass(frozen=True)
class Cell:
    """One figure of one arm. `why` is why it is undefined, in few words where the arm's head says it too (`brief`).

    A cell that says nothing is of an arm without the figure.
    """

    value: str = ""
    interval: str = ""
    n: str = ""
    marks: tuple[str, ...] = ()
    why: str = ""
    brief: bool = False


@dataclass(frozen=True)
class Line:
    """One figure of all arms: what its numbers are of, and how its intervals were made where all were made alike."""

    name: str
    unit: str
    method: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Group:
    """The lines of one group of figures."""

    title: str
    lines: tuple[Line, ...]


def groups(report: Mapping[str, Any]) -> list[Group]:
    """All figures of all arms, by group."""
    arms = report["arms"]
    names = list(dict.fromkeys(name for arm in arms.values() for name in arm["figures"]))
    return [Group(GROUPS.get(key, key), tuple(line(arms, name) for name in of)) for key, of in _grouped(names).items()]


def _grouped(names: Sequence[str]) -> dict[str, list[str]]:
    """The names by group, the groups in their order, the names of each as they come."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.split("/")[0], []).append(name)
    known = [*GROUPS][:-1]
    order = sorted(found, key=lambda key: known.index(key) if key in known else len(known) + (key in GROUPS))
    return {key: found[key] for key in order}


def line(arms: Mapping[str, Mapping[str, Any]], name: str, of: str = "figures", part: str = "") -> Line:
    """One figure of the arms, or of a part of them: `of` and `part` say which of an arm's entries holds it."""
    told = [(arm[of].get(part, {}) if part else arm[of]).get(name) for arm in arms.values()]
    known = [figure for figure in told if figure is not None]
    ends = [figure[key] for figure in known for key in ("value", "low", "high")]
    by, unit = scale(known[0]["unit"] if known else "", ends)
    widths = [by * (one["high"] - one["low"]) for one in known if one["low"] is not None and one["high"] is not None]
    write = writer([None if end is None else by * end for end in ends], widths)
    methods = {_method(figure) for figure in known if figure["low"] is not None}
    method = methods.pop() if len(methods) == 1 else ""
    return Line(name, unit, method, tuple(_cell(figure, by, write) for figure in told))


def _method(figure: Mapping[str, Any]) -> str:
    level = "" if figure["level"] is None else f"{100 * figure['level']:g} % "
    return f"{level}{figure['method'] or ''}".strip()


def _cell(figure: Mapping[str, Any] | None, by: float, write: Writer) -> Cell:
    if figure is None:
        return Cell()
    n = f"{figure['n_scored']:,}"
    if figure["value"] is None:
        return Cell(
            n=n if figure["n_scored"] else "", why=figure["reason"], brief=figure["reason"].startswith(TOLD_ONCE)
        )
    ends = [figure["low"], figure["high"]]
    interval = "" if None in ends else f"[{', '.join(write(by * end) for end in ends)}]"
    missing, sessions = figure["n_total"] - figure["n_scored"], figure["n_sessions"] or 1
    marks = [f"{missing:,} missing"] * (missing > 0) + [f"{sessions} sessions"] * (sessions > 1)
    return Cell(write(by * figure["value"]), interval, n, tuple(marks))


@dataclass(frozen=True)
class Breakdown:
    """One figure by kind: what its numbers are of, and a line per kind; `n_left_out` kinds are not shown."""

    name: str
    of: str
    lines: tuple[Line, ...]
    n_left_out: int


@dataclass(frozen=True)
class BrokenDown:
    """The breakdowns of one group of figures."""

    title: str
    breakdowns: tuple[Breakdown, ...]


def broken_down(report: Mapping[str, Any]) -> list[BrokenDown]:
    """Figures by the items' kind, where there are kinds and one of them has a value."""
    arms = report["arms"]
    kinds = list(dict.fromkeys(kind for arm in arms.values() for kind in arm["breakdown"]))
    names = dict.fromkeys(name for arm in arms.values() for of in arm["breakdown"].values() for name in of)
    found = []
    for key, of in _grouped(list(names)).items():
        told = [_breakdown(arms, name, kinds) for name in of if key not in NOT_BROKEN_DOWN]
        known = [one for one in told if any(cell.value for line in one.lines for cell in line.cells)]
        found += [BrokenDown(GROUPS.get(key, key), tuple(known))] if known else []
    return found


def _breakdown(arms: Mapping[str, Mapping[str, Any]], name: str, kinds: Sequence[str]) -> Breakdown:
    shown = kinds[:MOST_KINDS]
    told = [line(arms, name, "breakdown", kind) for kind in shown]
    methods = {one.method for one in told if one.method}
    of = [told[0].unit, *methods] if len(methods) == 1 else [told[0].unit]
    lines = [Line(kind.removeprefix("kind="), "", "", one.cells) for kind, one in zip(shown, told, strict=True)]
    return Breakdown(name, ", ".join(part for part in of if part), tuple(lines), len(kinds) - len(shown))
