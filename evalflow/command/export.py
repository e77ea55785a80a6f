"""`evalflow export RUN`: a run's tables as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalflow.command.options import CommandParser, Options, place


def export(words: Sequence[str], options: Options) -> int:
    """Write rows, figures, comparisons and gates of a stored, scored run, and print the files' paths.

    Where it scored texts, their positions too.
    """
    from evalflow.errors import ExitCode
    from evalflow.report.positions import write_positions
    from evalflow.report.stored_report import load_report, scored_rows
    from evalflow.report.tables import write_csv
    from evalflow.report.terminal import say
    from evalflow.runner.stored_run import find_run, load_run

    parser = CommandParser(
        "export", "one run (its folder, or its id under outputs/ or --outputs DIR) and --to DIR", __doc__
    )
    parser.add_argument("run")
    parser.add_argument("--to", type=place, default=None)
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    asked = parser.read(words)
    folder = find_run(asked.run, asked.outputs)
    run = load_run(folder)
    to = asked.to or folder
    written = [*write_csv(to, load_report(folder), scored_rows(run), run.items), *write_positions(to, run.rows)]
    if not options.quiet:
        say(lambda: print(*written, sep="\n"))
    return int(ExitCode.PASS)
