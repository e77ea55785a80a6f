"""evalflow from Python: what the command line does, with values in the place of what it prints."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalflow.errors import ConfigError, Fault

if TYPE_CHECKING:
    import pandas

    from evalflow.record import Item, Row
    from evalflow.runner.plan import Plan

SHOWN = ("pass", "fail", "unreadable", "skipped")


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A scored run: where it is kept, what it says, and its tables.

    `report` is the content of report.json, `exit_code` what the command line would have answered, `notices` what it
    would have said beside the report. `answers` are the scored rows and `items` what was asked.
    """

    folder: Path
    report: Mapping[str, Any]
    exit_code: int
    answers: tuple[Row, ...]
    items: tuple[Item, ...]
    notices: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """pass, fail, unreadable or incomplete."""
        return str(self.report["verdict"])

    def rows(self) -> pandas.DataFrame:
        """A row per answer or error; the columns are `report.tables.ROW_COLUMNS` and `metric.<key>`."""
        from evalflow.report.tables import frame, row_columns, row_records

        return frame(row_records(self.answers, self.items), row_columns(self.answers))

    def figures(self) -> pandas.DataFrame:
        """A row per figure of an arm, whole and broken down; the columns are `report.tables.FIGURE_COLUMNS`."""
        from evalflow.report.tables import FIGURE_COLUMNS, figure_records, frame

        return frame(figure_records(self.report), FIGURE_COLUMNS)

    def comparisons(self) -> pandas.DataFrame:
        """A row per comparison and figure; the columns are `report.tables.COMPARISON_COLUMNS`."""
        from evalflow.report.tables import COMPARISON_COLUMNS, comparison_records, frame

        return frame(comparison_records(self.report), COMPARISON_COLUMNS)

    def gates(self) -> pandas.DataFrame:
        """A row per gate; the columns are `report.tables.GATE_COLUMNS`."""
        from evalflow.report.tables import GATE_COLUMNS, frame, gate_records

        return frame(gate_records(self.report), GATE_COLUMNS)

    def to_csv(self, folder: Path | str) -> list[Path]:
        """Write the four tables as CSV into a folder, replacing those of the same names; their paths.

        Where the run scored texts, `positions.csv` too.

        Raises:
            OutputError: it cannot be written, or has no name.
        """
        from evalflow.errors import OutputError
        from evalflow.report.positions import write_positions
        from evalflow.report.tables import write_csv

        if not os.fspath(folder):
            raise OutputError("to_csv: the folder has no name; name one, or '.' for the working folder")
        tables = write_csv(Path(folder), self.report, self.answers, self.items)
        return [*tables, *write_positions(Path(folder), self.answers)]

    def __repr__(self) -> str:
        """Where the run is kept, its verdict and its gates, on one line."""
        outcomes = [gate["outcome"] for gate in self.report["gates"].values()]
        counts = [f"{outcomes.count(outcome)} {outcome}" for outcome in SHOWN if outcome in outcomes]
        gates = f"gates: {', '.join(counts)}" if counts else "no gates"
        n_sessions = sum(session["n_rows"] > 0 for session in self.report["sessions"])
        rows = f"{self._n_rows} from {n_sessions} sessions" if n_sessions > 1 else self._n_rows
        return f"<Run {str(self.folder)!r}: {self.verdict} (exit code {self.exit_code}); {gates}; {rows}>"

    @property
    def _n_rows(self) -> str:
        coverage = self.report["coverage"]
        return f"{coverage['n_rows']} of {coverage['n_planned']} rows"


def compose(*overrides: str, config_dir: Path | str | Sequence[Path | str] = ()) -> dict[str, Any]:
    """The plain config of a command line such as `experiment=tiny_gpt`, `seed=1`, to be changed at will and run.

    `config_dir` are folders of your own beside the shipped one.

    Raises:
        ConfigError: every fault of the overrides and files. What the values are worth, `run` tells.
    """
    from evalflow.runner.build import Faults
    from evalflow.runner.compose import compose_config

    folders = [config_dir] if isinstance(config_dir, str | Path) else config_dir
    faults = Faults()
    composed = compose_config(overrides, [Path(folder) for folder in folders], faults)
    if composed is None or faults.found:
        raise ConfigError(faults.found)
    return composed.config


def run(config: Mapping[str, Any], *, allow: Sequence[str] = (), progress: bool = False) -> Run:
    """Carry out a composed config exactly as the command line does, in a notebook too; nothing is printed.

    It resumes an unfinished run of the same rows, scores, judges, reports and tracks. A verdict that is no pass is
    returned, not raised. `allow` are the module prefixes that `_target_` may name besides evalflow's; `progress` shows
    bars on a terminal's standard error.

    Raises:
        ConfigError: every fault of the config.
        EvalflowError: it could not be carried out; see `runner.session.carry_out`, `job.scored`.
        OutputError: it was, and its report could not be written.
        KeyboardInterrupt: it was stopped; what was answered is on disk, and the same call goes on from there.
    """
    from contextlib import closing

    from evalflow.command.options import allowed_by_environment
    from evalflow.job import performed, track
    from evalflow.runner.plan import build_plan

    plan = build_plan(_plain_config(config), (*allow, *allowed_by_environment()))
    if plan.config.get("dry_run"):
        raise ConfigError([Fault("dry_run", "it asks for a plan to be printed", "run the config without it")])
    notices: list[str] = []
    with closing(_progress(plan, progress)) as shown, performed(plan, shown, notices.append) as done:
        if done.unwritten is not None:
            raise done.unwritten
        if done.interrupted:
            raise KeyboardInterrupt(f"interrupted; run {done.run.run_id} is on disk, and the same call goes on with it")
        tracked = track(plan.tracking, done, Path(plan.runner.outputs))
    notices += [done.unpaged] if done.unpaged else []
    notices += [f"MLflow: {tracked.link}"] if tracked.link else []
    notices += [tracked.trouble] if tracked.trouble else []
    return Run(done.folder, done.report, done.exit_code, tuple(done.rows), done.items, tuple(notices))


def load(path_or_id: Path | str, outputs: Path | str = "outputs") -> Run:
    """A stored, scored run, by its folder or by its id under `outputs`. Nothing is computed again.

    Raises:
        StoredRunError: there is no such run, it is of an unknown schema version or damaged, or not scored as it stands.
    """
    from evalflow.report.stored_report import load_report, scored_rows
    from evalflow.runner.stored_run import find_run, load_run

    folder = find_run(str(path_or_id), Path(outputs))
    stored = load_run(folder)
    report = load_report(folder)
    return Run(folder, report, int(report["exit_code"]), tuple(scored_rows(stored)), stored.items)


class _Silent:
    """Progress that nobody sees."""

    def arm(self, name: str, total: int, done: int) -> None:
        pass

    def row(self, row: Row) -> None:
        pass

    def stopping(self, finishing: bool) -> None:
        pass

    def close(self) -> None:
        pass


def _progress(plan: Plan, wanted: bool) -> Any:
    if not wanted:
        return _Silent()
    from evalflow.report.progress import TerminalProgress
    from evalflow.report.terminal import watched

    return TerminalProgress.of(plan, watched(), wanted)


def _plain_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config of the values that a config file can hold; paths and numpy's numbers become such.

    Raises:
        ConfigError: every value that is none.
    """
    if not isinstance(config, Mapping):
        raise ConfigError([Fault("config", f"it is {type(config).__name__}", "give a mapping, as compose returns")])
    faults: list[Fault] = []
    try:
        whole: dict[str, Any] = _plain(config, "", faults)
    except RecursionError:
        raise ConfigError([Fault("config", "it is nested too deep", "take out what contains itself")]) from None
    if faults:
        raise ConfigError(faults)
    return whole


def _plain(value: Any, where: str, faults: list[Fault]) -> Any:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(part, f"{where}.{key}".lstrip("."), faults) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(part, f"{where}[{place}]", faults) for place, part in enumerate(value)]
    if isinstance(value, str):
        return str.__str__(value)  # of a subclass too, such as an enum
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind(value)
    if value is not None:
        faults.append(Fault(where, f"it is {type(value).__name__}", "give a text, number, list or mapping"))
    return None
