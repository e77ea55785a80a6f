"""The figures that a run's gates and comparisons read, of which arms: what decided; and what quality nothing reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Told = Mapping[str, Any]
ENDS = {"value": ("value",), "lower": ("low",), "upper": ("high",), "both": ("low", "high")}


@dataclass(frozen=True)
class ReadFigure:
    """One figure, of all rows or of one kind: its entry for each arm that is read, and the arms that decided."""

    name: str
    kind: str | None
    arms: dict[str, Told] = field(default_factory=dict)
    deciding: dict[str, None] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """How it is called."""
        return self.name if self.kind is None else f"{self.name} · {self.kind}"


def read_figures(report: Told) -> list[ReadFigure]:
    """Quality first, counts of rows last; a figure of some rows alone that the report does not hold is left out."""
    found: dict[tuple[str, str | None], ReadFigure] = {}
    for name, kind, arm, gate in _readings(report):
        told = report["arms"][arm]
        whole = told["figures"] if kind is None else told["breakdown"].get(f"kind={kind}", {})
        if name not in whole:
            continue
        one = found.setdefault((name, kind), ReadFigure(name, kind))
        one.arms[arm] = whole[name]
        if gate is None or _decided(gate, whole[name]):
            one.deciding[arm] = None
    in_order = {arm: place for place, arm in enumerate(report["arms"])}
    ordered = sorted(found.values(), key=lambda one: (_rank(one.name), one.name, one.kind or ""))
    return [
        ReadFigure(
            one.name,
            one.kind,
            dict(sorted(one.arms.items(), key=lambda pair: in_order[pair[0]])),
            one.deciding,
        )
        for one in ordered
    ]


def unread(report: Told, read: Sequence[ReadFigure]) -> list[ReadFigure]:
    """What else a run is for, over all rows, that nothing reads: quality; of one without quality, times and rates."""
    known = {one.name for one in read if one.kind is None}
    names = dict.fromkeys(name for arm in report["arms"].values() for name in arm["figures"])
    groups = ("quality/",) if any(name.startswith("quality/") for name in names) else ("lat/", "tps/")
    return [
        ReadFigure(name, None, {a: arm["figures"][name] for a, arm in report["arms"].items() if name in arm["figures"]})
        for name in names
        if name.startswith(groups) and name not in known
    ]


def before_counts(read: Sequence[ReadFigure], more: Sequence[ReadFigure]) -> list[ReadFigure]:
    """The figures that are read with others among them: after all but counts of rows."""
    at = next((place for place, one in enumerate(read) if _rank(one.name) == 2), len(read))
    return [*read[:at], *more, *read[at:]]


def _rank(name: str) -> int:
    return 0 if name.startswith("quality/") else 2 if name.startswith("n/") else 1


def _readings(report: Told) -> Iterator[tuple[str, str | None, str, Told | None]]:
    """(figure, kind, arm, the gate that reads every arm and is decided by the worst)."""
    asked = report["asked"]
    for name, figures in report["comparisons"].items():
        sides = asked["comparisons"][name]
        for figure in figures:
            for arm in (sides["reference"], sides["candidate"]):
                yield figure, None, arm, None
    for name, gate in report["gates"].items():
        where = asked["gates"][name]["where"]
        kind = where.get("kind")
        if gate["comparison"] is not None or (where and (len(where) > 1 or not isinstance(kind, str))):
            continue
        for arm, told in report["arms"].items():
            if gate["arm"] == arm:
                yield gate["figure"], kind, arm, None
            elif gate["arm"] is None and not told["conditions"]["control"]:
                yield gate["figure"], kind, arm, gate


def _decided(gate: Told, figure: Told) -> bool:
    """Whether this arm's figure is the one that a gate over every arm was decided by."""
    return gate["value"] is not None and any(figure[end] == gate["value"] for end in ENDS[gate["bound"]])
