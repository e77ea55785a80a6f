"""`evalflow list [EXPERIMENT]`: the experiments, and the runs with their verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalflow.command.options import CommandParser, Options


def list(words: Sequence[str], options: Options) -> int:  # noqa: A001 - a command's function is called as it is typed
    """Print the runs and the sweeps, newest first, then the experiments."""
    import json

    from evalflow.errors import ExitCode
    from evalflow.report.listing import (
        print_experiments,
        print_names,
        print_runs,
        print_sweeps,
        run_record,
        sweep_records,
    )
    from evalflow.report.terminal import console, say
    from evalflow.runner.experiments import experiments, shipped_folder
    from evalflow.runner.inventory import inventory
    from evalflow.runner.mark import read_mark

    parser = CommandParser("list", "an experiment's name, --outputs DIR, --json", __doc__)
    parser.add_argument("experiment", nargs="?")
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    parser.add_argument("--json", action="store_true")
    asked = parser.read(words)
    listed = experiments((shipped_folder(), *options.folders))
    if asked.experiment is not None:
        check_experiment(asked.experiment, asked.outputs, [name for name, _ in listed])
        listed = [(name, said) for name, said in listed if name == asked.experiment]
    entries = inventory(asked.outputs, asked.experiment)
    marks = [read_mark(entry.folder) for entry in entries]
    runs = [run_record(entry, mark.state if mark else None) for entry, mark in zip(entries, marks, strict=True)]
    sweeps = sweep_records(asked.outputs, runs)
    if asked.json:
        known = [{"name": name, "description": said} for name, said in listed]
        told = {"experiments": known, "runs": runs, "sweeps": sweeps}
        say(lambda: print(json.dumps(told, indent=1, ensure_ascii=True)))
        return int(ExitCode.PASS)

    def tell() -> None:
        out = console()
        print_runs(runs, out)
        print_sweeps(sweeps, out)
        if not runs:
            out.print(f"no runs under {asked.outputs}", soft_wrap=True)
        if runs and asked.experiment is None:  # with all that is told of them they would push the runs off the screen
            print_names(listed, out)
        else:
            print_experiments(listed, out)

    say(tell)
    return int(ExitCode.PASS)


def check_experiment(name: str, outputs: Path, composed: Sequence[str] = ()) -> None:
    """Refuse an experiment that nobody knows: none that has runs under `outputs`, nor one of `composed`.

    Raises:
        UsageError: it is none.
    """
    from evalflow.errors import UsageError
    from evalflow.runner.build import nearest
    from evalflow.runner.stored_run import run_folders

    known = [folder.parent.name for folder in run_folders(outputs)]
    if name not in (*known, *composed):
        raise UsageError(f"{name}: there is no such experiment; {nearest(name, sorted({*known, *composed}))}")
