"""A finished run as the flat entries that are logged: one per arm and seed, and the report's.

Nothing here imports MLflow; what reads best there was looked at: flat runs, few params, short groups.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from evalflow.errors import TrackingError
from evalflow.record import Row
from evalflow.runner.stored_config import from_yaml, to_yaml
from evalflow.runner.sweep_record import axis_labels
from evalflow.tracking.arm_note import arm_note
from evalflow.tracking.finished_run import FinishedRun
from evalflow.tracking.items_table import TABLE, TABLE_TAG, TABLE_TAG_VALUE, items_table
from evalflow.tracking.key import safe_key, safe_text, short_text
from evalflow.tracking.note import NOTE_TAG, note
from evalflow.withheld import private_config

CONFIG = "config.yaml"
NEEDED_FILES = ("report.json", CONFIG)
PAGE = "report.html"
OTHER_FILES = ("junit.xml", PAGE, "console.txt", "rows.jsonl", "scores.jsonl")
# a longer one pushes the tag's own name out of sight on the run page; report.json has it whole
SHORT_HASH = 12
GIT_TAG = "evalflow.git"
# an id holds the second and six digits of the config: on two machines there may be two runs of one id
ORIGIN_TAG = "evalflow.origin"
PRIVATE_TAG = "evalflow.private"
WITHHELD = "withheld"
SETTINGS = ("conditions", "metrics", "serving", "scoring")
"""Parts of the instrument that hold settings, and so may hold a text."""
# short, or MLflow cuts the name of its tag
PRIVATE = "texts are left out"
SOURCE = {"mlflow.source.name": "evalflow", "mlflow.source.type": "LOCAL"}

Status = Literal["FINISHED", "FAILED", "KILLED"]
"""How MLflow shows that a run ended."""


@dataclass(frozen=True)
class Entry:
    """One flat run of the tracking store. Times are milliseconds since the epoch.

    `metrics` are logged at `step`, the training step of the checkpoint that was measured, where the run says it; a
    `series` has a value for each of its steps.
    """

    name: str
    tags: Mapping[str, str]
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    texts: Mapping[str, str]
    files: tuple[Path, ...]
    start_ms: int
    end_ms: int
    status: Status = "FINISHED"
    step: int = 0
    series: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    @property
    def identity(self) -> tuple[str | None, ...]:
        """What tells this entry from the others of its run: (role, arm, seed)."""
        return identity(self.tags)


def identity(tags: Mapping[str, str]) -> tuple[str | None, ...]:
    """(role, arm, seed) as an entry or a stored run is tagged."""
    return tuple(tags.get(f"evalflow.{key}") for key in ("role", "arm", "seed"))


def entries(run: FinishedRun, private: bool, git: str | None) -> list[Entry]:
    """The entries of a run, arms in config order, the report last.

    Raises:
        TrackingError: report.json or config.yaml is gone; or private, and a gate's `rows` are not ids.
    """
    for name in NEEDED_FILES:
        if not (run.folder / name).is_file():
            raise TrackingError(f"{run.folder / name}: is not there; restore the run's folder")
    if private:
        run = replace(run, report=_without_texts(run.report, _said(run)), swept=private_config(dict(run.swept), ()))
        _check_rows_are_ids(run)
    shared = _shared_tags(run, private, git)
    passes = [(arm, int(seed)) for arm, has in run.report["arms"].items() for seed in has["conditions"]["seeds"]]
    # the list is sorted by start, newest first: a millisecond each puts the report on top, then config order
    places = range(len(passes), 0, -1)
    varying = _varying(run.report["arms"])
    logged = [_arm_entry(run, at, shared, varying[at[0]], place) for at, place in zip(passes, places, strict=True)]
    return [*logged, _report_entry(run, shared, place=len(passes) + 1)]


def _arm_entry(
    run: FinishedRun, at: tuple[str, int], shared: Mapping[str, str], varying: Mapping[str, str], place: int
) -> Entry:
    (name, seed), arm = at, run.report["arms"][at[0]]
    rows = run.rows_of(name, seed)
    figures = {**arm["figures"], **arm.get("by_seed", {}).get(str(seed), {})}
    metrics, told = numbers(figures)
    texts = {}
    tags = {**shared, **told, "evalflow.role": "arm", "evalflow.arm": name, "evalflow.seed": str(seed)}
    tags[NOTE_TAG] = arm_note(run.report, name, seed, figures, run.swept)
    if arm.get("unavailable"):
        tags["evalflow.unavailable"] = arm["unavailable"]
    if rows:
        items = {item.id: item for item in run.items}
        texts[TABLE] = items_table(rows, items, private=PRIVATE_TAG in shared)
        tags[TABLE_TAG] = TABLE_TAG_VALUE
    params = {
        "arm": name,
        "seed": str(seed),
        "dataset": run.report["dataset"]["name"],
        "concurrency": str(arm["conditions"]["concurrency"]),
        **_step(run),
        **varying,
    }
    start = milliseconds(run.report["started"]) + place
    return Entry(
        name=short_text(f"{name} s{seed}{_sweep_suffix(run)}"),
        tags=as_tags(tags),
        params=as_params({**params, **_swept(run)}),
        metrics=metrics,
        texts=texts,
        files=(),
        start_ms=start,
        end_ms=start + round(1000 * seconds_at_work(rows)),
        status=_arm_status(run, arm, len(rows)),
        step=run.report.get("step") or 0,
    )


def _arm_status(run: FinishedRun, arm: Mapping[str, Any], n_rows: int) -> Status:
    if arm.get("unavailable"):
        return "FAILED"
    return "KILLED" if run.interrupted and n_rows < run.report["dataset"]["n"] else "FINISHED"


def _report_entry(run: FinishedRun, shared: Mapping[str, str], place: int) -> Entry:
    report = run.report
    verdict = str(report["verdict"])
    gates, undecided = _gate_numbers(report["gates"])
    deltas, told = numbers(_deltas(report["comparisons"]))
    private = PRIVATE_TAG in shared
    files = [] if private else [run.folder / name for name in NEEDED_FILES + OTHER_FILES]
    tags = {
        **shared,
        **undecided,
        **told,
        "evalflow.role": "report",
        NOTE_TAG: note(report),
    }
    start = milliseconds(report["started"]) + place
    status: Status = "FAILED" if verdict == "incomplete" else "FINISHED"
    return Entry(
        name=short_text(f"report: {verdict}{_sweep_suffix(run)}"),
        tags=as_tags(tags),
        params=as_params({**_swept(run), "dataset": report["dataset"]["name"], **_step(run)}),
        metrics={**gates, **deltas, **_counts(run)},
        texts=_private_texts(run) if private else {},
        files=tuple(path for path in files if path.name in NEEDED_FILES or path.exists()),
        start_ms=start,
        end_ms=max(start, milliseconds(report["finished"] or report["started"])),
        status="KILLED" if run.interrupted else status,
        step=report.get("step") or 0,
    )


def _shared_tags(run: FinishedRun, private: bool, git: str | None) -> dict[str, str]:
    config = (run.folder / "config.yaml").read_bytes()
    return {
        "evalflow.experiment": run.report["experiment"],
        "evalflow.run_id": run.run_id,
        ORIGIN_TAG: run.origin,
        "evalflow.sweep_id": run.sweep_id or run.run_id,
        "evalflow.verdict": run.report["verdict"],
        "evalflow.schema_version": str(run.report["schema_version"]),
        "evalflow.instrument": str(run.report["instrument"]["hash"])[:SHORT_HASH],
        "evalflow.config_sha": sha256(config).hexdigest()[:SHORT_HASH],
        **SOURCE,
        **({GIT_TAG: git} if git else {}),
        **({PRIVATE_TAG: PRIVATE} if private else {}),
    }


def as_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Tags as every store accepts them."""
    return {safe_key(key): safe_text(value) for key, value in tags.items()}


def as_params(params: Mapping[str, str]) -> dict[str, str]:
    """Params as every store accepts them."""
    return {safe_key(key): short_text(value) for key, value in params.items()}


def numbers(figures: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, float], dict[str, str]]:
    """Finite values as metrics, the others as tags: one NaN and MLflow's run page does not open.

    A time that was taken over several sessions is no one measurement, and a tag too.
    """
    metrics: dict[str, float] = {}
    undefined: dict[str, str] = {}
    over_sessions: dict[str, str] = {}
    for name, figure in figures.items():
        value, sessions = figure["value"], figure.get("n_sessions") or 1
        if value is None or not math.isfinite(value):
            undefined[f"evalflow.undefined.{name}"] = figure.get("reason") or f"the value is {value}"
        elif sessions > 1:
            measured = f"{rounded(value):g} {figure.get('unit', '')}".strip()
            over_sessions[f"evalflow.over_sessions.{name}"] = f"{measured} over {sessions} sessions"
        else:
            metrics[safe_key(name)] = rounded(value)
    metrics["n/undefined"] = float(len(undefined))
    return metrics, undefined | over_sessions


def rounded(value: float) -> float:
    """Six significant digits: MLflow shows every digit that it is given."""
    return float(f"{value:.6g}")


def _gate_numbers(gates: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, float], dict[str, str]]:
    """1 for a pass, which a control gets by failing, else 0; without a decision it is a tag, not a number."""
    metrics: dict[str, float] = {}
    undecided: dict[str, str] = {}
    for name, gate in gates.items():
        if gate["outcome"] in ("pass", "fail"):
            metrics[safe_key(f"gate/{name}")] = float(gate["outcome"] == "pass")
        else:
            undecided[f"evalflow.{gate['outcome']}.{name}"] = gate.get("reason") or gate["outcome"]
    return metrics, undecided


def _deltas(comparisons: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    named: dict[str, dict[str, Any]] = {}
    for name, figures in comparisons.items():
        for figure, key in delta_names(name, figures).items():
            delta = figures[figure]
            taken = {"reason": delta.get("reason"), "n_sessions": delta.get("n_sessions")}
            named[key] = {"value": delta["delta"], **taken}
    return named


def delta_names(comparison: str, figures: Iterable[str]) -> dict[str, str]:
    """Figure -> the name of its delta: two levels, the figure first, whose group stays only where two would be one.

    A third level makes a chart section of its own, and a chart's title shows only the beginning.
    """
    listed = list(figures)
    plain = Counter(_without_group(figure) for figure in listed)
    shown = {figure: figure if plain[_without_group(figure)] > 1 else _without_group(figure) for figure in listed}
    return {figure: f"delta/{text.replace('/', '.')} {comparison}" for figure, text in shown.items()}


def _without_group(figure: str) -> str:
    return figure.split("/", 1)[-1]


def _counts(run: FinishedRun) -> dict[str, float]:
    outcomes = Counter(gate["outcome"] for gate in run.report["gates"].values())
    return {
        "n/items": float(run.report["dataset"]["n"]),
        "n/rows": float(len(run.rows)),
        "n/errors": float(sum(row.status == "error" for row in run.rows)),
        "n/gates_passed": float(outcomes["pass"]),
        "n/gates_failed": float(outcomes["fail"]),
        "n/gates_unreadable": float(outcomes["unreadable"]),
    }


def _varying(arms: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Per arm, the conditions that differ between arms: MLflow's compare page draws every param."""
    flat = {name: dict(_flat(arm["conditions"])) for name, arm in arms.items()}
    keys = dict.fromkeys(key for conditions in flat.values() for key in conditions)
    differ = [key for key in keys if len({conditions.get(key) for conditions in flat.values()}) > 1]
    return {name: {key: has[key] for key in differ if key in has} for name, has in flat.items()}


def _flat(conditions: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in conditions.items():
        name = f"{prefix}{key}"
        if name == "seeds":  # an entry has one seed, which is its own param
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        else:
            yield name, value if isinstance(value, str) else json.dumps(value, default=str)


def _step(run: FinishedRun) -> dict[str, str]:
    """The training step as a param, unless it is one already as what the sweep gave; older reports have none."""
    step = run.report.get("step")
    return {} if step is None or "step" in run.swept else {"step": str(step)}


def _swept(run: FinishedRun) -> dict[str, str]:
    return {f"sweep.{key}": str(value) for key, value in run.swept.items()}


def _sweep_suffix(run: FinishedRun) -> str:
    labels = axis_labels(run.swept)
    return "".join(f" {labels[key]}={value}" for key, value in run.swept.items())


def seconds_at_work(rows: Sequence[Row]) -> float:
    """From the first request to the last end (s), added over sessions since each has a clock of its own."""
    total = 0.0
    for session in {row.session for row in rows}:
        times = [row.times for row in rows if row.session == session]
        begun = [time for has in times for time in (has.scheduled, has.sent) if time is not None]
        ended = [has.end for has in times if has.end is not None]
        total += max(0.0, max(ended) - min(begun)) if begun and ended else 0.0
    return total


def milliseconds(moment: str) -> int:
    """An ISO moment in milliseconds since the epoch."""
    return round(1000 * datetime.fromisoformat(moment).timestamp())


def _said(run: FinishedRun) -> set[str]:
    """Every text that the run asked, was answered or expected."""
    asked = (text for item in run.items for text in (item.prompt, item.target))
    answered = (text for row in run.rows for text in (row.draft, row.served))
    return {text for text in (*asked, *answered) if text}


def _without_texts(report: Mapping[str, Any], said: set[str]) -> dict[str, Any]:
    """A report whose positions of scored texts are told by their places alone, and whose conditions hold no text.

    What rows failed with is left out as well, for a server may quote what it was asked.
    """
    told: dict[str, Any] = copy.deepcopy(dict(report))
    for arm in told["arms"].values():
        arm["conditions"] = private_config(arm["conditions"], said)
        for error in arm.get("errors", []):
            error["message"] = WITHHELD
        for places in arm.get("worst_positions", {}).values():
            for place in places:
                place["context"] = ""
    for key in SETTINGS:
        if key in told["instrument"]:
            told["instrument"][key] = private_config(told["instrument"][key], said)
    for gate in told["gates"].values():
        gate["rows"] = [re.sub(r"( at \d+ \([^()]*\)): .*", r"\1", row, flags=re.DOTALL) for row in gate["rows"]]
    return told


def _private_texts(run: FinishedRun) -> dict[str, str]:
    """What a private store gets in place of the folder's own report, config and page, which have texts."""
    own = {
        "report.json": json.dumps(run.report, indent=1, ensure_ascii=True, allow_nan=False) + "\n",
        CONFIG: to_yaml(private_config(from_yaml(run.folder / CONFIG), _said(run))),
    }
    page = run.private_page()
    return own if page is None else {**own, PAGE: page}


def _check_rows_are_ids(run: FinishedRun) -> None:
    ids = {item.id for item in run.items}
    for name, gate in run.report["gates"].items():
        for row in gate["rows"]:
            # a row is written as `item id (seed s)`, a position as `item id at n (value)`, an item as its id
            if row not in ids and re.sub(r" (\(seed -?\d+\)|at \d+ \([^()]*\))$", "", row) not in ids:
                raise TrackingError(
                    f"{run.folder / 'report.json'}: private, but gates.{name}.rows holds more than row ids; "
                    "set tracking.private=false or score the run again"
                )
