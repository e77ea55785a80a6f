"""`evalflow merge RUN RUN ...`: the shards of one run put together, scored and judged as the whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from evalflow.command.options import CommandParser, Options, told_how
from evalflow.command.run import conclude, show, tell_tracked


def merge(words: Sequence[str], options: Options) -> int:
    """Merge runs, or those of a sweep named by its id."""
    from evalflow.job import kept_from_others, rescored, track
    from evalflow.runner.merge import merge as merged
    from evalflow.runner.stored_run import load_run

    options, words = told_how(words, options)
    takes = "the runs of all shards, or the sweep that ran them, --outputs DIR, and --full or --json"
    parser = CommandParser("merge", takes, __doc__)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    asked = parser.read(words)
    folders = [folder for named in asked.runs for folder in _folders(named, asked.outputs)]
    with ExitStack() as held:
        for folder in dict.fromkeys(folders):
            held.enter_context(kept_from_others(folder))
        whole = merged([load_run(folder) for folder in dict.fromkeys(folders)], asked.outputs)
    with rescored(whole, options.allow) as (plan, done):
        show(done, options, done.exit_code)
        try:
            tell_tracked(track(plan.tracking, done, asked.outputs), options)
        finally:  # whatever ends the tracking
            conclude(done, options, done.exit_code)
    return done.exit_code


def _folders(named: str, outputs: Path) -> list[Path]:
    """The run's folder, or those of a sweep's jobs."""
    from evalflow.runner.stored_run import find_run
    from evalflow.runner.sweep_record import SWEEPS, SweepFolder

    sweep = SweepFolder(outputs / SWEEPS / named)
    jobs = sweep.state().get("jobs")
    if not jobs:
        return [find_run(named, outputs)]
    records = [sweep.read(number) for number in range(len(jobs))]
    return [Path(record.folder) for record in records if record is not None and record.folder is not None]
