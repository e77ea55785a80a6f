"""Rows that failed as the page shows them: those in error, and those that lose where a gate or comparison reads them.

With no gate or comparison over quality, every quality metric's rows are read. A page holds a bounded part of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import escape

from evalflow.record import Item, Row
from evalflow.report.html.conditions import in_words
from evalflow.report.html.shown_number import number
from evalflow.report.html.shown_text import Clip, clip, short, visible
from evalflow.runner.units import row_matches

MOST_ROWS = 1000
MOST_BYTES = 2_500_000
"""Of all rows' texts as they are written; the page has less than twice as much besides."""
LONGEST_REASON = 600


@dataclass(frozen=True)
class Lost:
    """A metric under which a row loses, and the row's own number."""

    metric: str
    point: str


@dataclass(frozen=True)
class FailingRow:
    """One row that failed: under what, why, and its texts, None where there is none or the page is private."""

    arm: str
    seed: str
    item: str
    kind: str
    status: str
    control: bool
    error: str
    lost: tuple[Lost, ...]
    prompt: Clip | None = None
    target: Clip | None = None
    draft: Clip | None = None
    served: Clip | None = None
    reasons: tuple[tuple[str, str, str], ...] = ()

    @property
    def n_bytes(self) -> int:
        """How many bytes its texts are on the page, at most."""
        clips = [one for one in (self.prompt, self.target, self.draft, self.served) if one is not None]
        texts = [text for one in clips for text in (one.preview, one.head, one.tail)]
        texts += [self.error, *(part for reason in self.reasons for part in reason)]
        return sum(len(str(escape(visible(text))).encode()) for text in texts)


@dataclass(frozen=True)
class Failing:
    """Those that are shown, of how many; which metrics and arms they are of, and what arms' rows failed with.

    `is_read` says whether a gate or comparison reads quality, so that rows lose under what it reads alone.
    """

    rows: tuple[FailingRow, ...]
    n: int
    n_error: int
    is_read: bool
    metrics: tuple[str, ...]
    arms: tuple[str, ...]
    errors: tuple[str, ...]

    @property
    def n_left_out(self) -> int:
        """How many are not on the page."""
        return self.n - len(self.rows)


def failing_of(report: Mapping[str, Any], rows: Sequence[Row], items: Mapping[str, Item], private: bool) -> Failing:
    """Those in error first, then by how many metrics they lose under and how far, those of controls last."""
    judged = _Judged.of(report)
    controls = {name for name, arm in report["arms"].items() if arm["conditions"]["control"]}
    best = judged.best(rows)
    found = []
    for place, row in enumerate(rows):
        lost = judged.lost(row, best)
        if row.status == "error" or lost:
            shortfall = sum(abs(point - best[row.arm, key]) for key, point in lost.items())
            found.append(((row.arm in controls, row.status != "error", -len(lost), -shortfall, place), row, lost))
    found.sort(key=lambda one: one[0])
    shown: list[FailingRow] = []
    left = MOST_BYTES
    for _, row, lost in found[:MOST_ROWS]:
        told = _told(row, items[row.item_id], lost, row.arm in controls, private)
        left -= told.n_bytes
        if left < 0:
            break
        shown.append(told)
    return Failing(
        tuple(shown),
        len(found),
        sum(row.status == "error" for row in rows),
        judged.is_read,
        tuple(dict.fromkeys(one.metric for row in shown for one in row.lost)),
        tuple(dict.fromkeys(row.arm for row in shown)),
        tuple(_errors(report, private)),
    )


def _errors(report: Mapping[str, Any], private: bool) -> list[str]:
    """What rows failed with, arm by arm, the most frequent first; private, without the messages."""
    return [
        f"{name}: {error['count']:,} × {error['kind']}" + ("" if private else f": {error['message']}")
        for name, arm in report["arms"].items()
        for error in arm["errors"]
    ]


@dataclass(frozen=True)
class _Judged:
    """Which metrics judge a row: by name whether higher is better, whether it is a rate, and who reads which rows."""

    metrics: Mapping[str, Mapping[str, Any]]
    readers: Mapping[str, Sequence[tuple[Sequence[str] | None, Mapping[str, Any]]]]
    is_read: bool

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> _Judged:
        """The quality metrics over rows, and for each the arms and rows that its gates and comparisons read."""
        asked = report["asked"]
        quality = {
            key: metric
            for key, metric in asked["metrics"].items()
            if metric["grain"] == "row" and metric["figure"].startswith("quality/")
        }
        readers: dict[str, list[tuple[Sequence[str] | None, Mapping[str, Any]]]] = {}
        for key, metric in quality.items():
            for name, gate in report["gates"].items():
                # a control that has to fail is as it should be, and a skipped gate read nothing
                reads = gate["expected"] == "pass" and gate["outcome"] != "skipped" and gate["comparison"] is None
                if reads and _is_of(gate["figure"], metric["figure"]):
                    arms = None if gate["arm"] is None else (gate["arm"],)
                    readers.setdefault(key, []).append((arms, asked["gates"][name]["where"]))
            for name, sides in asked["comparisons"].items():
                if any(_is_of(figure, metric["figure"]) for figure in report["comparisons"][name]):
                    readers.setdefault(key, []).append(((sides["reference"], sides["candidate"]), {}))
        return cls(quality, readers or {key: [(None, {})] for key in quality}, bool(readers))

    def points(self, row: Row) -> dict[str, float]:
        """The row's own number under each metric that judges it."""
        found = {}
        for key, readers in self.readers.items():
            stats = row.stats.get(key)
            if stats and any((arms is None or row.arm in arms) and row_matches(row, where) for arms, where in readers):
                # of several statistics the first two are what was counted and out of how much
                found[key] = stats[0] if len(stats) == 1 else stats[0] / (stats[1] or 1.0)
        return found

    def best(self, rows: Sequence[Row]) -> dict[tuple[str, str], float]:
        """(arm, metric) -> the best that a row can have: of a rate it is known, else what the arm's best row has."""
        found: dict[tuple[str, str], float] = {}
        for row in rows:
            for key, point in self.points(row).items():
                metric, at = self.metrics[key], (row.arm, key)
                if metric["is_rate"]:
                    found[at] = 1.0 if metric["higher_is_better"] else 0.0
                else:
                    found[at] = (max if metric["higher_is_better"] else min)(point, found.get(at, point))
        return found

    def lost(self, row: Row, best: Mapping[tuple[str, str], float]) -> dict[str, float]:
        """The metrics under which the row is worse than the best, and its own numbers."""
        return {key: point for key, point in self.points(row).items() if point != best[row.arm, key]}


def _is_of(figure: str, base: str) -> bool:
    return figure == base or figure.startswith(f"{base}/")


def _told(row: Row, item: Item, lost: Mapping[str, float], control: bool, private: bool) -> FailingRow:
    error = "" if row.error is None else row.error.kind if private else f"{row.error.kind}: {row.error.message}"
    plain = FailingRow(
        arm=row.arm,
        seed=str(row.seed),
        item=row.item_id,
        kind=item.kind,
        status=row.status if row.finish_reason in (None, "stop") else f"{row.status}, finished by {row.finish_reason}",
        control=control,
        error=short(error, LONGEST_REASON),
        lost=tuple(Lost(key, number(point)) for key, point in lost.items()),
    )
    if private:
        return plain
    texts = {
        "prompt": item.prompt,
        "target": item.target,
        "draft": row.draft,
        "served": None if row.served == row.draft else row.served,
    }
    clips = {name: None if text is None else clip(text) for name, text in texts.items()}
    told = sorted(row.detail.items(), key=lambda one: one[0] not in lost)  # first why it loses
    reasons = [
        (metric, key, short(in_words(value), LONGEST_REASON))
        for metric, detail in told
        for key, value in detail.items()
        if value not in (None, "", [], {})
    ]
    return FailingRow(**{**vars(plain), **clips, "reasons": tuple(reasons)})
