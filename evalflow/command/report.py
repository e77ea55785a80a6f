"""`evalflow report RUN`: the page of a stored run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalflow.command.options import CommandParser, Options


def report(words: Sequence[str], options: Options) -> int:
    """Write the HTML page of a stored, scored run, and print its path. Private, it holds nobody's texts.

    Raises:
        OutputError: it cannot be written.
    """
    from evalflow.errors import ExitCode, OutputError
    from evalflow.job import kept_from_others
    from evalflow.report.html.page import page
    from evalflow.report.html.page_file import PAGE
    from evalflow.report.stored_report import load_report, scored_rows
    from evalflow.report.terminal import say
    from evalflow.runner.stored_run import find_run, load_run
    from evalflow.whole_file import replace_text

    takes = "one run (its folder, or its id under outputs/ or --outputs DIR), --to FILE and --private"
    parser = CommandParser("report", takes, __doc__)
    parser.add_argument("run")
    parser.add_argument("--to", type=Path, default=None)
    parser.add_argument("--private", action="store_true")
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    asked = parser.read(words)
    folder = find_run(asked.run, asked.outputs)
    to = asked.to or folder / PAGE
    with kept_from_others(folder):
        run = load_run(folder)
        text = page(load_report(folder), scored_rows(run), run.items, asked.private)
        try:
            to.parent.mkdir(parents=True, exist_ok=True)
            written = replace_text(to, text)
        except OSError as fault:
            raise OutputError(f"{to}: cannot be written ({fault.strerror}); give another file") from None
    if not options.quiet:
        say(lambda: print(written))
    return int(ExitCode.PASS)
