"""`evalflow [key=value ...]`: compose, plan, run, report, track."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evalflow.command.options import Options
from evalflow.errors import ConfigError, ExitCode, UsageError

if TYPE_CHECKING:
    from evalflow.job import Done, Tracked
    from evalflow.runner.plan import Plan
    from evalflow.runner.session import SweepJob

NO_DOCUMENT = "--json: a plan (dry_run=true) is no document; leave one of the two out"


def run(overrides: Sequence[str], options: Options) -> int:
    """The whole flow of one experiment."""
    done = carry(planned(overrides, options), options)
    return ExitCode.PASS if done is None else done.exit_code


def planned(overrides: Sequence[str], options: Options) -> Plan:
    """The plan of a command line.

    Raises:
        ConfigError: every fault of it, with the file or override that each came from.
    """
    from evalflow.runner.build import Faults
    from evalflow.runner.compose import compose_config
    from evalflow.runner.origin import blamed
    from evalflow.runner.plan import build_plan

    faults = Faults()
    composed = compose_config(overrides, options.folders, faults)
    if composed is None:
        raise ConfigError(faults.found)
    try:
        return build_plan(composed.config, options.allow, faults)
    except ConfigError as fault:
        raise ConfigError([blamed(one, composed) for one in fault.faults]) from None


def carry(plan: Plan, options: Options, job: SweepJob | None = None) -> Done | None:
    """Run a plan, or print it (None); from here on nothing can be wrong with the config.

    Raises:
        UsageError: a plan is asked for as a document.
    """
    from evalflow.job import performed, track
    from evalflow.report.progress import TerminalProgress
    from evalflow.report.terminal import console, say, watched
    from evalflow.runner.journal import check_writable
    from evalflow.runner.resume import take_up

    outputs, out = Path(plan.runner.outputs), console(stderr=options.json)

    def notice(told: str) -> None:
        if options.notices:
            say(partial(out.print, told, soft_wrap=True))

    if plan.config.get("dry_run"):
        from evalflow.report.dry_run import print_plan

        if options.json:
            raise UsageError(NO_DOCUMENT)
        check_writable(outputs, plan.name)
        held = take_up(plan, notice)
        if held is not None:
            held.lock.release()
        say(partial(print_plan, plan, out))
        return None
    gc.freeze()  # what was imported and planned lives to the end, and need not be walked again and again
    progress = TerminalProgress.of(plan, watched(), options.notices)
    with contextlib.closing(progress), performed(plan, progress, notice, job) as done:
        progress.close()
        show(done, options, done.exit_code)
        try:
            if done.interrupted:
                complain("interrupted; what was answered is on disk, and the same command goes on")
            else:
                tell_tracked(track(plan.tracking, done, outputs), options)
        finally:  # whatever ends the tracking
            conclude(done, options, done.exit_code)
    return done


def show(done: Done, options: Options, exit_code: int) -> None:
    """Print a report and where it lies, and what kept it from there; of a sweep's job where it lies, or nothing.

    The verdict comes last, by `conclude`.
    """
    from evalflow.report.full_report import print_report
    from evalflow.report.html.page_file import PAGE
    from evalflow.report.screen import print_screen
    from evalflow.report.terminal import console, say

    def tell() -> None:
        out = console(stderr=options.json)
        if options.voice == "whole" and options.full:
            print_report(done.report, out)
        elif options.voice == "whole":
            print_screen(done.report, out, exit_code)
        if options.voice == "whole" and (done.folder / PAGE).is_file():
            out.print(f"Page: {done.folder / PAGE}", soft_wrap=True)
        out.print(f"Folder: {done.folder}", soft_wrap=True)

    if options.notices and not (options.json and options.voice == "whole"):
        say(tell)
    complain(None if done.unwritten is None else str(done.unwritten))
    complain(done.unpaged)


def conclude(done: Done, options: Options, exit_code: int) -> None:
    """The last of standard output: the verdict, or the report as JSON; and where the plan wants it, a line per arm."""
    from evalflow.report.build import to_text
    from evalflow.report.console import print_verdict
    from evalflow.report.summary import summary_lines
    from evalflow.report.terminal import console, say

    def tell() -> None:
        if options.json and options.voice == "whole":
            print(to_text(done.report), end="")
        elif options.quiet:
            print(done.report["verdict"])
        else:
            print_verdict(done.report, console(stderr=options.json), exit_code)

    if options.voice != "none":
        say(tell)
    if done.summary == "json":
        say(lambda: print(*summary_lines(done.report), sep="\n", file=options.aside))


def tell_tracked(tracked: Tracked, options: Options) -> None:
    """Say where a run or sweep can be looked at, or why it cannot; of a job the sweep's link is enough."""
    from evalflow.report.terminal import say

    if tracked.link and options.notices and options.voice == "whole":
        say(partial(print, f"MLflow: {tracked.link}", file=options.aside))
    complain(tracked.trouble)


def complain(trouble: str | None) -> None:
    """Say what went wrong beside the answer, on standard error."""
    from evalflow.report.console import printable
    from evalflow.report.terminal import say

    if trouble is not None:
        say(partial(print, f"evalflow: {printable(trouble)}", file=sys.stderr))
