"""`evalflow track RUN [RUN ...]`: log stored runs, and sweeps, to the tracking store."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalflow.command.guard import guarded, tell
from evalflow.command.options import CommandParser, Options
from evalflow.command.run import complain
from evalflow.errors import ConfigError, ExitCode, worst

if TYPE_CHECKING:
    from evalflow.job import Tracked

OUTPUTS = Path("outputs")
NODE = "tracking"
UNTRACKED = "evalflow.tracking.untracked.Untracked"


def track(words: Sequence[str], options: Options) -> int:
    """Log runs and sweeps that are on disk. One that cannot be logged keeps none of the others from it."""
    takes = f"runs or sweeps (folders, or ids under {OUTPUTS} or --outputs DIR) and {NODE}.key=value"
    parser = CommandParser("track", takes, __doc__)
    parser.add_argument("named", nargs="+")
    parser.add_argument("--outputs", type=Path, default=None)
    settings = [word for word in words if word.startswith(f"{NODE}.")]
    asked = parser.read([word for word in words if word not in settings])
    logging = Logging(_parsed(settings), asked.outputs, options)
    # every name is looked up before anything is logged
    folders = [_found(named, asked.outputs or OUTPUTS) for named in asked.named]
    codes = []
    for act in [act for folder in folders for act in logging.acts(folder)]:
        ended = guarded(act, options.debug)
        tell(ended)
        codes.append(ended.code)
    return worst(codes)


@dataclass(frozen=True)
class Logging:
    """How runs are logged: what of their own tracking settings is changed, and the outputs folder if one was named."""

    changes: Mapping[str, Any]
    outputs: Path | None
    options: Options

    def acts(self, folder: Path) -> Iterator[partial[int]]:
        """What is to be done for a run, or for each job of a sweep and then the sweep.

        Raises:
            StoredRunError: the sweep's summary cannot be read.
        """
        from evalflow.runner.sweep_record import is_sweep

        if not is_sweep(folder):
            yield partial(self.log_run, folder)
            return
        from evalflow.report.stored_report import load_summary

        for job in load_summary(folder)["jobs"]:
            if job["run_id"] is not None:
                yield partial(self.log_job, job, folder)
        yield partial(self.log_sweep, folder)

    def log_run(self, folder: Path) -> int:
        """Log one run as it was scored; the exit code.

        Raises:
            EvalflowError: the run, its report or its tracking settings cannot be read, or another process is at it.
        """
        from evalflow.job import Done, kept_from_others, track
        from evalflow.report.stored_report import load_report, scored_rows
        from evalflow.runner.stored_run import load_run

        with kept_from_others(folder):
            run = load_run(folder)
            done = Done(run, load_report(folder), scored_rows(run))
            outputs = self._outputs(folder, str(run.state["experiment"]))
            return self._told(run.run_id, track(self._tracking(folder), done, outputs))

    def log_job(self, job: Mapping[str, Any], sweep: Path) -> int:
        """Log the run of a sweep's job; the exit code.

        Raises:
            EvalflowError: as `log_run`.
        """
        return self.log_run(_job_folder(job, sweep))

    def log_sweep(self, folder: Path) -> int:
        """Log a sweep's own run, to where its jobs' runs go; the exit code.

        Raises:
            EvalflowError: as `log_run`.
        """
        from evalflow.job import kept_from_others, track_sweep
        from evalflow.report.html.sweep_page_file import SweepPage
        from evalflow.report.stored_report import load_summary
        from evalflow.report.sweep_reports import job_reports
        from evalflow.runner.sweep_record import SWEEPS

        summary = load_summary(folder)
        first = next((job for job in summary["jobs"] if job["run_id"] is not None), None)
        tracking = self._tracking(None if first is None else _job_folder(first, folder))
        if not hasattr(tracking, "log_sweep"):
            return ExitCode.PASS  # it keeps runs alone
        with kept_from_others(folder):
            page = SweepPage(folder, summary, job_reports(summary, folder))
            return self._told(folder.name, track_sweep(tracking, page, self._outputs(folder, SWEEPS)))

    def _outputs(self, folder: Path, kept_in: str) -> Path:
        """The outputs folder that a stored one lies in, where the store is too unless the settings name another."""
        if self.outputs is not None:
            return self.outputs
        folder = folder.resolve()
        if folder.parent.name != kept_in or folder.parent.parent == OUTPUTS.resolve():
            return OUTPUTS
        return folder.parent.parent

    def _tracking(self, folder: Path | None) -> Any:
        """The tracker of a run's own config, changed as asked; MLflow as shipped where the run was not to be tracked.

        Raises:
            ConfigError: it cannot be built.
            StoredRunError: the config cannot be read.
        """
        from evalflow.runner.build import Builder, Faults
        from evalflow.runner.experiments import shipped_folder
        from evalflow.runner.stored_config import from_yaml

        node = None if folder is None else from_yaml(folder / "config.yaml").get(NODE)
        if node is None or (isinstance(node, Mapping) and node.get("_target_") == UNTRACKED):
            node = from_yaml(shipped_folder() / NODE / "mlflow.yaml")
        faults = Faults()
        built = Builder(("evalflow", *self.options.allow), faults).build(_changed(node, self.changes), NODE)
        if faults.found:
            raise ConfigError(faults.found)
        return built

    def _told(self, name: str, tracked: Tracked) -> int:
        """Say what became of it; the exit code."""
        from evalflow.report.terminal import say

        complain(tracked.trouble and f"{name}: {tracked.trouble}")
        if tracked.trouble:
            return ExitCode.INCOMPLETE
        if not self.options.quiet:
            say(
                partial(
                    print, f"{name}  MLflow: {tracked.link}" if tracked.link else f"{name}  its tracker has no link"
                )
            )
        return ExitCode.PASS


def _found(named: str, outputs: Path) -> Path:
    """The folder of a run or a sweep.

    Raises:
        StoredRunError: there is none.
    """
    from evalflow.runner.stored_run import find_run
    from evalflow.runner.sweep_record import find_sweep

    return find_sweep(named, outputs) or find_run(named, outputs)


def _job_folder(job: Mapping[str, Any], sweep: Path) -> Path:
    """Where a job's run is; it may have moved with the outputs.

    Raises:
        StoredRunError: it is not there.
    """
    folder = Path(job["folder"])
    return folder if folder.is_dir() else _found(job["run_id"], sweep.parent.parent)


def _parsed(settings: Sequence[str]) -> dict[str, Any]:
    """`tracking.uri=x` as `{"uri": "x"}`, read as on the line of a run.

    Raises:
        ConfigError: one is not of the form key=value.
    """
    from evalflow.runner.build import Faults
    from evalflow.runner.overrides import is_swept, parse

    faults = Faults()
    parsed = [one for text in settings if (one := parse(text, faults)) is not None and not is_swept(one, faults)]
    if faults.found:
        raise ConfigError(faults.found)
    return {one.key_or_group.removeprefix(f"{NODE}."): one.value() for one in parsed}


def _changed(node: Any, changes: Mapping[str, Any]) -> Any:
    """The node with each `a.b` of the changes set in it."""
    if not isinstance(node, Mapping):
        return node  # the builder says what is wrong with it
    changed = copy.deepcopy(dict(node))
    for path, value in changes.items():
        *parents, last = path.split(".")
        at = changed
        for key in parents:
            if not isinstance(at.get(key), dict):
                at[key] = {}
            at = at[key]
        at[last] = value
    return changed
