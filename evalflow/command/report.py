"""`evalflow report RUN`: the page of a stored run, or of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalflow.command.options import CommandParser, Options, place


def report(words: Sequence[str], options: Options) -> int:
    """Write the HTML page of a stored, scored run, or of a sweep, and print its path. Private, it holds nobody's texts.

    Raises:
        OutputError: it cannot be written.
    """
    from evalflow.errors import ExitCode, OutputError
    from evalflow.job import kept_from_others
    from evalflow.report.html.page_file import PAGE
    from evalflow.report.html.sweep_page_file import SWEEP_PAGE
    from evalflow.report.terminal import say
    from evalflow.runner.stored_run import find_run
    from evalflow.runner.sweep_record import find_sweep
    from evalflow.whole_file import replace_text

    takes = "one run or sweep (its folder, or its id under outputs/ or --outputs DIR), --to FILE and --private"
    parser = CommandParser("report", takes, __doc__)
    parser.add_argument("run")
    parser.add_argument("--to", type=place, default=None)
    parser.add_argument("--private", action="store_true")
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    asked = parser.read(words)
    sweep = find_sweep(asked.run, asked.outputs)
    folder = sweep or find_run(asked.run, asked.outputs)
    to = asked.to or folder / (PAGE if sweep is None else SWEEP_PAGE)
    with kept_from_others(folder):
        text = _of_a_run(folder, asked.private) if sweep is None else _of_a_sweep(folder, to, asked.private)
        try:
            to.parent.mkdir(parents=True, exist_ok=True)
            written = replace_text(to, text, named=True)
        except OSError as fault:
            raise OutputError(f"{to}: cannot be written ({fault.strerror}); give another file") from None
    if not options.quiet:
        say(lambda: print(written))
    return int(ExitCode.PASS)


def _of_a_run(folder: Path, private: bool) -> str:
    from evalflow.report.html.page import page
    from evalflow.report.review import reviewed
    from evalflow.report.stored_report import load_report, scored_rows
    from evalflow.runner.stored_run import load_run

    run = load_run(folder)
    return page(load_report(folder), scored_rows(run), run.items, private, reviewed(folder))


def _of_a_sweep(folder: Path, to: Path, private: bool) -> str:
    """The page as it is to lie at `to`: it leads from there to those of its jobs."""
    from evalflow.report.html.sweep_page_file import SweepPage
    from evalflow.report.stored_report import load_summary
    from evalflow.report.sweep_reports import job_reports

    summary = load_summary(folder)
    return SweepPage(folder, summary, job_reports(summary, folder)).text(to, private)
