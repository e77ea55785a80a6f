"""The runs under an outputs folder as records and as a table, and what would be removed of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evalflow.errors import worst
from evalflow.report.aligned import print_hanging
from evalflow.report.console import STYLE, printable
from evalflow.runner.inventory import Entry
from evalflow.runner.sweep_record import SWEEPS, SweepFolder

if TYPE_CHECKING:
    from evalflow.runner.removal import Removal

Record = dict[str, Any]
STANDING = {"at work": "cyan", "unfinished": "yellow", "interrupted": "yellow", "damaged": "bold red"}
SHORT = 6
"""Characters of a sweep's id that stand beside its runs, from its end; the sweep's own line has all of it."""
TRACKED = {
    "logged": "",
    "failed": "tracking failed",
    "logging": "tracking not ended",
    "cut off": "tracking cut off",
}
COLUMNS = ("run", "experiment", "state", "verdict", "rows", "sweep", "note")
UNITS = ("B", "kB", "MB", "GB", "TB")


def run_record(entry: Entry, tracked: str | None) -> Record:
    """A run as `evalflow list --json` tells it; `tracked` is how far its tracking came, None where it never began."""
    run: Mapping[str, Any] = entry.run or {}
    return {
        "run_id": entry.run_id,
        "experiment": entry.experiment,
        "folder": str(entry.folder),
        "state": entry.state,
        "verdict": entry.verdict,
        "exit_code": entry.exit_code,
        "n_rows": entry.n_rows,
        "n_planned": entry.n_planned,
        "part": run.get("part"),
        "sweep_id": entry.sweep_id,
        "tracked": tracked,
        "started": run.get("started"),
        "finished": run.get("finished"),
        "n_sessions": len(run["sessions"]) if run else None,
        "damage": entry.damage,
    }


def sweep_records(outputs: Path, runs: Sequence[Record]) -> list[Record]:
    """The sweeps under an outputs folder that any of these runs is a job of, newest first."""
    experiments = {run["sweep_id"]: run["experiment"] for run in runs if run["sweep_id"] is not None}
    found = []
    for sweep_id in sorted(experiments, reverse=True):
        sweep = SweepFolder(outputs / SWEEPS / sweep_id)
        jobs = [sweep.read(number) for number in range(len(sweep.state().get("jobs", ())))]
        if jobs:
            codes = [job.exit_code for job in jobs if job is not None and job.exit_code is not None]
            found.append(
                {
                    "sweep_id": sweep_id,
                    "experiment": experiments[sweep_id],
                    "n_finished": sum(job is not None and job.decided for job in jobs),
                    "n_jobs": len(jobs),
                    "exit_code": int(worst(codes)) if len(codes) == len(jobs) else None,
                }
            )
    return found


def print_sweeps(records: Sequence[Record], console: Console) -> None:
    """A line per sweep: how many of its jobs are finished, and its exit code once all have ended."""
    for record in records:
        answer = "" if record["exit_code"] is None else f", exit code {record['exit_code']}"
        jobs = f"{record['n_finished']} of {record['n_jobs']} jobs finished{answer}"
        console.print(Text(printable(f"sweep {record['sweep_id']}  {record['experiment']}  {jobs}")), soft_wrap=True)


def print_experiments(listed: Iterable[tuple[str, str]], console: Console) -> None:
    """Each experiment with its one line."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, said in listed:
        table.add_row(Text(printable(name)), Text(printable(said)))
    console.print(table)


def print_names(listed: Iterable[tuple[str, str]], console: Console) -> None:
    """The experiments by name alone, and who tells what they are for."""
    names = ", ".join(printable(name) for name, _ in listed)
    print_hanging(Text(f"experiments: {names} (evalflow --help says what each is for)"), console)


def print_runs(records: Sequence[Record], console: Console) -> None:
    """A line per run, in the order given; a column that would be empty is left out. What is damaged is told below."""
    cells = [_cells(record) for record in records]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    columns = [column for column in COLUMNS if any(str(row[column]) for row in cells)]
    for column in columns:
        table.add_column(Text(column, style="bold"), no_wrap=column in ("run", "sweep"), overflow="fold")
    for row in cells:
        table.add_row(*(row[column] for column in columns))
    if cells:
        console.print(table)
    for record in records:
        if record["damage"]:
            console.print(Text(printable(f"damaged: {record['damage']}")), soft_wrap=True)


def print_removals(found: Sequence[Removal], console: Console) -> None:
    """A line per folder that would go."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("folder", "what", "verdict", "size"):
        justify: Literal["right", "left"] = "right" if column == "size" else "left"
        table.add_column(Text(column, style="bold"), justify=justify, overflow="fold", no_wrap=column != "folder")
    for one in found:
        what = f"run, {one.entry.state}" if one.entry else one.kind
        verdict = (one.entry.verdict or "-") if one.entry else ""
        table.add_row(*(Text(printable(cell)) for cell in (str(one.folder), what, verdict, size(one.size))))
    console.print(table)


def size(n_bytes: float) -> str:
    """Bytes in the unit that keeps them below a thousand, to three digits."""
    for unit in UNITS:
        if round(n_bytes) < 1000 or unit == UNITS[-1]:
            break
        n_bytes /= 1000
    return f"{n_bytes:.0f} {unit}" if unit == "B" or n_bytes >= 99.95 else f"{n_bytes:.1f} {unit}"


def _cells(record: Record) -> dict[str, Text]:
    verdict = "" if record["verdict"] is None else f"{record['verdict']} ({record['exit_code']})"
    if record["verdict"] is None and record["state"] == "finished":
        verdict = "not scored"
    there, planned = ("?" if record[key] is None else str(record[key]) for key in ("n_rows", "n_planned"))
    tracked = TRACKED.get(record["tracked"], "not tracked")
    told = {
        "run": record["run_id"],
        "experiment": record["experiment"],
        "state": record["state"],
        "verdict": verdict,
        "rows": "" if record["damage"] else f"{there}/{planned}",
        "note": "" if record["damage"] else "; ".join(part for part in (record["part"], tracked) if part),
        "sweep": (record["sweep_id"] or "")[-SHORT:],
    }
    style = {"state": STANDING.get(record["state"], ""), "verdict": STYLE.get(record["verdict"], "")}
    return {name: Text(printable(said), style=style.get(name, "")) for name, said in told.items()}
