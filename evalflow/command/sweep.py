"""`evalflow -m key=a,b ...`: a run per combination; no job ends the process, and the worst answer is the sweep's."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from evalflow.command.guard import guarded, tell
from evalflow.command.options import Options
from evalflow.command.run import NO_DOCUMENT, carry, complain, planned, tell_tracked
from evalflow.command.sweep_job import Jobs
from evalflow.errors import ConfigError, EvalflowError, ExitCode, Fault, UsageError, worst

if TYPE_CHECKING:
    from evalflow.report.html.sweep_page_file import SweepPage
    from evalflow.runner.sweep import Sweep
    from evalflow.runner.sweep_record import JobRecord, SweepFolder


def sweep(overrides: Sequence[str], options: Options) -> int:
    """Run the jobs of a command line, or those that an earlier start of it left.

    Raises:
        UsageError: plans are asked for as a document.
    """
    from evalflow.runner.journal import check_writable
    from evalflow.runner.sweep import expand_sweep
    from evalflow.runner.sweep_record import SWEEPS, open_sweep

    family = expand_sweep(overrides, options.folders)
    if _is_dry(family, options):
        if options.json:
            raise UsageError(NO_DOCUMENT)
        return worst([_aloud(partial(_dry, job, options), options) for job in family.jobs])
    check_writable(family.outputs, SWEEPS)
    folder, lock = open_sweep(family.outputs, family.told(), options.folders, family.fresh)
    own = replace(options, voice="none" if family.launched or options.quiet else "brief")
    swept = tuple(dict(one) for one in family.swept)
    jobs = Jobs(folder.folder.resolve(), family.jobs, swept, own, family.launched, folder.start)
    try:
        _say_what_is_there(jobs, folder)
        interrupted = _all(jobs, family, folder)
        return _conclude(family, jobs, folder, options, interrupted)
    finally:
        lock.release()


def _is_dry(family: Sweep, options: Options) -> bool:
    """Whether only plans are to be printed, by the first job that can run at all.

    A sweep none of whose jobs can is refused before anything is started: what is wrong is told once.

    Raises:
        ConfigError: every fault of every job.
    """
    faults: dict[Fault, None] = {}
    for words in family.jobs:
        try:
            return bool(planned(words, options).config.get("dry_run"))
        except ConfigError as fault:
            faults |= dict.fromkeys(fault.faults)
    raise ConfigError(list(faults))


def _say_what_is_there(jobs: Jobs, folder: SweepFolder) -> None:
    from evalflow.report.terminal import say

    records = [folder.read(number) for number in range(len(jobs.words))]
    if any(records) and not jobs.options.quiet:
        decided = sum(record is not None and record.decided for record in records)
        told = f"going on with sweep {folder.sweep_id}: {decided} of {len(records)} jobs are finished"
        say(partial(print, told, flush=True, file=jobs.options.aside))


def _all(jobs: Jobs, family: Sweep, folder: SweepFolder) -> bool:
    """Let every job work, one after another or by the launcher that was asked for; whether the user stopped it."""
    numbers = list(range(len(jobs.words)))
    try:
        if not family.launched:
            for number in numbers:
                jobs.work(number)
        else:
            _launched(numbers, jobs, family, folder)
    except KeyboardInterrupt:
        folder.stop()
    return folder.stopped


def _launched(numbers: list[int], jobs: Jobs, family: Sweep, folder: SweepFolder) -> None:
    """By the launcher, until every job has begun.

    A job that dies may take those beside it along (joblib ends them all), so that what was at work then is given a
    second try, each by itself.
    """
    left = numbers
    while left and not folder.stopped:
        _launch(left, jobs, family, folder)
        begun, left = len(left), [number for number in left if _here(folder, number, jobs) is None]
        if len(left) == begun:
            break  # it begins none of them
    for number in numbers:
        record = _here(folder, number, jobs)
        if record is not None and record.state == "at work" and not folder.stopped:
            _launch([number], jobs, family, folder)


def _launch(numbers: list[int], jobs: Jobs, family: Sweep, folder: SweepFolder) -> None:
    from evalflow.runner.launcher import launch

    try:
        with _patient(folder):
            launch(numbers, jobs.work, family.overrides, jobs.options.folders, jobs.folder / "launcher")
    except KeyboardInterrupt:
        raise
    except Exception as fault:  # noqa: BLE001 - a launcher's own; what each job gave is on disk
        complain(f"launcher: {type(fault).__name__}: {' '.join(str(fault).split())[:300]}")


def _here(folder: SweepFolder, number: int, jobs: Jobs) -> JobRecord | None:
    """How far a job came since this start of the sweep; None where it has not begun."""
    record = folder.read(number)
    return record if record is not None and record.start == jobs.start else None


@contextmanager
def _patient(folder: SweepFolder) -> Iterator[None]:
    """The first Ctrl-C begins no further job and leaves those at work alone: a terminal sends it to them as well."""

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler has this shape
        folder.stop()
        complain("stopping; jobs at work finish what is in flight, and Ctrl-C again ends them")
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _conclude(family: Sweep, jobs: Jobs, folder: SweepFolder, options: Options, interrupted: bool) -> int:
    """Put the jobs' answers together: printed, written, tracked, and the worst of them returned."""
    import json

    from evalflow.report.html.sweep_page_file import SWEEP_PAGE, SweepPage
    from evalflow.report.sweep import summarise, summary_csv
    from evalflow.report.terminal import say
    from evalflow.runner.journal import now_iso

    records = [folder.read(number) for number in range(len(family.jobs))]
    reports = {r.job: report for r in records if r is not None and (report := _report(r)) is not None}
    summary = summarise(
        folder.sweep_id,
        family.overrides,
        [_told(number, record, jobs) for number, record in enumerate(records)],
        reports,
        started=folder.started,
        finished=None if interrupted else now_iso(),
        parallel=family.launched,
        interrupted=interrupted,
    )
    text = json.dumps(summary, indent=1, ensure_ascii=True, allow_nan=False) + "\n"
    trouble: EvalflowError | None = None
    page = SweepPage(folder.folder, summary, reports)
    try:
        folder.write_text("summary.json", text)
        folder.write_text("summary.csv", summary_csv(summary))
        folder.close(all(record is not None and record.decided for record in records))
    except EvalflowError as fault:
        trouble = fault
    unpaged = None if trouble is not None else page.write()
    paged = folder.folder / SWEEP_PAGE if trouble is None and unpaged is None else None
    if not options.quiet and not options.json:
        say(partial(_tell, summary, reports.values(), folder, paged, options.full))
    complain(None if trouble is None else str(trouble))
    complain(unpaged)
    if interrupted:
        complain("interrupted; the same command goes on with the jobs that are not finished")
    try:
        if not interrupted and trouble is None and reports:
            _track(family, page, options)
    finally:  # whatever ends the tracking
        say(lambda: print(text, end="") if options.json else _tell_verdict(summary, options))
    return int(summary["exit_code"] if trouble is None else worst([summary["exit_code"], trouble.exit_code]))


def _tell(
    summary: dict[str, Any], reports: Iterable[dict[str, Any]], folder: SweepFolder, page: Path | None, full: bool
) -> None:
    from evalflow.report.sweep_screen import print_sweep_screen
    from evalflow.report.sweep_table import print_sweep
    from evalflow.report.terminal import console

    out = console()
    if full:
        print_sweep(summary, out)
    else:
        print_sweep_screen(summary, reports, out)
    if page is not None:
        out.print(f"Page: {page}", soft_wrap=True)
    out.print(f"Folder: {folder.folder}", soft_wrap=True)


def _tell_verdict(summary: dict[str, Any], options: Options) -> None:
    from evalflow.report.sweep_table import print_sweep_verdict
    from evalflow.report.terminal import console

    if options.quiet:
        print(summary["verdict"])
    else:
        print_sweep_verdict(summary, console())


def _track(family: Sweep, page: SweepPage, options: Options) -> None:
    from evalflow.job import track_sweep
    from evalflow.runner.build import Builder, Faults

    node, faults = family.whole["tracking"], Faults()
    tracking = None if node is None else Builder(("evalflow", *options.allow), faults).build(node, "tracking")
    for fault in faults.found:
        complain(f"the sweep itself is not tracked: {fault}")
    tell_tracked(track_sweep(tracking, page, family.outputs), options)


def _told(number: int, record: JobRecord | None, jobs: Jobs) -> dict[str, Any]:
    """A job as the summary tells it; one that an earlier start finished and this one did not reach is finished too."""
    if record is not None and record.start != jobs.start:
        record = replace(record, skipped=True) if record.decided else None
    told = {"job": number, "overrides": list(jobs.words[number]), "swept": jobs.swept[number]}
    if record is None:
        empty = dict.fromkeys(("verdict", "exit_code", "run_id", "folder", "said", "seconds"))
        return {**told, **empty, "state": "not run", "skipped": False}
    died = record.state == "at work"
    return {
        **told,
        "state": "finished" if record.decided else "failed",
        "verdict": record.verdict,
        "exit_code": record.exit_code,
        "run_id": Path(record.folder).name if record.folder else None,
        "folder": record.folder,
        "said": "its process ended before the job did" if died else record.said,
        "skipped": record.skipped,
        "seconds": record.seconds,
    }


def _report(record: JobRecord) -> dict[str, Any] | None:
    from evalflow.report.stored_report import load_report

    if record.folder is None:
        return None
    with suppress(EvalflowError):
        return load_report(Path(record.folder))
    return None


def _dry(words: tuple[str, ...], options: Options) -> int:
    print(f"evalflow {' '.join(words)}", flush=True)
    carry(planned(words, options), options)
    return int(ExitCode.PASS)


def _aloud(command: Any, options: Options) -> int:
    ended = guarded(command, options.debug)
    tell(ended)
    return ended.code
