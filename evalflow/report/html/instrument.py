"""The instrument as the page shows it: everything that a number depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalflow.report.html.conditions import Entry, conditions, entries, flat
from evalflow.report.html.shown_text import short
from evalflow.report.seat_lines import calibration_line

Pairs = tuple[tuple[str, str], ...]
LONGEST_VALUE = 300


@dataclass(frozen=True)
class Instrument:
    """Tables of names and values; those of arms have a value per arm."""

    hashes: Pairs
    environment: Pairs
    metrics: Pairs
    sessions: tuple[tuple[str, ...], ...]
    conditions: tuple[Entry, ...]
    course: tuple[Entry, ...]
    serving: str
    calibration: str


def instrument_of(report: Mapping[str, Any], private: bool) -> Instrument:
    """Everything of it. Private, what may hold texts is left out: of models and metrics their settings."""
    told = report["instrument"]
    hashes = {key: told[key] for key in ("hash", "quality_hash", "latency_hash", "judging_hash")}
    hashes |= {key: report["dataset"][key] for key in ("content_fp", "ordered_fp", "request_fp")}
    course = {name: _course(arm) for name, arm in report["arms"].items()}
    return Instrument(
        hashes=tuple(hashes.items()),
        environment=(*flat(told["environment"]).items(), ("seed", str(told["seed"]))),
        metrics=tuple((name, _described(metric, private)) for name, metric in told["metrics"].items()),
        sessions=tuple(
            (one["session"], one["started"], one["finished"] or "", one["state"], f"{one['n_rows']:,}")
            for one in report["sessions"]
        ),
        conditions=tuple(_clipped(conditions(report, private))),
        course=tuple(_clipped(entries(course, private))),
        serving="" if told["serving"] is None else _described(told["serving"], private),
        calibration=_calibration(report),
    )


def _course(arm: Mapping[str, Any]) -> dict[str, Any]:
    """How the arm's run went, and what its model found out about itself."""
    told = {key: arm[key] for key in ("order", "claims", "concurrency", "corpus", "driver", "facts")}
    return told if arm["unavailable"] is None else {"unavailable": arm["unavailable"], **told}


def _clipped(told: list[Entry]) -> list[Entry]:
    return [Entry(one.key, tuple(short(value, LONGEST_VALUE) for value in one.values)) for one in told]


def _described(part: Mapping[str, Any], private: bool) -> str:
    settings = {} if private else flat(part["settings"])
    said = ", ".join(f"{key} = {short(value, LONGEST_VALUE)}" for key, value in settings.items())
    return f"{part['class']}, version {part['version']}{': ' if said else ''}{said}"


def _calibration(report: Mapping[str, Any]) -> str:
    """The driver's own error beside the times of seats; nothing where none was asked."""
    seats = [arm for arm in report["arms"].values() if "seat" in arm["facts"]]
    most = max((arm["concurrency"]["in_flight_max"] or 1 for arm in seats), default=None)
    return "" if most is None else calibration_line(report["calibration"], most)
